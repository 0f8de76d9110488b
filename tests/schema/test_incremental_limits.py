"""@defer and @stream: what is refused, what ends, and what comes at once."""

import asyncio

import pytest

from schema.execution.executor import Executor
from schema.execution.incremental.places import Places
from schema.execution.limits import Limits
from schema.execution.run import Run
from schema.execution.selections import Selection
from schema.live.operations import Operations
from schema.live.streams import Once
from tests.support.both_executors import SCHEMA
from tests.support.graph import Graph, id_of, mutation, viewer_of
from tests.support.incremental import begin, refused, results_of

AUTHOR = "query ($id: ID!) { post(by: {id: $id}) { caption ... @defer { author { username } } } }"
LIKE = mutation("likePost", "post { id ... @defer { likeCount viewerHasLiked } }")


@pytest.fixture
async def scene(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada, caption="Rain.")
    for content in ("One.", "Two.", "Three."):
        await society.comment(bob, post, content)
    return ada, bob, post


NESTED = """query ($id: ID!) { post(by: {id: $id}) { caption ... @defer(label: "outer") { likeCount
    comments(first: 2) { nodes { content ... @defer(label: "inner") { author { username } } } } } } }"""


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ('{ feed { nodes { ... @defer(label: "a") { id } ... @defer(label: "a") { id } } } }', "unique"),
        ('mutation { ... @defer { likePost(input: {postId: "x"}) { post { id } } } }', "root"),
        ("{ feed @stream { nodes { id } } }", "list"),
        ("{ feed { nodes @stream(initialCount: -1) { id } } }", None),
    ],
)
async def test_wrong_places_are_refused(graph, society, query, message):
    await society.post(await society.person("ada"))
    if message:
        error = await refused(graph, query)
        assert message in error["message"]
        assert error["extensions"]["code"] == "INVALID_QUERY"
    else:
        (only,) = await results_of(graph, query)
        assert only["data"] == {"feed": None}
        assert only["errors"][0]["message"] == "`initialCount` is -1; it must not be negative"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("{ feed { nodes {" + "... @defer { id } " * 10_000 + "} } }", "over 50,000 characters"),
        ("{ feed { nodes {" + "... @defer { id } " * 31 + "} } }", "over 30 @defer and @stream directives"),
        (
            "{" + " ".join(f"a{n}: feed {{ ... @defer {{ pageInfo {{ endCursor }} }} }}" for n in range(31)) + "}",
            "over 30",
        ),
        ("{ feed { nodes" + "{ ... @defer " * 31 + "{ id }" + "}" * 31 + "} }", "over 30"),
        ("{ feed(first: 100) { nodes { likes(first: 100) { nodes { ... @defer { id } } } } } }", "costs"),
    ],
)
async def test_hostile_documents_are_refused(graph, query, message):
    error = await refused(graph, query)

    assert message in error["message"]
    assert error["extensions"]["code"] == "OVER_LIMIT"


async def test_too_many_parts_are_refused(graph, society):
    ada = await society.person("ada")
    for _ in range(40):
        await society.post(ada)
    inner = " ".join(f"... @defer {{ a{number}: caption }}" for number in range(26))

    error = await refused(graph, f"{{ feed(first: 40) {{ nodes {{ {inner} }} }} }}")

    assert error["message"] == (
        "the answer has over 1,000 deferred fragments and streamed lists; "
        "use @defer around a list instead of inside of it, or ask for smaller pages"
    )


async def test_too_many_parts_inside_of_parts_end_the_operation(graph, society):
    ada = await society.person("ada")
    for _ in range(40):
        await society.post(ada)
    inner = " ".join(f"... @defer {{ a{number}: caption }}" for number in range(26))

    first, last = await results_of(graph, f"{{ ... @defer {{ feed(first: 40) {{ nodes {{ {inner} }} }} }} }}")

    assert first["pending"] == [{"id": "0", "path": []}]
    ((id_, errors),) = [(each["id"], each["errors"]) for each in last["completed"]]
    assert (id_, [error["extensions"]["code"] for error in errors]) == ("0", ["OVER_LIMIT"])
    assert last == {"completed": [{"id": "0", "errors": errors}], "hasNext": False}


async def test_parts_that_were_never_announced_are_not_ended(graph, society):
    ada = await society.person("ada")
    for _ in range(40):
        await society.post(ada)
    inner = " ".join(f"... @defer {{ a{number}: caption }}" for number in range(26))
    query = f"""{{ ... @defer(label: "people") {{ users {{ nodes {{ username ... @defer {{ bio }} }} }} }}
        ... @defer(label: "posts") {{ feed(first: 40) {{ nodes {{ {inner} }} }} }} }}"""

    first, last = await results_of(graph, query)

    assert [each["id"] for each in first["pending"]] == ["0", "1"]
    assert sorted(each["id"] for each in last["completed"]) == ["0", "1"]
    assert last["hasNext"] is False


async def test_the_size_of_all_results_together_is_limited(graph, society):
    ada = await society.person("ada")
    post = await society.post(ada, caption="x" * 500)
    operations = graph.services.operations
    graph.services.operations = Operations(graph.services.executor, operations.live, operations.subscriptions, 900, 30)
    query = "query ($id: ID!) { post(by: {id: $id}) { caption ... @defer { again: caption } } }"

    first, last = await results_of(graph, query, id=id_of(post))

    assert first["data"] == {"post": {"caption": "x" * 500}}
    ((id_, errors),) = [(each["id"], each["errors"]) for each in last["completed"]]
    assert (id_, [error["extensions"]["code"] for error in errors]) == ("0", ["OVER_LIMIT"])
    assert last["hasNext"] is False


async def test_parts_that_take_too_long_are_ended(graph, scene, monkeypatch):
    _ada, _bob, post = scene
    operations = graph.services.operations
    graph.services.operations = Operations(
        graph.services.executor, operations.live, operations.subscriptions, 1_000_000, 0.05
    )

    async def never(_: Run) -> None:
        await asyncio.Event().wait()

    reading = await begin(graph, AUTHOR, id=id_of(post))
    await reading.next()
    monkeypatch.setattr(Run, "finish", never)
    last, after = await reading.next(), await reading.next()

    assert last == {
        "completed": [
            {
                "id": "0",
                "errors": [
                    {
                        "message": "the parts of the answer took over 0.05 seconds; ask for less",
                        "extensions": {"code": "TIMEOUT"},
                    }
                ],
            }
        ],
        "hasNext": False,
    }
    assert after is None


async def test_the_rest_is_not_read_after_the_client_has_gone(graph, scene):
    _ada, _bob, post = scene

    reading = await begin(graph, NESTED, id=id_of(post))
    await reading.next()
    coming = asyncio.ensure_future(reading.stream.next())
    await asyncio.sleep(0)
    coming.cancel()
    reading.stream.close()

    assert await reading.stream.next() is None
    assert dict(reading.context.load.table.usage.calls) == {"GetItem": 1}


async def test_a_live_query_ignores_the_directives(graph, scene):
    _ada, _bob, post = scene
    live = NESTED.replace("($id: ID!)", "($id: ID!) @live")

    reading = await begin(graph, live, id=id_of(post))
    first = await reading.next()

    assert first == {"data": (await graph.ask(NESTED, id=id_of(post))).data}
    reading.stream.close()


async def test_what_plans_do_not_cover_comes_at_once(graph, scene):
    _ada, _bob, post = scene
    reference = Graph(graph.services)
    executor = Executor(SCHEMA, Limits(), compiled=False)
    operations = graph.services.operations
    reference.services.operations = Operations(executor, operations.live, operations.subscriptions, 1_000_000, 30)

    reading = await begin(reference, NESTED, id=id_of(post))

    assert isinstance(reading.stream, Once)
    assert await reading.all() == [{"data": (await graph.ask(NESTED, id=id_of(post))).data}]


async def test_introspection_comes_at_once(graph):
    (only,) = await results_of(graph, '{ ... @defer { __type(name: "Post") { name } } }')

    assert only == {"data": {"__type": {"name": "Post"}}}


async def test_a_part_with_a_bug_ends_with_an_error(graph, scene, monkeypatch):
    _ada, _bob, post = scene

    def broken(*_):
        raise ZeroDivisionError

    reading = await begin(graph, AUTHOR, id=id_of(post))
    await reading.next()
    monkeypatch.setattr(Selection, "_written", broken)
    last = await reading.next()

    assert last is not None
    ((id_, errors),) = [(each["id"], each["errors"]) for each in last["completed"]]
    assert (id_, [(error["path"], error["extensions"]["code"]) for error in errors]) == ("0", [(["post"], "INTERNAL")])
    assert last["hasNext"] is False
    assert Executor.plan_failures.pop("ZeroDivisionError") == 1


async def test_a_plan_with_a_bug_leaves_the_whole_answer_to_another(graph, scene, monkeypatch):
    _ada, bob, post = scene

    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(Places, "find", broken)

    assert await results_of(graph, NESTED, id=id_of(post)) == [{"data": (await graph.ask(NESTED, id=id_of(post))).data}]
    (liked,) = await results_of(graph, LIKE, viewer_of(bob), input={"postId": id_of(post)})
    assert liked["data"]["likePost"]["post"] == {"id": id_of(post), "likeCount": 1, "viewerHasLiked": True}
    assert Executor.plan_failures.pop("ZeroDivisionError") == 2
