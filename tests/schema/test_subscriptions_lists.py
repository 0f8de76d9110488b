"""Every subscription: what it sends, and the DynamoDB calls of an event."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest

from loaders.viewer import ANONYMOUS, Viewer
from schema.http.protocol import Answer
from tests.schema.test_directives import SCHEMA, access_of, selected
from tests.support.cms import ADMIN, EDITOR, VISITOR, command
from tests.support.graph import id_of, mutation, viewer_of
from tests.support.social import COMMENT, CREATE, FOLLOW, LIKE, UPDATE
from tests.support.subscribing import started, subscribe

START = mutation("startBuild", "build { id }")
REPORT = mutation("reportBuild", "build { id }")
JOIN = mutation("joinNeighborhood", "membership { id }")
PERSON = mutation("addPerson", "person { id }")
CARD_COMMENT = mutation("addCardComment", "comment { id }")
CONTENT = command("createContent", "content { id version }")
UPDATE_CONTENT = command("updateContent", "content { id version }")
BUILDER = Viewer("id-builder", roles=frozenset({"builder"}))
PICTURE = {"imageUrl": "https://example.org/rain.jpg"}


def added(field: str, node: str) -> str:
    return f"subscription ($id: ID, $after: String) {{ {field} {{ cursor node {{ {node} }} }} }}".replace(
        "$id: ID,", "$id: ID!," if "$id" in field else ""
    )


class Case(NamedTuple):
    """`act` adds one record, and does something that adds nothing to the list."""

    query: str
    viewer: Viewer
    variables: dict[str, Any]
    act: Callable[[], Awaitable[Any]]
    node: dict[str, Any]
    calls: dict[str, int]


async def posts(given):
    ada = await given.society.person("ada")

    async def act():
        made = await given.graph.command(CREATE, viewer_of(ada), caption="Rain.", **PICTURE)
        await given.graph.command(UPDATE, viewer_of(ada), postId=made["post"]["id"], caption="Snow.")
        await given.graph.command(COMMENT, viewer_of(ada), postId=made["post"]["id"], content="Mine.")

    query = added("postAdded(after: $after)", "caption author { username }")
    node = {"caption": "Snow.", "author": {"username": "ada"}}
    return Case(query, ANONYMOUS, {}, act, node, {"GetItem": 2})


async def home_feed(given):
    ada, bob = [await given.society.person(name) for name in ("ada", "bob")]
    await given.graph.command(FOLLOW, viewer_of(ada), userId=id_of(bob))

    async def act():
        await given.graph.command(CREATE, viewer_of(ada), caption="Not in one's own feed.", **PICTURE)
        await given.graph.command(CREATE, viewer_of(bob), caption="Rain.", **PICTURE)

    query = added("homeFeedPostAdded(after: $after)", "caption")
    return Case(query, viewer_of(ada), {}, act, {"caption": "Rain."}, {"BatchGetItem": 1, "Query": 3, "GetItem": 1})


async def comments(given):
    ada = await given.society.person("ada")
    post, other = [await given.society.post(ada) for _ in range(2)]

    async def act():
        await given.graph.command(LIKE, viewer_of(ada), postId=id_of(post))
        await given.graph.command(COMMENT, viewer_of(ada), postId=id_of(other), content="Elsewhere.")
        await given.graph.command(COMMENT, viewer_of(ada), postId=id_of(post), content="Here.")

    query = added("commentAdded(postId: $id, after: $after)", "content author { username } post { commentCount }")
    node = {"content": "Here.", "author": {"username": "ada"}, "post": {"commentCount": 1}}
    return Case(query, ANONYMOUS, {"id": id_of(post)}, act, node, {"BatchGetItem": 1, "GetItem": 1})


async def card_comments(given):
    ada = await given.workshop.person("ada")
    card = await given.workshop.card(ada, await given.workshop.category("wood"))

    async def act():
        await given.graph.command(CARD_COMMENT, viewer_of(ada), cardId=id_of(card), content="Yes.")

    query = added("cardCommentAdded(cardId: $id, after: $after)", "content")
    return Case(query, ANONYMOUS, {"id": id_of(card)}, act, {"content": "Yes."}, {"BatchGetItem": 1})


async def notifications(given):
    ada, bob = [await given.society.person(name) for name in ("ada", "bob")]
    post = await given.society.post(ada)

    async def act():
        await given.graph.command(LIKE, viewer_of(bob), postId=id_of(post))

    query = added("notificationAdded(kinds: [LIKE, COMMENT], after: $after)", "kind actor { username }")
    node = {"kind": "LIKE", "actor": {"username": "bob"}}
    return Case(query, viewer_of(ada), {}, act, node, {"BatchGetItem": 1, "GetItem": 2})


async def queue(given):
    ada = await given.town.person("ada")
    site, other = [await given.town.site(ada) for _ in range(2)]

    async def act():
        taken = await given.graph.command(START, viewer_of(ada), siteId=id_of(other))
        await given.graph.command(START, viewer_of(ada), siteId=id_of(site))
        # It leaves the list before the client has got it.
        await given.graph.command(REPORT, BUILDER, buildId=taken["build"]["id"], status="RUNNING")

    query = added("buildAdded(status: QUEUED, after: $after)", "status site { title }")
    node = {"status": "QUEUED", "site": {"title": site.title}}
    return Case(query, BUILDER, {}, act, node, {"BatchGetItem": 1, "GetItem": 2})


async def site_builds(given):
    ada = await given.town.person("ada")
    site, other = [await given.town.site(ada) for _ in range(2)]

    async def act():
        await given.graph.command(START, viewer_of(ada), siteId=id_of(other))
        await given.graph.command(START, viewer_of(ada), siteId=id_of(site))

    query = added("siteBuildAdded(siteId: $id, after: $after)", "status")
    return Case(
        query, viewer_of(ada), {"id": id_of(site)}, act, {"status": "QUEUED"}, {"BatchGetItem": 1, "GetItem": 1}
    )


async def members(given):
    ada, bob = [await given.town.person(name) for name in ("ada", "bob")]
    place = await given.town.neighborhood(ada)

    async def act():
        await given.graph.command(JOIN, viewer_of(bob), neighborhoodId=id_of(place))

    query = added("memberAdded(neighborhoodId: $id, after: $after)", "role user { username }")
    node = {"role": "MEMBER", "user": {"username": "bob"}}
    return Case(query, ANONYMOUS, {"id": id_of(place)}, act, node, {"BatchGetItem": 1, "GetItem": 1})


async def contents(given):
    await given.website.tenant()

    async def act():
        fields = {"title": "Hello", "status": "PUBLISHED"}
        made = (await given.graph.command(CONTENT, EDITOR, **fields))["content"]
        await given.graph.command(UPDATE_CONTENT, EDITOR, contentId=made["id"], expectedVersion=1, title="Hello!")
        await given.graph.command(CONTENT, EDITOR, **{**fields, "title": "Draft", "status": "DRAFT"})

    query = added("contentAdded(after: $after)", "title version")
    return Case(query, VISITOR, {}, act, {"title": "Hello!", "version": 2}, {"GetItem": 1})


async def audit_log(given):
    await given.website.tenant()

    async def act():
        await given.graph.command(CONTENT, EDITOR, title="Hello")

    query = added('auditEntryAdded(action: "createContent", after: $after)', "action")
    return Case(query, ADMIN, {}, act, {"action": "createContent"}, {"GetItem": 1})


async def people(given):
    ada = await given.kindred.user("ada")
    tree = await given.kindred.tree(ada, public=True)

    async def act():
        await given.graph.command(PERSON, viewer_of(ada), treeId=id_of(tree), firstName="Eve", birthDate="1850")

    query = added("personAdded(treeId: $id, after: $after)", "firstName")
    return Case(query, viewer_of(ada), {"id": id_of(tree)}, act, {"firstName": "Eve"}, {"BatchGetItem": 2})


CASES = [
    posts,
    home_feed,
    comments,
    card_comments,
    notifications,
    queue,
    site_builds,
    members,
    contents,
    audit_log,
    people,
]


class Given(NamedTuple):
    graph: Any
    society: Any
    town: Any
    website: Any
    workshop: Any
    kindred: Any


@pytest.fixture
def given(graph, society, town, website, workshop, kindred):
    return Given(graph, society, town, website, workshop, kindred)


@pytest.mark.parametrize("case_of", CASES)
async def test_an_addition_is_sent_once(given, case_of):
    case = await case_of(given)
    await given.graph.settle()
    one = await subscribe(given.graph, case.query, case.viewer, **case.variables)

    await case.act()
    await given.graph.settle()

    assert await one.take() == case.node
    assert await one.is_silent()
    assert one.stream.channel.calls == case.calls


@pytest.mark.parametrize("case_of", CASES)
async def test_a_client_that_was_away_gets_what_was_added(given, case_of):
    case = await case_of(given)
    await given.graph.settle()
    one = await subscribe(given.graph, case.query, case.viewer, **case.variables)
    await case.act()
    await given.graph.settle()
    await one.take()
    one.close()

    again = await subscribe(given.graph, case.query, case.viewer, **case.variables, after=one.cursor)

    assert await again.is_silent()


async def test_an_anonymous_viewer_is_told_to_sign_in_by_exactly_the_subscriptions_that_require_it(graph):
    fields = SCHEMA.subscription_type.fields
    codes = {}
    for name in fields:
        answer = await started(graph, f"subscription {{ {selected('Subscription', name)} }}", Viewer(tenant_id="acme"))
        codes[name] = answer.body["errors"][0]["extensions"]["code"] if isinstance(answer, Answer) else None

    requiring = {name for name, field in fields.items() if access_of(field).requires}
    assert {name for name, code in codes.items() if code == "UNAUTHENTICATED"} == requiring
    assert requiring == {"homeFeedPostAdded", "notificationAdded", "buildAdded", "siteBuildAdded", "auditEntryAdded"}
