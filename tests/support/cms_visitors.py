"""Viewers of a tenant by role, and the refusals they get."""

from loaders.viewer import Viewer
from tests.support.cms import ADMIN, EDITOR, READER, STRANGER, VISITOR

HEADER_MISSING = Viewer("id-ada", tenants=frozenset({("acme", "admin")}))
ROLES = {
    "admin": ADMIN,
    "editor": EDITOR,
    "viewer": READER,
    "stranger": STRANGER,
    "visitor": VISITOR,
    "no header": HEADER_MISSING,
}

NOT_EDITORS = {"viewer": "FORBIDDEN", "stranger": "FORBIDDEN", "visitor": "UNAUTHENTICATED", "no header": "INVALID"}

NOT_STAFF = {role: code for role, code in NOT_EDITORS.items() if role != "viewer"}
