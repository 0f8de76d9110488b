"""@defer and @stream: the results of operations, one after another, and what each of them reads."""

import pytest
from graphql import GraphQLNonNull

from schema.execution.executor import Executor
from schema.execution.limits import Limits
from schema.live.operations import Operations
from tests.support.both_executors import SCHEMA
from tests.support.fault_proxy import denied
from tests.support.graph import id_of, mutation, viewer_of
from tests.support.incremental import Merged, begin, results_of
from tests.support.social import count_too_many_likes


@pytest.fixture
async def scene(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada, caption="Rain.")
    for content in ("One.", "Two.", "Three."):
        await society.comment(bob, post, content)
    return ada, bob, post


NESTED = """query ($id: ID!) { post(by: {id: $id}) { caption ... @defer(label: "outer") { likeCount
    comments(first: 2) { nodes { content ... @defer(label: "inner") { author { username } } } } } } }"""


async def test_a_fragment_inside_a_deferred_one_comes_after_it(graph, scene):
    _ada, _bob, post = scene

    reading = await begin(graph, NESTED, id=id_of(post))

    assert await reading.all() == [
        {
            "data": {"post": {"caption": "Rain."}},
            "pending": [{"id": "0", "path": ["post"], "label": "outer"}],
            "hasNext": True,
        },
        {
            "pending": [
                {"id": "1", "path": ["post", "comments", "nodes", 0], "label": "inner"},
                {"id": "2", "path": ["post", "comments", "nodes", 1], "label": "inner"},
            ],
            "incremental": [
                {
                    "id": "0",
                    "data": {"likeCount": 0, "comments": {"nodes": [{"content": "One."}, {"content": "Two."}]}},
                }
            ],
            "completed": [{"id": "0"}],
            "hasNext": True,
        },
        {
            "incremental": [
                {"id": "1", "data": {"author": {"username": "bob"}}},
                {"id": "2", "data": {"author": {"username": "bob"}}},
            ],
            "completed": [{"id": "1"}, {"id": "2"}],
            "hasNext": False,
        },
    ]
    assert reading.calls == [{"GetItem": 1}, {"Query": 1}, {"GetItem": 1}]
    assert (await graph.ask(NESTED, id=id_of(post))).calls == {"GetItem": 2, "Query": 1}


async def test_without_a_transport_for_parts_the_whole_answer_comes_at_once(graph, scene):
    _ada, _bob, post = scene

    answer = await graph.ask(NESTED, id=id_of(post))

    comments = [{"content": each, "author": {"username": "bob"}} for each in ("One.", "Two.")]
    assert answer.body == {"data": {"post": {"caption": "Rain.", "likeCount": 0, "comments": {"nodes": comments}}}}


async def test_the_same_part_of_all_records_of_a_level_is_one_read(graph, society):
    people = [await society.person(name) for name in ("ada", "bob", "cleo")]
    for person in people:
        await society.post(person)
    query = "{ feed { nodes { caption ... @defer { author { username } } } } }"

    reading = await begin(graph, query)
    first, second = await reading.all()

    places = [["feed", "nodes", place] for place in range(3)]
    assert first["pending"] == [{"id": str(number), "path": path} for number, path in enumerate(places)]
    assert second["incremental"] == [
        {"id": str(number), "data": {"author": {"username": name}}}
        for number, name in enumerate(("cleo", "bob", "ada"))
    ]
    assert reading.calls == [{"Query": 1}, {"BatchGetItem": 1}]


async def test_parts_that_start_together_are_read_together(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    first, second = await society.post(ada), await society.post(bob)
    query = """query ($a: ID!, $b: ID!) {
        a: post(by: {id: $a}) { caption ... @defer { author { username } } }
        b: post(by: {id: $b}) { caption ... @defer { author { username } } } }"""

    reading = await begin(graph, query, a=id_of(first), b=id_of(second))
    merged = Merged(await reading.all())

    assert [merged.data[key]["author"]["username"] for key in ("a", "b")] == ["ada", "bob"]
    assert reading.calls == [{"BatchGetItem": 1}, {"BatchGetItem": 1}]


async def test_heavy_fields_are_read_only_in_the_deferred_part(graph, workshop):
    ada = await workshop.person("ada")
    wood = await workshop.category("wood")
    cards = [await workshop.card(ada, wood) for _ in range(3)]
    query = '{ user(by: {username: "ada"}) { cards { nodes { title ... @defer { instructions materials } } } } }'

    reading = await begin(graph, query)
    first, second = await reading.all()

    assert first["data"]["user"]["cards"]["nodes"] == [{"title": card.title} for card in reversed(cards)]
    assert [each["data"] for each in second["incremental"]] == [
        {"instructions": ["Begin.", "End."], "materials": {"wood": "some"}} for _ in cards
    ]
    assert reading.calls == [{"Query": 2}, {"BatchGetItem": 1}]
    assert (await graph.ask(query)).calls == {"Query": 2, "BatchGetItem": 1}


async def test_what_was_delivered_is_not_delivered_again(graph, scene):
    _ada, _bob, post = scene
    query = """query ($id: ID!) { post(by: {id: $id}) { caption author { username }
        ... @defer(label: "a") { caption likeCount author { username displayName } }
        ... @defer(label: "b") { likeCount commentCount } } }"""

    first, second = await results_of(graph, query, id=id_of(post))

    assert first == {
        "data": {"post": {"caption": "Rain.", "author": {"username": "ada"}}},
        "pending": [
            {"id": "0", "path": ["post"], "label": "a"},
            {"id": "1", "path": ["post"], "label": "b"},
        ],
        "hasNext": True,
    }
    assert second == {
        "incremental": [
            {"id": "0", "data": {"likeCount": 0}},
            {"id": "0", "subPath": ["author"], "data": {"displayName": None}},
            {"id": "1", "data": {"commentCount": 3}},
        ],
        "completed": [{"id": "0"}, {"id": "1"}],
        "hasNext": False,
    }


@pytest.mark.parametrize(
    ("condition", "variables", "results"),
    [("false", {}, 1), ("true", {}, 2), ("$when", {"when": False}, 1), ("$when", {"when": True}, 2), ("$when", {}, 2)],
)
async def test_conditions_decide_whether_a_part_comes_later(graph, scene, condition, variables, results):
    _ada, _bob, post = scene
    query = f"""query ($id: ID!, $when: Boolean! = true, $count: Int = 1) {{ post(by: {{id: $id}}) {{ caption
        ... @defer(if: {condition}) {{ likeCount }}
        comments {{ nodes @stream(if: {condition}, initialCount: $count) {{ content }} }} }} }}"""
    if "$when" not in condition:
        query = query.replace("$when: Boolean! = true, ", "")

    found = await results_of(graph, query, id=id_of(post), **variables)

    comments = {"nodes": [{"content": each} for each in ("One.", "Two.", "Three.")]}
    assert len(found) == results
    assert Merged(found).data == {"post": {"caption": "Rain.", "likeCount": 0, "comments": comments}}


async def test_a_deferred_fragment_without_fields_of_its_own_is_never_announced(graph, scene):
    _ada, _bob, post = scene
    query = """query ($id: ID!) { post(by: {id: $id}) { caption ... @defer { caption ... @defer { likeCount } }
        ... on User @defer { bio } } }"""
    query = query.replace("... on User @defer { bio }", "... @defer { ... on Node @skip(if: true) { id } }")

    first, second = await results_of(graph, query, id=id_of(post))

    assert first["pending"] == [{"id": "0", "path": ["post"]}]
    assert second["incremental"] == [{"id": "0", "data": {"likeCount": 0}}]


STREAM = """query ($id: ID!, $count: Int!) { post(by: {id: $id}) { comments(first: 50) {
    nodes @stream(initialCount: $count, label: "all") { content author { username } } } } }"""


@pytest.mark.parametrize(("count", "parts"), [(0, [3]), (2, [1]), (3, []), (10, [])])
async def test_a_list_is_streamed_after_its_first_elements(graph, scene, count, parts):
    _ada, _bob, post = scene

    found = await results_of(graph, STREAM, id=id_of(post), count=count)

    elements = [{"content": each, "author": {"username": "bob"}} for each in ("One.", "Two.", "Three.")]
    assert found[0]["data"] == {"post": {"comments": {"nodes": elements[:count]}}}
    assert [len(each["items"]) for result in found[1:] for each in result["incremental"]] == parts
    assert Merged(found).data == {"post": {"comments": {"nodes": elements}}}
    if parts:
        path = ["post", "comments", "nodes"]
        assert found[0]["pending"] == [{"id": "0", "path": path, "label": "all"}]
        assert found[-1]["completed"] == [{"id": "0"}]
    else:
        assert "hasNext" not in found[0]


async def test_a_long_list_comes_in_a_few_results(graph, society):
    ada = await society.person("ada")
    for _ in range(90):
        await society.post(ada)
    query = "{ feed(first: 100) { edges @stream(initialCount: 5) { node { caption author { username } } } } }"

    reading = await begin(graph, query)
    found = await reading.all()

    assert [len(each["items"]) for result in found[1:] for each in result["incremental"]] == [22, 21, 21, 21]
    # The page was read at once, and its author with the first elements.
    assert reading.calls == [{"Query": 1, "GetItem": 1}]


async def test_the_elements_of_each_result_are_read_together(graph, society):
    for number in range(50):
        await society.post(await society.person(f"person{number}"))
    query = "{ feed(first: 50) { nodes @stream(initialCount: 10) { author { username } } } }"

    reading = await begin(graph, query)
    await reading.all()

    assert reading.calls == [{"Query": 1, "BatchGetItem": 1}, {"BatchGetItem": 1}, {"BatchGetItem": 1}]


async def test_both_directives_work_together(graph, scene):
    _ada, _bob, post = scene
    query = """query ($id: ID!) { post(by: {id: $id}) { ... @defer { caption comments {
        nodes @stream(initialCount: 1) { content ... @defer { author { username } } } } } } }"""

    found = await results_of(graph, query, id=id_of(post))

    comments = ["post", "comments", "nodes"]
    assert [each.get("pending") for each in found] == [
        [{"id": "0", "path": ["post"]}],
        [{"id": "1", "path": [*comments, 0]}, {"id": "2", "path": comments}],
        [{"id": "3", "path": [*comments, 1]}, {"id": "4", "path": [*comments, 2]}],
        None,
    ]
    assert found[1]["incremental"] == [
        {"id": "0", "data": {"caption": "Rain.", "comments": {"nodes": [{"content": "One."}]}}}
    ]
    assert {"id": "2", "items": [{"content": "Two."}, {"content": "Three."}]} in found[2]["incremental"]
    elements = [{"content": each, "author": {"username": "bob"}} for each in ("One.", "Two.", "Three.")]
    assert Merged(found).data == {"post": {"caption": "Rain.", "comments": {"nodes": elements}}}


async def test_an_error_stays_in_its_part(graph, society):
    ada = await society.person("ada")
    fine, broken = await society.post(ada), await society.post(ada)
    await count_too_many_likes(graph, broken)
    query = "{ feed { nodes { id ... @defer { likeCount } } } }"

    first, second = await results_of(graph, query)

    assert first["data"] == {"feed": {"nodes": [{"id": id_of(broken)}, {"id": id_of(fine)}]}}
    assert "errors" not in first
    (wrong, right) = second["incremental"]
    assert (wrong["data"], right["data"]) == ({"likeCount": None}, {"likeCount": 0})
    assert [error["path"] for error in wrong["errors"]] == [["feed", "nodes", 0, "likeCount"]]
    assert "errors" not in right
    assert second["completed"] == [{"id": "0"}, {"id": "1"}]


@pytest.fixture
def strict(graph, monkeypatch):
    """Some fields may not be null."""
    for of_type, name in (("Post", "likeCount"), ("Post", "author")):
        field = SCHEMA.type_map[of_type].fields[name]
        monkeypatch.setattr(field, "type", GraphQLNonNull(field.type))
    operations = graph.services.operations
    graph.services.operations = Operations(
        Executor(SCHEMA, Limits()), operations.live, operations.subscriptions, 1_000_000, 30
    )
    yield
    graph.services.operations = operations


async def test_null_goes_up_to_the_fragment_and_no_further(graph, society, strict):
    ada = await society.person("ada")
    fine, broken = await society.post(ada), await society.post(ada)
    await count_too_many_likes(graph, broken)
    query = """{ feed { nodes { id ... @defer(label: "likes") { likeCount }
        ... @defer(label: "both") { likeCount caption } ... @defer(label: "caption") { caption } } } }"""

    first, *others = await results_of(graph, query)

    assert first["data"] == {"feed": {"nodes": [{"id": id_of(broken)}, {"id": id_of(fine)}]}}
    completed = {each["id"]: each.get("errors") for result in others for each in result["completed"]}
    labels = {each["id"]: (each["path"][2], each["label"]) for each in first["pending"]}
    failed = {labels[id_]: [error["path"] for error in errors] for id_, errors in completed.items() if errors}
    path = ["feed", "nodes", 0, "likeCount"]
    assert failed == {(0, "likes"): [path], (0, "both"): [path]}
    assert Merged([first, *others]).data == {
        "feed": {
            "nodes": [
                {"id": id_of(broken), "caption": broken.caption},
                {"id": id_of(fine), "caption": fine.caption, "likeCount": 0},
            ]
        }
    }


async def test_an_element_that_cannot_be_null_ends_its_stream(graph, society, strict):
    ada = await society.person("ada")
    posts = [await society.post(ada) for _ in range(4)]
    await count_too_many_likes(graph, posts[1])
    query = "{ feed { nodes @stream(initialCount: 1) { caption likeCount } } }"

    _first, second = await results_of(graph, query)

    (items,) = second["incremental"]
    assert items == {"id": "0", "items": [{"caption": posts[2].caption, "likeCount": 0}]}
    ((end, error),) = [(each["id"], each["errors"]) for each in second["completed"]]
    assert (end, [each["path"] for each in error]) == ("0", [["feed", "nodes", 2, "likeCount"]])
    assert second["hasNext"] is False


AUTHOR = "query ($id: ID!) { post(by: {id: $id}) { caption ... @defer { author { username } } } }"


async def test_a_read_that_fails_is_an_error_of_its_part(faulty_graph, proxy, scene):
    _ada, _bob, post = scene

    reading = await begin(faulty_graph, AUTHOR, id=id_of(post))
    first = await reading.next()
    proxy.will("GetItem", denied)
    second = await reading.next()

    assert first is not None
    assert first["data"] == {"post": {"caption": "Rain."}}
    assert second is not None
    (part,) = second["incremental"]
    assert part["data"] == {"author": None}
    assert [error["path"] for error in part["errors"]] == [["post", "author"]]
    assert second["completed"] == [{"id": "0"}]


LIKE = mutation("likePost", "post { id ... @defer { likeCount viewerHasLiked } }")


async def test_the_payload_of_a_mutation_can_be_deferred(graph, scene):
    _ada, bob, post = scene

    first, second = await results_of(graph, LIKE, viewer_of(bob), input={"postId": id_of(post)})

    assert first["data"]["likePost"]["post"] == {"id": id_of(post)}
    assert second["incremental"] == [{"id": "0", "data": {"likeCount": 1, "viewerHasLiked": True}}]


async def test_parts_show_only_what_the_viewer_may_see(graph, scene):
    ada, bob, _post = scene
    query = "query ($id: ID!) { user(by: {id: $id}) { username ... @defer { email } } }"

    own = await results_of(graph, query, viewer_of(ada), id=id_of(ada))
    other = await results_of(graph, query, viewer_of(bob), id=id_of(ada))

    assert Merged(own).data["user"]["email"] == "ada@example.org"
    assert Merged(other).data["user"]["email"] is None
