"""Requests and codes of email verification."""

import re

from datastore.accounts import User
from loaders.viewer import Viewer
from tests.support.graph import Graph

PROBLEMS = "problems { code message path }"
REQUEST = f"mutation {{ requestEmailVerification {{ user {{ username emailVerifiedAt }} {PROBLEMS} }} }}"
VERIFY = f"""mutation ($input: VerifyEmailInput!) {{ verifyEmail(input: $input) {{
    user {{ username email emailVerifiedAt }} {PROBLEMS} }} }}"""
CHANGE_EMAIL = f"""mutation ($input: ChangeEmailInput!) {{ changeEmail(input: $input) {{
    user {{ email emailVerifiedAt }} {PROBLEMS} }} }}"""


async def request(graph: Graph, viewer: Viewer) -> dict[str, object]:
    return dict((await graph.ask(REQUEST, viewer)).data["requestEmailVerification"])


async def stored(graph: Graph, user: User) -> User:
    found = await graph.table.get(user.own_key)
    assert found is not None
    return found


def code_in(text: str) -> str:
    """The only line that has no spaces in it."""
    (code,) = re.findall(r"^\S{30,}$", text, re.MULTILINE)
    return str(code)
