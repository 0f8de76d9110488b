"""The log of slow operations."""

import json

from tests.support.serving import launched, until

FEED = """query Feed($n: Int!) {
  users(first: $n) { nodes { username posts(first: 1) { nodes { id author { username } } } } }
}"""


def test_a_slow_operation_is_logged_with_its_plan_and_no_values(endpoint: str) -> None:
    with launched(DATA_DIR="", DYNAMODB_ENDPOINT=endpoint, TABLE_NAME="slow", SLOW_OPERATION="0.000001") as server:
        server.ask(FEED, variables={"n": 3}, operationName="Feed")
        until(lambda: server.logged_by("heartwood.slow"))
        (line,) = server.logged_by("heartwood.slow")
    assert line["message"] == "slow operation"
    assert (line["operation"], line["outcome"], line["compiled"]) == ("Feed", "ok", True)
    assert line["calls"]["Query"] >= 1
    assert line["plan"] == ["Query.users: listed", "  User.posts: listed", "    Post.author: one"]
    assert json.dumps(line).count("username") == 0


def test_nothing_is_logged_if_it_is_off(endpoint: str) -> None:
    with launched(DATA_DIR="", DYNAMODB_ENDPOINT=endpoint, TABLE_NAME="slow", SLOW_OPERATION="0") as server:
        server.ask("{ __typename }")
        until(lambda: server.logged_by("heartwood.server"))
        assert server.logged_by("heartwood.slow") == []
