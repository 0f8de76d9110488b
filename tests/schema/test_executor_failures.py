"""Unexpected failures: of fields, which the plan reports, and of plans, from which graphql-core takes over."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from datastore.accounts import User
from datastore.social import Comment
from loaders.viewer import Viewer
from loaders.visibility import RULES, visibility
from schema.execution.executor import Executor
from schema.execution.plans import ROOT
from schema.execution.run import Run
from schema.execution.selections import Selection
from tests.schema.running import ADD_COMMENT, run
from tests.support.graph import id_of, viewer_of
from tests.support.serving import serving


@pytest.fixture
def buggy_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """A visibility rule of users with a programming error."""

    def rule(user: User, _: Viewer) -> bool:
        raise LookupError(user.user_id)

    monkeypatch.delitem(RULES, User)
    visibility(User)(rule)


@pytest.fixture
def plan_failures() -> Iterator[Counter[str]]:
    """The failures a test provokes on purpose."""
    yield Executor.plan_failures
    Executor.plan_failures.clear()


@pytest.mark.usefixtures("buggy_rule")
async def test_a_field_that_fails_unexpectedly_is_logged_and_counted(graph, society, plan_failures, caplog):
    ada = await society.person("ada")

    body, context = await run(graph, "query Profile($id: ID!) { user(by: {id: $id}) { username } }", id=id_of(ada))

    (warning,) = [record for record in caplog.records if record.name == "heartwood.execution"]
    assert warning.levelname == "WARNING"
    assert warning.getMessage() == "a field of operation Profile failed"
    assert warning.exc_info[0] is LookupError
    assert plan_failures == {"LookupError": 1}
    assert context.plan_failure == "LookupError"
    assert body["data"] == {"user": None}
    assert [error["extensions"]["code"] for error in body["errors"]] == ["INTERNAL"]


@pytest.mark.usefixtures("buggy_rule")
async def test_a_field_of_a_mutation_that_fails_unexpectedly_is_logged_and_counted(
    graph, society, plan_failures, caplog
):
    ada = await society.person("ada")
    post = await society.post(ada)

    body, context = await run(
        graph,
        f"mutation Say($post: ID!) {{ {ADD_COMMENT} {{ comment {{ content author {{ username }} }} }} }}",
        viewer_of(ada),
        post=id_of(post),
    )

    (warning,) = [record for record in caplog.records if record.name == "heartwood.execution"]
    assert warning.getMessage() == "a field of operation Say failed"
    assert plan_failures == {"LookupError": 1}
    assert context.plan_failure == "LookupError"
    assert [error["extensions"]["code"] for error in body["errors"]] == ["INTERNAL"]


@pytest.mark.usefixtures("buggy_rule")
async def test_the_request_log_names_an_unexpected_failure(graph, endpoint, table_name, plan_failures):
    user = await graph.add_user("ada")

    with serving(endpoint, table_name) as server, capture_logs() as logged:
        server.post("query ($id: ID!) { user(by: {id: $id}) { username } }", variables={"id": id_of(user)})

    assert [line["plan_failure"] for line in logged if line["event"] == "graphql"] == ["LookupError"]
    assert plan_failures == {"LookupError": 1}


@pytest.fixture
def buggy_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug in the plans themselves: a selection that loses its last record."""

    def lost(selection: Selection, values: Sequence[Any], run: Run) -> Sequence[Any]:
        return complete(selection, values, run)[: None if values == [ROOT] else -1]

    complete = Selection.complete
    monkeypatch.setattr(Selection, "complete", lost)


@pytest.mark.usefixtures("buggy_plan")
async def test_graphql_core_takes_over_from_a_buggy_plan(graph, society, plan_failures, caplog):
    ada = await society.person("ada")

    body, context = await run(graph, "query Profile($id: ID!) { user(by: {id: $id}) { username } }", id=id_of(ada))

    (warning,) = [record for record in caplog.records if record.name == "heartwood.execution"]
    assert warning.getMessage() == "the plan of operation Profile failed; graphql-core takes over"
    assert plan_failures == {"ValueError": 1}
    assert (context.compiled, context.plan_failure) == (False, "ValueError")
    assert body == {"data": {"user": {"username": "ada"}}}


@pytest.mark.usefixtures("buggy_plan")
async def test_graphql_core_continues_a_mutation_after_a_buggy_plan(graph, society, plan_failures):
    ada = await society.person("ada")
    post = await society.post(ada)

    body, context = await run(
        graph,
        f"""mutation ($post: ID!, $no: ID = "x") {{ name: __typename
            no: addComment(input: {{postId: $no, content: "Hm."}}) {{ problems {{ code }} }}
            one: {ADD_COMMENT} {{ comment {{ content }} }} two: {ADD_COMMENT} {{ comment {{ content }} }} }}""",
        viewer_of(ada),
        post=id_of(post),
        no=None,
    )

    said = {"comment": {"content": "Hm."}}
    assert body["data"] == {"name": "Mutation", "no": None, "one": said, "two": said}
    assert [error["path"] for error in body["errors"]] == [["no"]]
    assert not context.compiled
    assert len(plan_failures) == 1
    assert len((await graph.table.query(Comment.within(post_id=post.post_id), limit=10)).records) == 2


@pytest.mark.parametrize(
    ("query", "variables"),
    [
        ('{ user(by: {id: "x"}) { id } }', {}),
        ("{ users(first: 0) { nodes { id } } }", {}),
        ('query ($id: ID = "x") { user(by: {id: $id}) { id } }', {"id": None}),
        ('query ($all: Boolean = true) { user(by: {id: "x"}) { id @include(if: $all) } }', {"all": None}),
    ],
)
async def test_bad_input_is_no_failure_of_the_plan(graph, query, variables):
    body, context = await run(graph, query, **variables)

    assert {error["extensions"]["code"] for error in body["errors"]} == {"INVALID"}
    assert context.compiled
    assert context.plan_failure is None
