"""The demo is what the commands would have made of it."""

from datastore.entity import Entity
from datastore.social import Comment, Like
from datastore.users import User
from loaders.viewer import Viewer
from resolvers import demo
from tests.test_social_commands import counted


async def test_the_demo_is_loaded_once(graph):
    passwords = graph.services.passwords

    assert await demo.load(graph.table, passwords) is True
    assert await demo.load(graph.table, passwords) is False


async def test_its_counts_are_what_there_is(graph):
    await demo.load(graph.table, graph.services.passwords)

    totals = await counted(graph)

    assert totals["says"] == totals["found"]


def test_no_two_records_have_one_key():
    records: list[Entity] = demo.everything("hash")

    assert len({record.own_key for record in records}) == len(records)
    assert {type(record) for record in records} >= {User, Like, Comment}


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
