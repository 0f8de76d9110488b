"""Races: accounts, posts and jobs that change during another operation."""

import pytest

from datastore.accounts import Unique
from datastore.client.budget import Usage
from datastore.client.writes import Update
from datastore.model.times import now
from datastore.social import Comment, Like, Post
from resolvers.accounts import lifecycle
from resolvers.background import jobs
from resolvers.background.jobs import Worker, queued
from resolvers.social import comment_commands, post_commands, post_counters
from resolvers.social import jobs as social_jobs
from tests.resolvers.accounts.mutations import SIGN_UP
from tests.resolvers.background.test_jobs import DELETE_ACCOUNT, RESTORE_ACCOUNT, make_due
from tests.resolvers.social.test_faults import in_conflict
from tests.resolvers.social.test_feed_edges import HOME, page_of
from tests.support.fault_proxy import FOR_EVER
from tests.support.graph import Graph, id_of, viewer_of
from tests.support.social import COMMENT, DELETE, DELETE_COMMENT, FOLLOW, LIKE, UNFOLLOW, UPDATE_COMMENT


async def past_its_grace(graph: Graph, user) -> None:
    await graph.ask(DELETE_ACCOUNT, viewer_of(user))
    guards = [Unique.key(kind=kind, value=getattr(user, kind)) for kind in ("username", "email")]
    for key in (user.own_key, *guards):
        await graph.table.update(Update(key, set={"expires_at": 1}))


async def test_a_purge_leaves_a_name_with_its_new_owner(graph, society):
    ada = await society.person("ada")
    await past_its_grace(graph, ada)
    new = {"username": "ada", "email": "new@example.org", "password": "correct horse"}
    assert (await graph.command(SIGN_UP, **new))["problems"] == []

    await lifecycle.purge_account(graph.context().load, user_id=ada.user_id)
    third = await graph.command(SIGN_UP, **{**new, "email": "third@example.org"})

    assert await graph.table.get(ada.own_key) is None
    assert [entry["code"] for entry in third["problems"]] == ["TAKEN"]


@pytest.mark.parametrize(("old", "new"), [("zz-old", "aa-new"), ("aa-old", "zz-new")])
async def test_a_live_account_is_found_beside_an_expired_one_of_its_name(graph, old, new):
    await graph.add_user("ada", user_id=old, deleted_at=now(), expires_at=1)
    live = await graph.add_user("ada", user_id=new)

    asked = await graph.ask('{ user(by: {username: "ada"}) { id } }')

    assert asked.data["user"] == {"id": id_of(live)}


@pytest.mark.parametrize(
    ("module", "command", "given"),
    [(post_commands, LIKE, {}), (comment_commands, COMMENT, {"content": "Hm."})],
    ids=["likePost", "addComment"],
)
async def test_an_account_that_is_deleted_meanwhile_does_nothing_more(
    graph, society, monkeypatch, module, command, given
):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    count = post_counters.count

    async def late(context, *arguments, **counts):
        await graph.ask(DELETE_ACCOUNT, viewer_of(bob))
        return await count(context, *arguments, **counts)

    monkeypatch.setattr(module, "count", late)
    payload = await graph.command(command, viewer_of(bob), postId=id_of(post), **given)

    assert [entry["message"] for entry in payload["problems"]] == ["there is no open account for this token"]
    stored = await graph.table.get(post.own_key)
    assert (stored.like_count, stored.comment_count) == (0, 0)


async def test_a_deleted_account_can_do_nothing(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    comment, own = await society.comment(ada, await society.post(bob)), await society.post(ada)
    await society.follow(ada, bob)
    await graph.ask(DELETE_ACCOUNT, viewer_of(ada))

    payloads = [
        await graph.command(UPDATE_COMMENT, viewer_of(ada), commentId=id_of(comment), content="Edited."),
        await graph.command(DELETE_COMMENT, viewer_of(ada), commentId=id_of(comment)),
        await graph.command(UNFOLLOW, viewer_of(ada), userId=id_of(bob)),
        await graph.command(DELETE, viewer_of(ada), postId=id_of(own)),
    ]

    assert [[entry["message"] for entry in payload["problems"]] for payload in payloads] == [
        ["there is no open account for this token"]
    ] * 4
    assert (await graph.table.get(comment.own_key)).content == "Nice."
    assert (await graph.table.get(bob.own_key)).follower_count == 1


async def test_a_post_whose_counts_are_moving_is_not_deleted_around_them(graph, society, monkeypatch):
    ada = await society.person("ada")
    post = await society.post(ada)
    own_post = post_commands.own_post

    async def then_sharded(context, key):
        found = await own_post(context, key)
        await post_counters.shard_counters(graph.context().load, found)
        return found

    with monkeypatch.context() as racing:
        racing.setattr(post_commands, "own_post", then_sharded)
        first = await graph.command(DELETE, viewer_of(ada), postId=id_of(post))
    second = await graph.command(DELETE, viewer_of(ada), postId=id_of(post))

    assert [entry["code"] for entry in first["problems"]] == ["CONFLICT"]
    assert second["problems"] == []


async def test_a_like_stands_even_if_its_counts_cannot_move(graph, faulty_graph, proxy, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    contention = post_counters.CONTENTION
    proxy.will("TransactWriteItems", in_conflict, contention, when=lambda request: len(request["TransactItems"]) < 10)
    proxy.will("TransactWriteItems", in_conflict, FOR_EVER, when=lambda request: len(request["TransactItems"]) > 10)

    payload = await faulty_graph.command(LIKE, viewer_of(bob), postId=id_of(post))

    assert payload["post"] == {"likeCount": 1, "viewerHasLiked": True}
    assert (await graph.table.get(post.own_key)).counter_shards is None


async def test_comments_are_seen_as_long_as_their_post_is(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    deleted, hidden = await society.post(ada), await society.post(ada)
    comments = [await society.comment(bob, post) for post in (deleted, hidden)]
    await graph.command(DELETE, viewer_of(ada), postId=id_of(deleted))
    await graph.ask(DELETE_ACCOUNT, viewer_of(ada))
    await lifecycle.match_works_to_account(graph.context().load, user_id=ada.user_id)

    asked = await graph.ask(
        """query ($ids: [ID!]!) { nodes(ids: $ids) { id }
            user(by: {username: "bob"}) { comments { nodes { content } } } }""",
        ids=[id_of(comment) for comment in comments],
    )

    assert asked.data == {"nodes": [None, None], "user": {"comments": {"nodes": []}}}


async def test_restoring_does_not_rely_on_what_an_index_has(graph, society, monkeypatch):
    """Here the index still has the post as it was before it was hidden."""
    ada = await society.person("ada")
    post = await society.post(ada)
    await graph.ask(DELETE_ACCOUNT, viewer_of(ada))
    await lifecycle.match_works_to_account(graph.context().load, user_id=ada.user_id)
    await graph.ask(RESTORE_ACCOUNT, viewer_of(ada))
    load = graph.context().load

    async def lagging(within, size):
        yield [post] if within.entity is Post else []

    monkeypatch.setattr(load, "pages", lagging)
    await lifecycle.match_works_to_account(load, user_id=ada.user_id)

    assert (await graph.table.get(post.own_key)).hidden_at is None
    assert len((await graph.ask("{ feed { nodes { id } } }")).data["feed"]["nodes"]) == 1


async def test_a_home_feed_goes_on_when_nobody_is_left_in_it(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    for _ in range(3):
        await society.post(bob)
    await society.follow(ada, bob)
    cursor = page_of((await graph.ask(HOME, viewer_of(ada), first=1)).data)["pageInfo"]["endCursor"]
    await graph.command(UNFOLLOW, viewer_of(ada), userId=id_of(bob))

    assert page_of((await graph.ask(HOME, viewer_of(ada), first=1, after=cursor)).data)["nodes"] == []


async def test_a_home_cursor_is_its_owner_s(graph, society):
    ada, bob, eve = [await society.person(name) for name in ("ada", "bob", "eve")]
    for follower in (ada, bob):
        await society.follow(follower, eve)
    for _ in range(2):
        await society.post(eve)
    cursor = page_of((await graph.ask(HOME, viewer_of(ada), first=1)).data)["pageInfo"]["endCursor"]

    asked = await graph.ask(HOME, viewer_of(bob), first=1, after=cursor)

    assert "is not a cursor of this list" in asked.error["message"]


async def test_many_home_feeds_in_one_query_are_over_the_limit(graph, society):
    ada = await society.person("ada")
    feeds = " ".join(f"f{number}: homeFeed(first: 1) {{ nodes {{ id }} }}" for number in range(20))

    asked = await graph.ask(f"{{ viewer {{ {feeds} }} }}", viewer_of(ada))

    assert asked.error["message"].startswith("viewer costs 20,003 of at most 10,000")
    assert asked.calls == {}


async def test_an_old_account_without_counts_can_follow(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    await graph.table.update(Update(ada.own_key, remove=["following_count"]))

    assert (await graph.command(FOLLOW, viewer_of(ada), userId=id_of(bob)))["problems"] == []
    assert (await graph.table.get(ada.own_key)).following_count == 1


class TimeForCalls(Usage):
    """Time for a few dozen calls, independent of how long a call takes."""

    @property
    def seconds_left(self) -> float:
        return 60.0 if self.calls.total() < 30 else 0.0


@pytest.mark.parametrize("kind", ["likes of a post", "comments of an account"])
async def test_a_long_job_gets_on_however_little_time_it_has(graph, society, monkeypatch, kind):
    ada = await society.person("ada", deleted_at=now())
    post = await society.post(ada)
    if kind == "likes of a post":
        records = [Like(post_id=post.post_id, user_id=f"u{n}") for n in range(1500)]
        job = queued(social_jobs.purge_post, post_id=post.post_id)
    else:
        records = [
            Comment(post_id=post.post_id, comment_id=f"c{n:04d}", user_id=ada.user_id, content="x") for n in range(100)
        ]
        job = queued(lifecycle.match_works_to_account, user_id=ada.user_id)
    await graph.table.batch_write(puts=records)
    await graph.table.write(job)
    monkeypatch.setattr(jobs, "Usage", TimeForCalls)

    rounds = 1
    while not await Worker(graph.table).do_what_is_due():
        await make_due(graph)
        rounds += 1

    assert rounds > 2
    if kind == "likes of a post":
        assert (await graph.table.query(Like.within(post_id=post.post_id), limit=10)).records == []
    else:
        shown = await graph.table.query(Comment.within(post_id=post.post_id), limit=200)
        assert len(shown.records) == 100
        assert all(comment.hidden_at for comment in shown.records)
