"""Limits of single commands."""

import pytest

from loaders.viewer import Viewer
from resolvers.core.command_limits import COUNTED_IN_TABLE, PER_HOUR, WRITES, CommandLimits, limits_in
from schema.build import build
from tests.resolvers.accounts.mutations import GOOD, SIGN_UP
from tests.support.graph import mutation, viewer_of
from tests.support.serving import ROOT

CREATE_POST = mutation("createPost", "post { caption }").replace("message path", "message path retryAfter")
POST = {"imageUrl": "https://example.org/1.jpg"}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(graph):
    clock = Clock()
    graph.services.command_limits = CommandLimits({"createPost": 2, "signUp": 2}, clock)
    return clock


async def test_over_its_limit_a_command_is_refused_and_says_when_to_try_again(graph, clock):
    ada, bob = viewer_of(await graph.add_user("ada")), viewer_of(await graph.add_user("bob"))

    allowed = [await graph.command(CREATE_POST, ada, **POST) for _ in range(2)]
    refused = await graph.command(CREATE_POST, ada, **POST)
    by_another = await graph.command(CREATE_POST, bob, **POST)
    clock.now = 1_800.0
    later = await graph.command(CREATE_POST, ada, **POST)

    assert [payload["problems"] for payload in (*allowed, by_another, later)] == [[]] * 4
    assert refused == {
        "post": None,
        "problems": [
            {
                "code": "RATE_LIMITED",
                "message": "createPost is limited to 2 an hour; try again in 1800 seconds",
                "path": [],
                "retryAfter": 1800,
            }
        ],
    }


async def test_a_limit_in_memory_takes_no_calls(graph, clock):
    ada = viewer_of(await graph.add_user("ada"))

    limited = await graph.ask(CREATE_POST, ada, input=POST)
    graph.services.command_limits = CommandLimits({})
    unlimited = await graph.ask(CREATE_POST, ada, input=POST)

    assert limited.calls == unlimited.calls


async def test_each_alias_counts(graph, clock):
    ada = viewer_of(await graph.add_user("ada"))
    field = 'createPost(input: {imageUrl: "https://example.org/1.jpg"}) { problems { code } }'

    data = (await graph.ask(f"mutation {{ a: {field} b: {field} c: {field} }}", ada)).data

    assert data["c"]["problems"] == [{"code": "RATE_LIMITED"}]
    assert data["a"]["problems"] == data["b"]["problems"] == []


async def test_invalid_input_does_not_count(graph, clock):
    ada = viewer_of(await graph.add_user("ada"))
    for _ in range(5):
        await graph.command(CREATE_POST, ada, **POST | {"caption": "x" * 3_000})

    assert (await graph.command(CREATE_POST, ada, **POST))["problems"] == []


async def test_sign_ups_are_counted_in_the_table_by_client(graph, clock):
    asked = await graph.ask(SIGN_UP, input=GOOD)
    # Another server has no memory of it, but the same table.
    graph.services.command_limits = CommandLimits({"signUp": 2})
    taken = await graph.command(SIGN_UP, **GOOD)
    third = await graph.command(SIGN_UP, username="cyrus", email="cyrus@example.org", password="correct horse")
    graph.address = "192.0.2.99"
    elsewhere = await graph.command(SIGN_UP, username="cyrus", email="cyrus@example.org", password="correct horse")

    assert asked.calls == {"TransactWriteItems": 2}
    assert {problem["code"] for problem in taken["problems"]} == {"TAKEN"}
    assert [problem["code"] for problem in third["problems"]] == ["RATE_LIMITED"]
    assert elsewhere["problems"] == []


def test_every_limit_is_one_of_a_command():
    mutations = build()._schema.mutation_type.fields

    assert {*PER_HOUR, *COUNTED_IN_TABLE, *WRITES} - {*mutations} == set()


def test_every_limit_is_documented():
    documented = (ROOT / "docs/operating.md").read_text()

    assert [name for name in PER_HOUR if f"`{name}`" not in documented] == []


@pytest.mark.parametrize("text", ["createPost", "createPost=", "createPost=-1", "creatPost=1", "vote=1;vote=2"])
def test_a_wrong_limit_is_explained(text):
    with pytest.raises(
        ValueError, match="write limits per hour as createPost=30,vote=0, with commands out of signUp, "
    ):
        limits_in(text)


def test_limits_are_written_as_pairs():
    assert limits_in(" createPost = 30, vote=0,") == {"createPost": 30, "vote": 0}


async def test_a_limit_of_zero_is_none(graph):
    limits, load = CommandLimits({"vote": 0}), graph.context(Viewer("ada")).load
    for _ in range(5):
        await limits.count("vote", load, "192.0.2.1")
