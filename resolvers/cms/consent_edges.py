"""Edges of consents: the range each field reads."""

from typing import Annotated

from typing_extensions import Doc

from datastore.cms import Consent
from datastore.model.keys import Range
from loaders.viewer import Viewer
from resolvers.cms.tenancy import tenant_of
from resolvers.core.access import AccessRole, access


def consent(
    viewer: Viewer, *, visitor_key: Annotated[str, Doc("Key the website assigned to the visitor.")]
) -> Range[Consent]:
    """The visitor's current consent, or null. Needs no token, only the visitor's identifier."""
    return Consent.within(tenant_id=tenant_of(viewer), visitor_id=visitor_key).newest_first()


@access(requires=AccessRole.TENANT_VIEWER)
def consent_history(
    viewer: Viewer, *, visitor_key: Annotated[str, Doc("Key the website assigned to the visitor.")]
) -> Range[Consent]:
    """All consents of a visitor, newest first."""
    return Consent.within(tenant_id=tenant_of(viewer), visitor_id=visitor_key).newest_first()
