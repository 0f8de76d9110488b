"""Family tree charts over HTTP: parameters, permissions and output."""

import re
from typing import Any
from xml.etree import ElementTree as ET

import httpx
import pytest

from datastore.accounts import User
from datastore.client.writes import Update
from schema.declare.errors import BUSY, DAMAGED
from schema.http.app import create_app
from tests.resolvers.genealogy.test_edges import Family, a_family
from tests.support.fault_proxy import FOR_EVER, denied, error_500
from tests.support.genealogy import Kindred
from tests.support.graph import Graph

SVG = "{http://www.w3.org/2000/svg}"
NOT_FOUND = (404, "there is no such tree, or no such person in it")
HEADERS = {
    "content-type": "image/svg+xml",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "x-content-type-options": "nosniff",
    "cache-control": "private, no-cache",
    "vary": "accept, accept-encoding, authorization, origin, x-tenant-id",
}


async def get(graph: Graph, path: str, user: User | None = None, *, method: str = "GET", **headers: str) -> Any:
    """Sends a request like a browser, to the application without a socket."""
    if user is not None:
        headers["authorization"] = f"Bearer {graph.services.tokens.issue(user.user_id)}"
    transport = httpx.ASGITransport(app=create_app(graph.services))
    async with httpx.AsyncClient(transport=transport, base_url="http://heartwood.test") as client:
        return await client.request(method, path, headers=headers)


async def picture(graph: Graph, family: Family, asked: str = "") -> Any:
    return await get(graph, f"/trees/{family.tree.tree_id}.svg{asked}", family.owner)


def drawn(answer: Any) -> tuple[str, list[str]]:
    """Returns the heading, and the names in the boxes."""
    assert answer.status_code == 200, answer.text
    svg = ET.fromstring(answer.text)
    names = [
        group.findtext(f"{SVG}text")
        for group in svg.iter(f"{SVG}g")
        if group.get("class", "").split()[0] in ("root", "person")
    ]
    return svg.findtext(f"{SVG}title") or "", [name or "" for name in names]


async def rooted(kindred: Kindred, name: str, **fields: Any) -> Family:
    """A family whose tree starts with this person."""
    family = await a_family(kindred, **fields)
    tree = family.tree.changed(root_person_id=family[name].person_id)
    await kindred.graph.table.put(tree)
    return Family(family.owner, tree, family.people)


async def test_a_tree_begins_with_its_root_and_shows_the_ancestors(graph, kindred):
    family = await rooted(kindred, "Ada")

    answer = await picture(graph, family)

    ancestors = ["Father", "Mother", "Stepmother", "Grandpa", "Grandma"]
    assert drawn(answer) == ("Ancestors of Ada", ["Ada", *ancestors])
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS


async def test_a_tree_without_a_root_begins_with_whom_was_added_first(graph, kindred):
    family = await a_family(kindred)

    answer = await picture(graph, family, "?line=descendants")

    younger = ["Uncle", "Father", "Dot", "Ada", "Ben", "Cal", "Eve"]
    assert drawn(answer) == ("Descendants of Grandpa", ["Grandpa", *younger])


@pytest.mark.parametrize(
    ("asked", "heading", "names"),
    [
        ("?person={Eve}&generations=1", "Ancestors of Eve", ["Eve", "Ada"]),
        ("?person={Eve}&line=descendants", "Descendants of Eve", ["Eve"]),
        ("?person={Father}&line=DESCENDANTS&generations=1", "Descendants of Father", ["Father", "Ada", "Ben", "Cal"]),
        ("?person={Dot}&line=Ancestors", "Ancestors of Dot", ["Dot", "Uncle", "Grandpa", "Grandma"]),
        ("?person=&generations=1", "Ancestors of Ada", ["Ada", "Father", "Mother", "Stepmother"]),
        ("?person={Cal}&person={Dot}&generations=1", "Ancestors of Dot", ["Dot", "Uncle"]),
    ],
)
async def test_the_person_the_line_and_the_generations_can_be_chosen(graph, kindred, asked, heading, names):
    family = await rooted(kindred, "Ada")
    ids = {name: person.person_id for name, person in family.people.items()}

    assert drawn(await picture(graph, family, asked.format(**ids))) == (heading, names)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        *(
            (f"?line={line}", "`line` is ancestors or descendants")
            for line in ("", "cousins", "ancestors%00", "%3Cb%3E")
        ),
        *(
            (f"?generations={number}", "`generations` is a number from 1 to 100")
            for number in ("", "0", "01", "101", "-1", "1.5", "1e2", "²", "٣", "9" * 5_000, "x", "1%00")
        ),
    ],
)
async def test_what_cannot_be_drawn_is_said(graph, kindred, asked, reason):
    family = await rooted(kindred, "Ada")

    answer = await picture(graph, family, asked)

    assert (answer.status_code, answer.text) == (400, reason)
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    "asked", ["?person=nobody", "?person=..%2F..", "?person=%3Cscript%3E", "?person=a%23b", f"?person={'x' * 3_000}"]
)
async def test_a_person_who_is_not_in_the_tree_is_not_found(graph, kindred, asked):
    family = await rooted(kindred, "Ada")

    answer = await picture(graph, family, asked)

    assert (answer.status_code, answer.text) == NOT_FOUND


async def test_a_person_of_another_tree_is_not_found(graph, kindred):
    family = await rooted(kindred, "Ada")
    other = await kindred.person(await kindred.tree(family.owner), "Other")

    answer = await picture(graph, family, f"?person={other.person_id}")

    assert (answer.status_code, answer.text) == NOT_FOUND


async def test_a_tree_with_nobody_in_it_has_no_picture(graph, kindred):
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner)

    answer = await get(graph, f"/trees/{tree.tree_id}.svg", owner)

    assert (answer.status_code, answer.text) == NOT_FOUND


@pytest.mark.parametrize(
    ("tree_id", "status"),
    [("nothing", 404), ("a%23b", 400), ("%20", 404), ("x" * 2_100, 400), ("%00", 400), ("a%2Fb", 404), ("..%2Fx", 404)],
)
async def test_a_tree_that_is_not_there(graph, kindred, tree_id, status):
    owner = await kindred.user("owner")

    answer = await get(graph, f"/trees/{tree_id}.svg", owner)

    assert answer.status_code == status
    assert "<" not in answer.text


async def test_whoever_sees_the_tree_sees_the_picture(graph, kindred):
    family = await rooted(kindred, "Ada")
    stranger, reader = await kindred.user("stranger"), await kindred.user("reader")
    await kindred.share(family.tree, reader)
    path = f"/trees/{family.tree.tree_id}.svg"

    answers = [await get(graph, path, who) for who in (None, stranger, reader, family.owner)]

    assert [answer.status_code for answer in answers] == [404, 404, 200, 200]
    assert answers[0].text == answers[1].text == NOT_FOUND[1]
    assert answers[2].text == answers[3].text


async def test_a_public_tree_takes_no_token_and_a_bad_one_is_told(graph, kindred):
    family = await rooted(kindred, "Ada", public=True)
    path = f"/trees/{family.tree.tree_id}.svg"

    open_to_all = await get(graph, path)
    bad = await get(graph, path, authorization="Bearer nonsense")
    no_bearer = await get(graph, path, authorization="Basic YTpi")

    assert open_to_all.status_code == 200
    for answer in (bad, no_bearer):
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith('Bearer error="invalid_token"')
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"


async def test_a_tenant_that_cannot_be_is_told(graph, kindred):
    family = await rooted(kindred, "Ada", public=True)

    answer = await get(graph, f"/trees/{family.tree.tree_id}.svg", **{"x-tenant-id": "a#b"})

    assert answer.status_code == 400
    assert "x-tenant-id" in answer.text


async def test_hostile_names_are_text(graph, kindred):
    family = await a_family(kindred)
    name = "</text><script>alert(1)</script>&\x0b\u202e"
    person = await kindred.person(family.tree, name, last_name="]]>", suffix="\"'")

    answer = await picture(graph, family, f"?person={person.person_id}")

    svg = ET.fromstring(answer.text)
    assert "<script" not in answer.text
    assert {element.tag for element in svg.iter()} == {
        f"{SVG}{tag}" for tag in ("svg", "title", "desc", "style", "rect", "text", "g")
    }


async def test_dates_are_shown_as_they_are_known(graph, kindred):
    family = await a_family(kindred)
    both = {"birth_date": "ABT 1850", "death_date": "1901-02-03"}
    lives = {
        "ABT 1850 – 1901-02-03": both,
        "? – 1901": {"birth_date": None, "death_date": "1901"},
        "born 1850": {"birth_date": "1850"},
        "1850 – ?": {"birth_date": "1850", "is_deceased": True},
        None: {"birth_date": None},
    }
    for life, said in lives.items():
        person = await kindred.person(family.tree, "Somebody", **said)
        answer = await picture(graph, family, f"?person={person.person_id}")
        root = next(group for group in ET.fromstring(answer.text).iter(f"{SVG}g") if "root" in group.get("class", ""))
        texts = [text.text for text in root.iter(f"{SVG}text")]
        assert texts == ["Somebody", *([life] if life else [])]


async def test_only_what_is_got_is_answered(graph, kindred):
    family = await rooted(kindred, "Ada", public=True)
    path = f"/trees/{family.tree.tree_id}.svg"

    head = await get(graph, path, method="HEAD")
    post = await get(graph, path, method="POST")

    assert (head.status_code, head.content) == (200, b"")
    assert post.status_code == 405


async def test_a_database_that_is_out_of_reach_is_told(graph, faulty_graph, proxy, kindred, monkeypatch):
    family = await rooted(kindred, "Ada", public=True)
    monkeypatch.setattr(faulty_graph.services.settings, "request_timeout", 4)
    proxy.will("Query", error_500, FOR_EVER)

    answer = await get(faulty_graph, f"/trees/{family.tree.tree_id}.svg")

    assert (answer.status_code, answer.text) == (503, f"{BUSY} Try again.")
    assert answer.headers["retry-after"] == "5"


async def test_an_error_of_the_database_is_masked(graph, faulty_graph, proxy, kindred):
    family = await rooted(kindred, "Ada", public=True)
    proxy.will("Query", denied, FOR_EVER)

    answer = await get(faulty_graph, f"/trees/{family.tree.tree_id}.svg")

    assert answer.status_code == 500
    assert re.fullmatch(r"Something went wrong on our side\. .*\([0-9a-f]{32}\)", answer.text)
    assert "AccessDenied" not in answer.text


async def test_a_damaged_tree_is_said_to_be_damaged(graph, kindred):
    family = await rooted(kindred, "Ada", public=True)
    await graph.table.update(Update(family.tree.own_key, raw={"createdAt": {"S": "yesterday"}}))

    answer = await get(graph, f"/trees/{family.tree.tree_id}.svg")

    assert (answer.status_code, answer.text) == (500, DAMAGED)
