"""The demo is what the commands would have made of it."""

import json
import time

import pytest

from datastore.accounts import User
from datastore.cards import Card
from datastore.client.errors import Denied
from datastore.model.entity import Entity
from datastore.neighborhoods import Build, Neighborhood, Site
from datastore.social import Comment, Like
from loaders.viewer import Viewer
from resolvers import demo
from resolvers.demo.genealogy import TREE
from resolvers.genealogy.chart.layout import Line
from resolvers.genealogy.chart.query import picture
from tests.support.cards import counts as votes
from tests.support.fault_proxy import denied
from tests.support.neighborhoods import counts
from tests.support.serving import ROOT
from tests.support.social import counted


async def test_the_demo_is_loaded_once(graph):
    passwords = graph.services.passwords

    assert await demo.load(graph.table, passwords) is True
    assert await demo.load(graph.table, passwords) is False


async def test_a_load_that_failed_halfway_is_repeated(graph, faulty, proxy):
    passwords = graph.services.passwords
    proxy.will("BatchWriteItem", denied, when=lambda request: "CARD#" in json.dumps(request))
    with pytest.raises(Denied):
        await demo.load(faulty, passwords)
    proxy.recover()

    assert await demo.load(faulty, passwords) is True

    totals = await counted(graph)
    assert totals["says"] == totals["found"]


async def test_its_counts_are_what_there_is(graph):
    await demo.load(graph.table, graph.services.passwords)

    totals = await counted(graph)

    assert totals["says"] == totals["found"]


async def test_its_neighborhoods_count_their_members(graph):
    await demo.load(graph.table, graph.services.passwords)

    places = (await graph.table.query(Neighborhood.by_time(), limit=10)).records

    assert [(place.slug, place.privacy.value) for place in places] == [
        ("alder-street", "public"),
        ("the-bee-circle", "private"),
    ]
    assert [await counts(graph, place) for place in places] == [
        {"says": (6, 1), "found": (6, 1)},
        {"says": (3, 1), "found": (3, 1)},
    ]


async def test_maya_has_a_site_that_was_built(graph):
    await demo.load(graph.table, graph.services.passwords)

    asked = await graph.ask(
        """{ viewer { sites { nodes { title status publicUrl builtAt neighborhood { name }
                builds { nodes { status error completedAt } } } }
            neighborhoods { edges { role node { name } } } } }""",
        Viewer(demo.MAYA),
    )

    (site,) = asked.data["viewer"]["sites"]["nodes"]
    builds = site.pop("builds")["nodes"]
    assert site.pop("builtAt") == builds[0]["completedAt"]
    assert site == {
        "title": "The repair café on Alder Street",
        "status": "PUBLISHED",
        "publicUrl": "https://repair-cafe.example.org",
        "neighborhood": {"name": "Alder Street"},
    }
    assert [build["status"] for build in builds] == ["COMPLETED", "COMPLETED", "FAILED"]
    assert asked.data["viewer"]["neighborhoods"]["edges"] == [
        {"role": "MEMBER", "node": {"name": "The Bee Circle"}},
        {"role": "OWNER", "node": {"name": "Alder Street"}},
    ]


def test_its_builds_are_kept_for_90_days():
    made = demo.everything("hash")

    kept = [record.expires_at for record in made if isinstance(record, Build)]
    assert len(kept) == 3
    assert all(89 * 86_400 < expires - time.time() <= 90 * 86_400 for expires in kept)
    assert [record.expires_at for record in made if isinstance(record, Site)] == [None]


def test_no_two_records_have_one_key():
    records: list[Entity] = demo.everything("hash")

    assert len({record.own_key for record in records}) == len(records)
    assert {type(record) for record in records} >= {User, Like, Comment}


@pytest.mark.engine_contract
async def test_maya_sees_a_lively_place(graph):
    await demo.load(graph.table, graph.services.passwords)

    asked = await graph.ask(
        """{ viewer { username notifications(first: 1) { nodes { kind } }
            homeFeed(first: 3) { nodes { caption author { username } } } } }""",
        Viewer(demo.MAYA),
    )

    assert asked.data["viewer"] == {
        "username": "maya",
        "notifications": {"nodes": [{"kind": "COMMENT"}]},
        "homeFeed": {
            "nodes": [
                {
                    "caption": "My first program prints my shopping list. It forgot the eggs.",
                    "author": {"username": "winnie"},
                },
                {
                    "caption": "A chair that four people gave up on. Five is the charm.",
                    "author": {"username": "teo"},
                },
                {
                    "caption": "The oak behind the library is older than the library.",
                    "author": {"username": "amira"},
                },
            ]
        },
    }


async def test_its_people_can_sign_in(graph):
    await demo.load(graph.table, graph.services.passwords)

    payload = await graph.command(
        "mutation ($input: LogInInput!) { logIn(input: $input) { user { username } problems { message } } }",
        login="winnie",
        password=demo.PASSWORD,
    )

    assert payload == {"user": {"username": "winnie"}, "problems": []}


async def test_its_website_is_found_and_read_without_a_token(graph):
    await demo.load(graph.table, graph.services.passwords)

    asked = await graph.ask(
        """{ tenant(by: {domain: "repair-cafe.example"}) { databaseId }
            route(by: {slug: "/knives"}) { isRedirect target content { title version comments { nodes { authorName
            } } } }
            contents { nodes { slug } } }""",
        Viewer(tenant_id="repair-cafe"),
    )

    assert asked.data == {
        "tenant": {"databaseId": "repair-cafe"},
        "route": {
            "isRedirect": True,
            "target": "/guides/sharpening",
            "content": {
                "title": "How to sharpen a knife",
                "version": 2,
                "comments": {"nodes": [{"authorName": "Ines"}, {"authorName": "Ravi"}]},
            },
        },
        "contents": {"nodes": [{"slug": "/"}, {"slug": "/guides/sharpening"}, {"slug": "/contact"}]},
    }


async def test_maya_edits_its_website(graph):
    await demo.load(graph.table, graph.services.passwords)
    maya = Viewer(demo.MAYA, tenant_id="repair-cafe", tenants=frozenset(demo.STAFF[demo.MAYA].items()))

    asked = await graph.ask(
        """{ route(by: {slug: "/"}) { content { versions { nodes { version blocks author { username } } }
            diff(from: 1, to: 3) { path old new } } } }""",
        maya,
    )

    content = asked.data["route"]["content"]
    assert [(node["version"], node["author"]["username"]) for node in content["versions"]["nodes"]] == [
        (3, "teo"),
        (2, "maya"),
        (1, "maya"),
    ]
    assert content["diff"] == [
        {
            "path": ["blocks", "0", "text"],
            "old": "The café opens at ten.",
            "new": "The café opens at ten. Bring what is broken.",
        }
    ]


async def test_its_cards_trend_divide_and_are_found(graph):
    await demo.load(graph.table, graph.services.passwords)
    await graph.settle_search()

    asked = await graph.ask(
        """{ trendingCards(first: 2) { nodes { title category { path } } }
            topCards(first: 1) { nodes { title voteScore } }
            controversialCards(first: 1) { nodes { title upvoteCount downvoteCount } }
            searchCards(text: "kitch knife") { nodes { title instructions } }
            categoryTree { databaseId }
            viewer { viewed: cards(status: DRAFT) { nodes { title } }
                collections { nodes { name cardCount cards { nodes { title } } } } } }""",
        Viewer(demo.MAYA),
    )

    assert asked.data == {
        "trendingCards": {
            "nodes": [
                {"title": "Thread a sewing machine from 1930", "category": {"path": ["Textiles"]}},
                {"title": "Sharpen a kitchen knife", "category": {"path": ["Kitchen", "Sharpening"]}},
            ]
        },
        "topCards": {"nodes": [{"title": "Rye bread from a starter that sleeps", "voteScore": 6}]},
        "controversialCards": {"nodes": [{"title": "Sharpen a kitchen knife", "upvoteCount": 3, "downvoteCount": 3}]},
        "searchCards": {
            "nodes": [
                {
                    "title": "Sharpen a kitchen knife",
                    "instructions": [
                        "Soak the stone.",
                        "Twenty degrees, away from you.",
                        "Feel for the burr. Turn over.",
                        "Cut a tomato.",
                    ],
                }
            ]
        },
        "categoryTree": [
            {"databaseId": name}
            for name in ("wood", "furniture", "finishing", "kitchen", "bread", "sharpening", "textiles")
        ],
        "viewer": {
            "viewed": {"nodes": [{"title": "A hinge that does not squeak"}]},
            "collections": {
                "nodes": [
                    {
                        "name": "For the repair café",
                        "cardCount": 3,
                        "cards": {
                            "nodes": [
                                {"title": "Glue a chair that four people gave up on"},
                                {"title": "Sharpen a kitchen knife"},
                                {"title": "Thread a sewing machine from 1930"},
                            ]
                        },
                    },
                    {
                        "name": "To try when nobody looks",
                        "cardCount": 1,
                        "cards": {"nodes": [{"title": "Rye bread from a starter that sleeps"}]},
                    },
                ]
            },
        },
    }


async def test_its_cards_count_their_votes(graph):
    await demo.load(graph.table, graph.services.passwords)
    made = demo.everything("hash")
    for card in [record for record in made if isinstance(record, Card)]:
        totals = await votes(graph, card)
        assert totals["says"] == totals["found"]


async def test_its_family_is_told_and_drawn(graph):
    await demo.load(graph.table, graph.services.passwords)

    asked = await graph.ask(
        """{ tree(by: {databaseId: "01HEARTW00DTREE00000000001"}) { name personCount
            persons(first: 100) { nodes { firstName } }
            rootPerson { firstName parents { nodes { siblings { firstName } } }
                ancestors(generations: 9) { generation person { firstName } } } } }""",
        Viewer(demo.MAYA),
    )

    tree = asked.data["tree"]
    assert (tree["name"], tree["personCount"], len(tree["persons"]["nodes"])) == ("The Lindqvists of Uppsala", 11, 11)
    assert [(each["generation"], each["person"]["firstName"]) for each in tree["rootPerson"]["ancestors"]] == [
        (1, "Henrik"),
        (2, "Gösta"),
        (2, "Ruth"),
        (3, "Karl"),
        (3, "Elsa"),
        (4, "Anders"),
        (4, "Ingrid"),
    ]


async def test_the_picture_in_the_documentation_is_that_of_its_family(graph):
    await demo.load(graph.table, graph.services.passwords)
    load = graph.context().load

    drawn = await load.run(picture(load.viewer, TREE, "01HEARTW00DREL000000000000", Line.DESCENDANTS, None))

    assert drawn == (ROOT / "docs/family-tree.svg").read_text()
