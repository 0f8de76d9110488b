"""Access to fields and mutations by role and relation."""

import pytest

from loaders.viewer import ANONYMOUS, Viewer
from resolvers.core.access import EVERYONE, REQUIRED, WHO, Access, AccessRelation, AccessRole, access, access_of
from resolvers.core.problems import Problem, ProblemCode, Refused

ADA = Viewer("ada")
SIGN_IN = Problem(ProblemCode.UNAUTHENTICATED, "sign in first: send `Authorization: Bearer <token>`")


def with_roles(*roles: str) -> Viewer:
    return Viewer("ada", roles=frozenset(roles))


def on_staff(role: str, tenant_id: str | None = "acme") -> Viewer:
    return Viewer("ada", tenant_id=tenant_id, tenants=frozenset({("acme", role)}))


@pytest.mark.parametrize(
    ("requires", "viewer"),
    [
        (None, ANONYMOUS),
        (AccessRole.SIGNED_IN, ADA),
        (AccessRole.BUILDER, with_roles("builder")),
        (AccessRole.ADMIN, with_roles("admin", "builder")),
        (AccessRole.TENANT_VIEWER, on_staff("viewer")),
        (AccessRole.TENANT_VIEWER, on_staff("admin")),
        (AccessRole.TENANT_EDITOR, on_staff("editor")),
        (AccessRole.TENANT_ADMIN, on_staff("admin")),
    ],
)
def test_a_viewer_with_the_role_may_go_on(requires, viewer):
    Access(requires).check(viewer)


@pytest.mark.parametrize("requires", AccessRole)
@pytest.mark.parametrize("viewer", [ANONYMOUS, Viewer(tenant_id="acme")])
def test_an_anonymous_viewer_has_to_sign_in_whatever_the_role(requires, viewer):
    with pytest.raises(Refused) as refusal:
        Access(requires).check(viewer)

    assert refusal.value.problems == (SIGN_IN,)


@pytest.mark.parametrize(
    ("requires", "viewer", "code", "message"),
    [
        (AccessRole.BUILDER, with_roles("admin"), "FORBIDDEN", "this requires a token with the role `builder`"),
        (AccessRole.ADMIN, ADA, "FORBIDDEN", "this requires a token with the role `admin`"),
        (AccessRole.ADMIN, on_staff("admin"), "FORBIDDEN", "this requires a token with the role `admin`"),
        (
            AccessRole.TENANT_EDITOR,
            on_staff("viewer"),
            "FORBIDDEN",
            "this requires the role editor on the staff of acme, or a higher one",
        ),
        (
            AccessRole.TENANT_VIEWER,
            on_staff("admin", "other"),
            "FORBIDDEN",
            "your token does not cover the tenant other",
        ),
        (
            AccessRole.TENANT_VIEWER,
            on_staff("admin", None),
            "INVALID",
            "send the `x-tenant-id` header to select a tenant",
        ),
    ],
)
def test_a_viewer_without_the_role_is_refused(requires, viewer, code, message):
    with pytest.raises(Refused) as refusal:
        Access(requires).check(viewer)

    assert refusal.value.problems == (Problem(ProblemCode(code), message),)


def test_only_is_left_to_the_function_that_knows_the_record():
    Access(only=(AccessRelation.OWNER,)).check(ANONYMOUS)


@pytest.mark.parametrize(
    ("declared", "of_a_field", "of_a_mutation"),
    [
        (EVERYONE, "", ""),
        (Access(AccessRole.SIGNED_IN), "Requires sign-in.", "Requires sign-in."),
        (
            Access(AccessRole.SIGNED_IN, (AccessRelation.OWNER, AccessRelation.BUILDER)),
            "Requires sign-in. Null unless the viewer is the owner or a builder.",
            "Requires sign-in. Only the owner or a builder may do this.",
        ),
        (
            Access(only=(AccessRelation.SELF,)),
            "Null unless this is the viewer's own account.",
            "Only the user may do this.",
        ),
        (
            Access(only=(AccessRelation.SELF, AccessRelation.BUILDER, AccessRelation.ADMIN)),
            "Null unless this is the viewer's own account or the viewer is a builder or a system administrator.",
            "Only the user, a builder or a system administrator may do this.",
        ),
    ],
)
def test_the_description_says_who_may_use_it(declared, of_a_field, of_a_mutation):
    assert declared.describe(is_command=False) == of_a_field
    assert declared.describe(is_command=True) == of_a_mutation


def test_every_role_and_relation_has_its_words():
    assert set(REQUIRED) == set(AccessRole)
    assert set(WHO) == set(AccessRelation)


def test_a_function_without_a_declaration_is_for_everyone():
    @access(requires=AccessRole.ADMIN)
    def declared() -> None: ...

    def undeclared() -> None: ...

    assert access_of(declared) == Access(AccessRole.ADMIN)
    assert access_of(undeclared) is EVERYONE
