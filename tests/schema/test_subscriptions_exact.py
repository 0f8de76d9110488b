"""Subscriptions miss and repeat nothing: cuts, other servers, late commits, and a log that is gone."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from datastore.changes import log
from datastore.changes.records import ChangeBatch
from datastore.client.writes import Put, Update, absent
from datastore.model.times import as_time, now
from datastore.neighborhoods import Membership
from datastore.social import Comment, Post
from schema.live import channel, resuming, subscriber
from tests.conftest import services_at
from tests.schema.test_subscriptions_lists import CONTENT, JOIN, UPDATE_CONTENT
from tests.support.cms import EDITOR, VISITOR
from tests.support.graph import Graph, id_of, viewer_of
from tests.support.neighborhoods import Town
from tests.support.social import COMMENT, CREATE, DELETE_COMMENT, UPDATE_COMMENT
from tests.support.subscribing import refusal, subscribe

COMMENTS = """subscription ($post: ID!, $after: String) {
  commentAdded(postId: $post, after: $after) { cursor node { content } } }"""
POSTS = "subscription ($after: String) { postAdded(after: $after) { cursor node { caption } } }"
LISTED = """query ($id: ID!, $after: String) { post(by: {id: $id}) {
  comments(first: 100, after: $after) { edges { cursor node { content } } } } }"""
PICTURE = "https://example.org/rain.jpg"


@pytest.fixture
async def scene(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada, caption="Rain.")
    await graph.settle()
    return ada, bob, post


async def comment(graph, viewer, post, *contents):
    made = [
        await graph.command(COMMENT, viewer_of(viewer), postId=id_of(post), content=content) for content in contents
    ]
    return [each["comment"]["id"] for each in made]


async def taken(subscribed, count):
    return [next(iter(node.values())) for node in await subscribed.takes(count)]


async def listed(graph, post, after=None):
    asked = await graph.ask(LISTED, id=id_of(post), after=after)
    return {edge["node"]["content"]: edge["cursor"] for edge in asked.data["post"]["comments"]["edges"]}


async def trim(graph):
    """Removes the log, as its expiry does."""
    page = await graph.table.query(ChangeBatch.within(partition=0), limit=1_000, consistent=True)
    await graph.table.batch_write(deletes=[batch.own_key for batch in page.records])
    graph.services.changes.tails[0]._kept.clear()


@pytest.fixture
def settled_at_once(monkeypatch):
    """Leaves nothing to the log that the table has."""
    monkeypatch.setattr(resuming, "SETTLED", timedelta(0))


async def test_a_cursor_of_a_subscription_is_one_of_the_connection(graph, scene):
    _ada, bob, post = scene
    one = await subscribe(graph, COMMENTS, post=id_of(post))
    await comment(graph, bob, post, "One.", "Two.", "Three.")
    await graph.settle()
    await one.take()

    assert [*await listed(graph, post, after=one.cursor)] == ["Two.", "Three."]


async def test_any_cursor_of_the_connection_is_a_beginning(graph, scene):
    _ada, bob, post = scene
    contents = [f"{number}" for number in range(5)]
    await comment(graph, bob, post, *contents)
    await graph.settle()

    for content, cursor in (await listed(graph, post)).items():
        one = await subscribe(graph, COMMENTS, post=id_of(post), after=cursor)
        rest = contents[contents.index(content) + 1 :]
        assert await taken(one, len(rest)) == rest
        assert await one.is_silent()
        one.close()


@pytest.mark.parametrize("settled", [timedelta(0), timedelta(seconds=10)])
async def test_cuts_while_the_table_is_read_lose_nothing(graph, scene, monkeypatch, settled):
    monkeypatch.setattr(resuming, "SETTLED", settled)
    monkeypatch.setattr(resuming, "RECORDS_AT_ONCE", 2)
    _ada, bob, post = scene
    await comment(graph, bob, post, *"abcdefg")
    await graph.settle()
    after = (await listed(graph, post))["a"]
    received = []

    for late in "hijk":
        one = await subscribe(graph, COMMENTS, post=id_of(post), after=after)
        received += await taken(one, 2)
        one.close()
        after = one.cursor
        await comment(graph, bob, post, late)
        await graph.settle()
    one = await subscribe(graph, COMMENTS, post=id_of(post), after=after)

    assert received + await taken(one, 2) == [*"bcdefghijk"]
    assert await one.is_silent()


async def test_what_was_added_before_the_log_ends_is_read_from_the_table(graph, scene, settled_at_once):
    _ada, bob, post = scene
    one = await subscribe(graph, COMMENTS, post=id_of(post))
    await comment(graph, bob, post, "One.")
    await graph.settle()
    await one.take()
    one.close()
    await comment(graph, bob, post, "Two.", "Three.")
    await graph.settle()
    await trim(graph)
    await comment(graph, bob, post, "Four.")
    await graph.settle()

    again = await subscribe(graph, COMMENTS, post=id_of(post), after=one.cursor)

    assert await taken(again, 3) == ["Two.", "Three.", "Four."]
    assert await again.is_silent()
    assert again.stream._table is None


async def test_a_client_that_is_too_far_behind_is_told_to_subscribe_again(graph, scene, monkeypatch):
    monkeypatch.setattr(channel, "CHANGES_KEPT", 1)
    monkeypatch.setattr(log, "GAPS_CLOSE", timedelta(0))
    _ada, bob, post = scene
    one = await subscribe(graph, COMMENTS, post=id_of(post))
    assert await one.is_silent()
    one.stop_reading()
    await comment(graph, bob, post, "One.", "Two.")
    await graph.settle()
    await trim(graph)
    await comment(graph, bob, post, "Three.")
    await graph.settle()

    with pytest.raises(subscriber.BadRequest, match="subscribe again with your last `cursor`"):
        await one.take()


async def test_a_slow_client_reads_the_log(graph, scene, monkeypatch):
    monkeypatch.setattr(channel, "CHANGES_KEPT", 2)
    monkeypatch.setattr(subscriber, "AT_ONCE", 3)
    _ada, bob, post = scene
    one = await subscribe(graph, COMMENTS, post=id_of(post))
    assert await one.is_silent()
    for content in "abcdefgh":
        await comment(graph, bob, post, content)
        await graph.settle()

    assert len(one.stream.channel.noted) == 2
    assert await taken(one, 8) == [*"abcdefgh"]
    assert await one.is_silent()


async def test_a_commit_that_is_late_is_sent_when_it_is_committed(graph, scene):
    """Its sort key, the time at which its server began, is before that of a comment that was committed first."""
    _ada, bob, post = scene
    one = await subscribe(graph, COMMENTS, post=id_of(post))
    await comment(graph, bob, post, "In time.")
    await graph.settle()
    earlier = as_time(datetime.now(UTC) - timedelta(seconds=30))
    times = {"created_at": earlier, "updated_at": earlier}
    late = Comment(post_id=post.post_id, comment_id="late", user_id=bob.user_id, content="Late.", **times)
    assert await taken(one, 1) == ["In time."]
    one.close()
    await graph.table.write(Put(late, when=absent()))
    await graph.settle()

    again = await subscribe(graph, COMMENTS, post=id_of(post), after=one.cursor)

    assert [*await listed(graph, post)] == ["Late.", "In time."]
    assert await taken(again, 1) == ["Late."]
    assert await again.is_silent()


async def test_two_servers_have_the_same_positions(graph, scene, endpoint, settings):
    _ada, bob, post = scene
    one = await subscribe(graph, COMMENTS, post=id_of(post))
    async with services_at(endpoint, settings) as services:
        other = Graph(services)
        there = await subscribe(other, COMMENTS, post=id_of(post))
        following = [
            asyncio.create_task(each.run()) for each in (*services.changes.tails, *graph.services.changes.tails)
        ]
        await comment(graph, bob, post, "Here.")
        await comment(other, bob, post, "There.")
        await graph.settle()
        assert await taken(one, 2) == await taken(there, 2) == ["Here.", "There."]
        assert one.cursor == there.cursor

        await comment(other, bob, post, "More.")
        await graph.settle()
        again = await subscribe(other, COMMENTS, post=id_of(post), after=one.cursor)
        assert await taken(again, 1) == ["More."]
        for each in following:
            each.cancel()
        for each in (again, there):
            each.close()


async def test_a_server_that_is_behind_waits_for_the_position_of_a_client(graph, scene, endpoint, settings):
    _ada, bob, post = scene
    async with services_at(endpoint, settings) as services:
        behind = Graph(services)
        early = await subscribe(behind, COMMENTS, post=id_of(post))
        one = await subscribe(graph, COMMENTS, post=id_of(post))
        await comment(graph, bob, post, "One.")
        await graph.settle()
        assert await taken(one, 1) == ["One."]

        again = await subscribe(behind, COMMENTS, post=id_of(post), after=one.cursor)
        coming = asyncio.ensure_future(again.take())
        following = asyncio.create_task(services.changes.tails[0].run())
        assert await taken(early, 1) == ["One."]
        await comment(graph, bob, post, "Two.")
        await graph.settle()

        assert await coming == {"content": "Two."}
        following.cancel()
        for each in (again, early):
            each.close()


async def test_a_log_of_several_partitions_loses_nothing(endpoint, settings):
    settings = settings.model_copy(update={"change_partitions": 4})
    async with services_at(endpoint, settings) as services:
        graph = Graph(services)
        ada = await graph.add_user("ada")
        one = await subscribe(graph, POSTS)
        captions = [f"{number}" for number in range(12)]
        for place, caption in enumerate(captions):
            await graph.command(CREATE, viewer_of(ada), imageUrl=PICTURE, caption=caption)
            if place % 3 == 2:
                await graph.settle()
        cursors = []
        received = []
        for _ in captions:
            received += await taken(one, 1)
            cursors.append(one.cursor)
        assert sorted(received, key=int) == captions
        assert await one.is_silent()

        for place, cursor in enumerate(cursors, start=1):
            again = await subscribe(graph, POSTS, after=cursor)
            rest = await taken(again, len(captions) - place)
            assert sorted([*received[:place], *rest], key=int) == captions
            assert await again.is_silent()
            again.close()


async def test_another_number_of_partitions_leads_back_to_the_table(graph, scene, endpoint, settings, settled_at_once):
    _ada, bob, post = scene
    one = await subscribe(graph, COMMENTS, post=id_of(post))
    await comment(graph, bob, post, "One.", "Two.")
    await graph.settle()
    await one.take()
    async with services_at(endpoint, settings.model_copy(update={"change_partitions": 2})) as services:
        again = await subscribe(Graph(services), COMMENTS, post=id_of(post), after=one.cursor)

        assert await taken(again, 1) == ["Two."]
        assert await again.is_silent()
        again.close()


async def test_an_edit_is_no_addition_and_what_is_removed_is_skipped(graph, scene):
    _ada, bob, post = scene
    one = await subscribe(graph, COMMENTS, post=id_of(post))
    first, second, _third = await comment(graph, bob, post, "One.", "Two.", "Three.")
    await graph.command(UPDATE_COMMENT, viewer_of(bob), commentId=first, content="Edited.")
    await graph.command(DELETE_COMMENT, viewer_of(bob), commentId=second)
    await graph.settle()

    assert await taken(one, 2) == ["Edited.", "Three."]
    await graph.command(UPDATE_COMMENT, viewer_of(bob), commentId=first, content="Again.")
    assert await one.is_silent()


async def test_a_draft_that_is_published_is_added(graph, website):
    await website.tenant()
    one = await subscribe(graph, "subscription { contentAdded { cursor node { title } } }", VISITOR)
    made = (await graph.command(CONTENT, EDITOR, title="Draft"))["content"]
    assert await one.is_silent()

    for version, status in enumerate(("PUBLISHED", "DRAFT", "PUBLISHED"), start=1):
        given = {"contentId": made["id"], "expectedVersion": version, "status": status}
        await graph.command(UPDATE_CONTENT, EDITOR, **given)
        await graph.settle()
        if status == "PUBLISHED":
            assert await taken(one, 1) == ["Draft"]
    assert await one.is_silent()


async def test_a_list_that_is_not_by_time_is_resumed_by_the_times_of_its_records(graph, town: Town, settled_at_once):
    query = """subscription ($id: ID!, $after: String) {
      memberAdded(neighborhoodId: $id, after: $after) { cursor node { user { username } } } }"""
    people = [await town.person(name) for name in ("zoe", "ada", "bob", "cyd")]
    place = await town.neighborhood(people[0])
    await graph.settle()
    one = await subscribe(graph, query, id=id_of(place))
    for person in people[1:]:
        await graph.command(JOIN, viewer_of(person), neighborhoodId=id_of(place))
        await graph.settle()
    await one.take()
    one.close()
    await trim(graph)

    again = await subscribe(graph, query, id=id_of(place), after=one.cursor)
    assert [node["user"]["username"] for node in await again.takes(2)] == ["bob", "cyd"]
    assert await again.is_silent()

    asked = """query ($id: ID!) { neighborhood(by: {id: $id}) {
      members { edges { cursor node { user { username } } } } } }"""
    edges = (await graph.ask(asked, id=id_of(place))).data["neighborhood"]["members"]["edges"]
    of_bob = next(edge["cursor"] for edge in edges if edge["node"]["user"]["username"] == "bob")
    third = await subscribe(graph, query, id=id_of(place), after=of_bob)
    assert [node["user"]["username"] for node in await third.takes(1)] == ["cyd"]
    assert await third.is_silent()


async def test_a_list_that_is_not_by_time_and_long_is_refused(graph, town: Town, settled_at_once, monkeypatch):
    monkeypatch.setattr(resuming, "MOST_RECORDS", 1)
    query = "subscription ($id: ID!, $after: String) { memberAdded(neighborhoodId: $id, after: $after) { cursor } }"
    people = [await town.person(name) for name in ("zoe", "ada")]
    place = await town.neighborhood(people[0])
    await town.member(people[1], place)
    asked = "query ($id: ID!) { neighborhood(by: {id: $id}) { members(first: 1) { pageInfo { endCursor } } } }"
    page = (await graph.ask(asked, id=id_of(place))).data["neighborhood"]["members"]["pageInfo"]

    one = await subscribe(graph, query, id=id_of(place), after=page["endCursor"])
    result = await one.result()

    assert result["errors"][0]["message"] == resuming.TOO_MANY
    assert await one.result() is None


async def test_the_record_of_a_cursor_may_be_gone(graph, scene, town: Town):
    query = "subscription ($id: ID!, $after: String) { memberAdded(neighborhoodId: $id, after: $after) { cursor } }"
    zoe = await town.person("zoe")
    place = await town.neighborhood(zoe)
    asked = "query ($id: ID!) { neighborhood(by: {id: $id}) { members(first: 1) { pageInfo { endCursor } } } }"
    page = (await graph.ask(asked, id=id_of(place))).data["neighborhood"]["members"]["pageInfo"]
    key = Membership.key(neighborhood_id=place.neighborhood_id, user_id=zoe.user_id)
    await graph.table.delete(key)

    assert await refusal(graph, query, id=id_of(place), after=page["endCursor"]) == ("INVALID", resuming.GONE)


async def test_a_put_that_is_repeated_is_sent_once(graph, scene):
    _ada, bob, post = scene
    one = await subscribe(graph, COMMENTS, post=id_of(post))
    made = Comment(post_id=post.post_id, comment_id="once", user_id=bob.user_id, content="Once.")
    for _ in range(2):
        await graph.table.put(made)
        await graph.settle()
    old = replace(made, comment_id="old", created_at=as_time(datetime.now(UTC) - timedelta(hours=2)), updated_at=now())
    await graph.table.put(old)

    assert await taken(one, 1) == ["Once."]
    assert await one.is_silent()


async def test_posts_that_are_hidden_and_restored_are_added_again(graph, scene):
    ada, _bob, _post = scene
    one = await subscribe(graph, POSTS)
    post = Post(post_id="back", user_id=ada.user_id, image_url=PICTURE, caption="Back.", feed_shard=0)
    await graph.table.write(Put(post, when=absent()))
    away = replace(post, feed_shard=None)
    await graph.table.write(Update.of(post, away))
    await graph.settle()
    assert await one.is_silent()

    await graph.table.write(Update.of(away, post))
    await graph.settle()
    assert await taken(one, 1) == ["Back."]
