"""Linking a local account to an identity provider."""

from collections.abc import Iterator
from typing import Any

import pytest

from datastore.accounts import Unique
from resolvers.accounts.linked_identities import guard_of
from tests.resolvers.accounts.test_tokens_of_identity_provider import provided, serving_keys, trusting
from tests.support.graph import Graph, viewer_of
from tests.support.serving import Served, a_table, serving

SIGN_UP = "mutation ($input: SignUpInput!) { signUp(input: $input) { user { databaseId } problems { code message } } }"
LINK = """mutation ($input: LinkIdentityInput!) {
  linkIdentity(input: $input) { user { username } problems { code message } }
}"""
VIEWER = "{ viewer { databaseId username email } }"
PASSWORD = "correct horse battery"
WRONG = "the name or the password is wrong"


class Moved:
    """A table with local accounts, whose server now has an identity provider."""

    def __init__(self, server: Served, ids: dict[str, str]) -> None:
        self.server = server
        self.ids = ids

    def link(self, subject: str, login: str = "ada", password: str = PASSWORD) -> dict[str, Any]:
        given = {"input": {"login": login, "password": password}}
        answer = self.server.post(LINK, self.bearer(subject), variables=given)
        linked: dict[str, Any] = answer.json()["data"]["linkIdentity"]
        return linked

    def problem(self, subject: str, **given: str) -> str:
        (problem,) = self.link(subject, **given)["problems"]
        return str(problem["message"])

    def viewer(self, subject: str) -> dict[str, str] | None:
        viewer: dict[str, str] | None = self.server.post(VIEWER, self.bearer(subject)).json()["data"]["viewer"]
        return viewer

    def bearer(self, subject: str) -> dict[str, str]:
        return {"authorization": f"Bearer {provided(sub=subject)}"}

    def sign_up(self, subject: str, name: str) -> list[Any]:
        given = {"username": name, "email": f"{name}@example.org"}
        answer = self.server.post(SIGN_UP, self.bearer(subject), variables={"input": given})
        problems: list[Any] = answer.json()["data"]["signUp"]["problems"]
        return problems


@pytest.fixture
def moved(endpoint: str) -> Iterator[Moved]:
    with a_table(endpoint) as table_name, serving_keys() as keys:
        ids = {}
        with serving(endpoint, table_name) as local:
            for name in ("ada", "bob"):
                given = {"username": name, "email": f"{name}@example.org", "password": PASSWORD}
                made = local.post(SIGN_UP, variables={"input": given}).json()["data"]["signUp"]
                ids[name] = made["user"]["databaseId"]
        with trusting(endpoint, table_name, keys.url) as server:
            yield Moved(server, ids)


def test_the_providers_token_signs_in_to_the_same_account(moved: Moved) -> None:
    assert moved.viewer("cognito-1") is None
    assert moved.link("cognito-1") == {"user": {"username": "ada"}, "problems": []}
    assert moved.viewer("cognito-1") == {"databaseId": moved.ids["ada"], "username": "ada", "email": "ada@example.org"}
    assert moved.viewer("cognito-2") is None


def test_linking_twice_changes_nothing(moved: Moved) -> None:
    assert moved.link("cognito-1") == moved.link("cognito-1", login="ada@example.org")


def test_another_account_or_identity_is_refused(moved: Moved) -> None:
    moved.link("cognito-1")
    assert moved.problem("cognito-1", login="bob") == "this identity is linked to an account already"
    assert moved.problem("cognito-2").startswith("this account is linked to another identity")


@pytest.mark.parametrize("given", [{"password": "wrong horse battery"}, {"login": "nobody"}, {"login": "a#b"}])
def test_without_the_password_nothing_is_linked(moved: Moved, given: dict[str, str]) -> None:
    assert moved.problem("cognito-1", **given) == WRONG
    assert moved.viewer("cognito-1") is None


def test_guesses_are_limited_like_those_of_a_sign_in(moved: Moved) -> None:
    guesses = [moved.link("eve", password=f"guess {number}, and a long one") for number in range(12)]
    codes = [guess["problems"][0]["code"] for guess in guesses]
    assert codes == ["INVALID"] * 10 + ["RATE_LIMITED"] * 2


def test_without_a_token_there_is_nothing_to_link(moved: Moved) -> None:
    given = {"input": {"login": "ada", "password": PASSWORD}}
    (problem,) = moved.server.post(LINK, variables=given).json()["data"]["linkIdentity"]["problems"]
    assert problem["code"] == "UNAUTHENTICATED"


def test_an_identity_with_an_account_keeps_it(moved: Moved) -> None:
    assert moved.sign_up("cognito-1", "carol") == []
    assert moved.problem("cognito-1").startswith("this identity has an account of its own")
    viewer = moved.viewer("cognito-1")
    assert viewer is not None
    assert viewer["username"] == "carol"


def test_a_linked_identity_cannot_sign_up(moved: Moved) -> None:
    moved.link("cognito-1")
    (problem,) = moved.sign_up("cognito-1", "carol")
    assert problem["message"] == "this identity has an account already"


async def test_a_server_with_its_own_tokens_has_nothing_to_link(graph: Graph) -> None:
    ada = await graph.add_user("ada")
    answer = await graph.command(LINK, viewer_of(ada), login="ada", password=PASSWORD)
    assert [each["code"] for each in answer["problems"]] == ["CONFLICT"]


async def test_the_guard_of_a_link_follows_its_account(graph: Graph) -> None:
    ada = await graph.add_user("ada", external_subject="cognito-1")
    await graph.table.put(Unique(kind="subject", value="cognito-1", owner_id=ada.user_id))

    async def expires_at() -> int | None:
        guard = await graph.table.get(guard_of("cognito-1"))
        assert guard is not None
        return guard.expires_at

    await graph.command("mutation { deleteAccount { problems { code } } }", viewer_of(ada))
    assert await expires_at() is not None
    await graph.command("mutation { restoreAccount { problems { code } } }", viewer_of(ada))
    assert await expires_at() is None
