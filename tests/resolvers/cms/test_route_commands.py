"""Routes: moving content, redirects from former paths, and fixed paths."""

import asyncio
from dataclasses import replace

import pytest

from datastore.cms import Content, ContentStatus, Route
from resolvers.cms import route_commands
from resolvers.cms.url_paths import path_of
from tests.resolvers.cms.test_content_commands import CREATE, FIELDS, told, writing
from tests.support.cms import EDITOR, READER, STRANGER, VISITOR
from tests.support.graph import Graph, id_of

CHANGE_SLUG = writing("changeSlug", FIELDS)
CREATE_REDIRECT = writing("createRedirect", "route { slug isRedirect target }")
DELETE_ROUTE = writing("deleteRoute", "deletedRouteId")
FIND = "query ($slug: String!) { route(by: {slug: $slug}) { slug isRedirect target content { title slug } } }"


async def table_of_routes(graph: Graph, tenant_id: str = "acme") -> dict[str, str | None]:
    """Every address, and where it redirects to."""
    page = await graph.table.query(Route.within(tenant_id=tenant_id), limit=1_000, consistent=True)
    return {route.slug: route.target if route.is_redirect else None for route in page.records}


def route_id(slug: str, tenant_id: str = "acme") -> str:
    return id_of(Route(tenant_id=tenant_id, slug=slug, node_id="x"))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/", "/"),
        ("///", "/"),
        ("About", "/about"),
        ("/About//Us/", "/about/us"),
        ("/a b/ c ", "/a-b/c"),
        ("/caf%C3%A9", "/café"),
        ("/cafe\u0301", "/café"),
        ("/ＦＵＬＬ", "/full"),
        ("/北京", "/北京"),
        ("/file.html", "/file.html"),
        ("/ΟΔΟΣ", "/οδοσ"),
        ("/οδος", "/οδοσ"),
        ("/Straße", "/strasse"),
        ("/हिन्दी", "/हिन्दी"),
        ("/zero\u200bwidth", None),
        ("/\u0301mark", None),
        ("/a#b", None),
        ("/a?b=c", None),
        ("/../etc", None),
        ("/a/./b", None),
        ("/%2e%2e/b", None),
        ("/%00", None),
        ("/a%23b", None),
        ("/\ud800", None),
        ("/<script>", None),
        ("/" + "ä" * 251, None),
    ],
)
def test_an_address_is_written_in_one_way(text, path):
    assert path_of(text) == path
    assert path is None or path_of(path) == path


async def test_content_that_moves_leaves_a_redirect(graph, website):
    await website.tenant()
    page = await website.content(slug="/old", title="Here")

    asked = await graph.ask(CHANGE_SLUG, EDITOR, input={"contentId": id_of(page), "slug": "/New/"})
    old = await graph.ask(FIND, VISITOR, slug="/old")
    new = await graph.ask(FIND, VISITOR, slug="/new")

    assert asked.data["changeSlug"]["content"]["slug"] == "/new"
    assert asked.data["changeSlug"]["content"]["version"] == 1
    assert asked.calls == {"GetItem": 1, "TransactWriteItems": 1}
    assert old.data["route"] == {
        "slug": "/old",
        "isRedirect": True,
        "target": "/new",
        "content": {"title": "Here", "slug": "/new"},
    }
    assert old.calls == {"GetItem": 2}
    assert new.data["route"] == {
        "slug": "/new",
        "isRedirect": False,
        "target": None,
        "content": {"title": "Here", "slug": "/new"},
    }


async def test_chains_are_shortened_and_never_loop(graph, website):
    await website.tenant()
    page = await website.content(slug="/a")

    for slug in ("/b", "/c", "/a", "/d", "/b"):
        payload = await graph.command(CHANGE_SLUG, EDITOR, contentId=id_of(page), slug=slug)
        assert payload["problems"] == []

    assert await table_of_routes(graph) == {"/a": "/b", "/b": None, "/c": "/b", "/d": "/b"}
    again = await graph.ask(CHANGE_SLUG, EDITOR, input={"contentId": id_of(page), "slug": "/b"})
    assert again.calls == {"GetItem": 1}


async def test_an_address_of_other_content_is_taken_even_if_that_has_moved(graph, website):
    await website.tenant()
    first, second = await website.content(slug="/first"), await website.content(slug="/second")
    await graph.command(CHANGE_SLUG, EDITOR, contentId=id_of(first), slug="/moved")

    payloads = [
        await graph.command(CHANGE_SLUG, EDITOR, contentId=id_of(second), slug=slug) for slug in ("/first", "/moved")
    ]
    created = await graph.command(CREATE, EDITOR, title="New", slug="/first")

    assert [told(payload) for payload in (*payloads, created)] == [[("TAKEN", "slug")]] * 3
    assert await table_of_routes(graph) == {"/first": "/moved", "/moved": None, "/second": None}


async def test_moves_that_race_leave_one_address_and_redirects_to_it(graph, website):
    await website.tenant()
    page = await website.content(slug="/start")

    await asyncio.gather(
        *(graph.command(CHANGE_SLUG, EDITOR, contentId=id_of(page), slug=f"/to-{number}") for number in range(6)),
        graph.command(CREATE_REDIRECT, EDITOR, contentId=id_of(page), slug="/extra"),
    )

    stored: Content = await graph.table.get(page.own_key, consistent=True)
    routes = await table_of_routes(graph)
    assert routes.pop(stored.slug) is None
    assert set(routes.values()) == {stored.slug}
    assert sorted(routes) == sorted(stored.old_slugs)


async def test_two_contents_race_for_one_address(graph, website):
    await website.tenant()
    pages = [await website.content(slug=f"/page-{number}") for number in range(5)]

    payloads = await asyncio.gather(
        *(graph.command(CHANGE_SLUG, EDITOR, contentId=id_of(page), slug="/prize") for page in pages)
    )

    assert sorted(map(told, payloads)) == [[], *[[("TAKEN", "slug")]] * 4]


@pytest.mark.parametrize("slug", ["/", "/contact"])
async def test_system_routes_are_neither_renamed_nor_deleted(graph, website, slug):
    await website.tenant()
    page = await website.content(slug=slug)

    renamed = await graph.command(CHANGE_SLUG, EDITOR, contentId=id_of(page), slug="/elsewhere")
    deleted = await graph.command(DELETE_ROUTE, EDITOR, routeId=route_id(slug))

    assert [told(renamed), told(deleted)] == [[("FORBIDDEN", "contentId")], [("FORBIDDEN", "routeId")]]
    assert await table_of_routes(graph) == {slug: None}


@pytest.mark.parametrize("slug", ["/", "/contact"])
async def test_a_system_route_never_is_a_redirect_that_could_go(graph, website, slug):
    await website.tenant()
    page = await website.content(slug="/home")

    made = await graph.command(CREATE_REDIRECT, EDITOR, contentId=id_of(page), slug=slug)
    # As if it had been made before that was refused.
    await graph.table.put(replace(page, old_slugs=[slug]))
    deleted = await graph.command(DELETE_ROUTE, EDITOR, routeId=route_id("/home"))

    assert [told(made), told(deleted)] == [[("FORBIDDEN", "slug")], [("FORBIDDEN", "routeId")]]


async def test_a_redirect_of_ones_own(graph, website):
    await website.tenant()
    page = await website.content(slug="/page")

    made = await graph.command(CREATE_REDIRECT, EDITOR, contentId=id_of(page), slug="/Shortcut")
    taken = await graph.command(CREATE_REDIRECT, EDITOR, contentId=id_of(page), slug="/page")
    await graph.command(CHANGE_SLUG, EDITOR, contentId=id_of(page), slug="/moved")

    assert made["route"] == {"slug": "/shortcut", "isRedirect": True, "target": "/page"}
    assert told(taken) == [("TAKEN", "slug")]
    assert await table_of_routes(graph) == {"/moved": None, "/page": "/moved", "/shortcut": "/moved"}


async def test_a_route_is_deleted_with_what_leads_to_it(graph, website):
    await website.tenant()
    page = await website.content(slug="/a")
    for slug in ("/b", "/c"):
        await graph.command(CHANGE_SLUG, EDITOR, contentId=id_of(page), slug=slug)

    redirect = await graph.command(DELETE_ROUTE, EDITOR, routeId=route_id("/a"))
    left = await table_of_routes(graph)
    whole = await graph.command(DELETE_ROUTE, EDITOR, routeId=route_id("/c"))
    again = await graph.command(DELETE_ROUTE, EDITOR, routeId=route_id("/c"))

    assert redirect["deletedRouteId"] == route_id("/a")
    assert left == {"/b": "/c", "/c": None}
    assert whole["problems"] == []
    assert await table_of_routes(graph) == {}
    assert told(again) == [("NOT_FOUND", "routeId")]
    stored = await graph.table.get(page.own_key)
    assert (stored.slug, stored.old_slugs, stored.version) == (None, [], 1)

    back = await graph.command(CHANGE_SLUG, EDITOR, contentId=id_of(page), slug="/back")
    assert back["content"]["slug"] == "/back"


async def test_so_many_redirects_fit_a_transaction(graph, website, monkeypatch):
    await website.tenant()
    page = await website.content(slug="/a")
    monkeypatch.setattr(route_commands, "MOST_REDIRECTS", 2)

    for slug in ("/b", "/c"):
        await graph.command(CHANGE_SLUG, EDITOR, contentId=id_of(page), slug=slug)
    third = await graph.command(CHANGE_SLUG, EDITOR, contentId=id_of(page), slug="/d")
    extra = await graph.command(CREATE_REDIRECT, EDITOR, contentId=id_of(page), slug="/e")

    assert [told(third), told(extra)] == [[("INVALID", "slug")]] * 2


async def test_drafts_have_an_address_that_shows_the_public_nothing(graph, website):
    await website.content(slug="/soon", status=ContentStatus.DRAFT)

    public = await graph.ask(FIND, VISITOR, slug="/soon")
    staff = await graph.ask(FIND, READER, slug="/soon")

    assert public.data == {"route": None}
    assert staff.data["route"]["content"] == {"title": "Page 1", "slug": "/soon"}


@pytest.mark.parametrize(
    ("viewer", "code"), [(VISITOR, "UNAUTHENTICATED"), (READER, "FORBIDDEN"), (STRANGER, "FORBIDDEN")]
)
async def test_routes_are_for_editors_to_change(graph, website, viewer, code):
    await website.tenant()
    page = await website.content(slug="/page")

    payloads = [
        await graph.command(CHANGE_SLUG, viewer, contentId=id_of(page), slug="/new"),
        await graph.command(CREATE_REDIRECT, viewer, contentId=id_of(page), slug="/new"),
        await graph.command(DELETE_ROUTE, viewer, routeId=route_id("/page")),
    ]

    assert [told(payload) for payload in payloads] == [[(code,)]] * 3
    assert await table_of_routes(graph) == {"/page": None}
