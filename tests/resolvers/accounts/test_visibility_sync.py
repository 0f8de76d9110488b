"""The works of a deleted account are gone at once, out of all counts after the jobs, and back when it is restored.

One world holds a record of every entity that belongs to a user, so a new entity without one fails here.
"""

import asyncio
from typing import Any

import pytest

from datastore.accounts import HiddenAccount, Unique, User
from datastore.cards import CardCounts, CollectionCard
from datastore.client.writes import Update
from datastore.model.entity import REGISTRY, Entity
from datastore.model.keys import Range
from datastore.model.ownership import Nobody, OfUser, PartOf
from datastore.social import Follow, Like
from loaders.pages import read_pages
from loaders.viewer import ANONYMOUS, Viewer
from loaders.visibility import RULES
from resolvers.accounts.lifecycle import match_works_to_account, purge_account
from resolvers.accounts.visibility_sync import Count, Works, add_to, owned, works
from resolvers.background.jobs import Worker
from resolvers.social.post_counters import shard_counters
from tests.resolvers.background.test_jobs import DELETE_ACCOUNT, RESTORE_ACCOUNT
from tests.support.cards import counts_of_card, do_all_jobs
from tests.support.everybodys_works import World
from tests.support.graph import Graph, id_of, viewer_of

BUILDER = Viewer("id-builder", frozenset({"builder"}))
LATER = {"voteChanges", "rankedChanges", "updatedAt"}
"""Attributes that only ever go up."""


def stored_entities() -> list[type[Entity]]:
    return [entity for entity in REGISTRY.values() if entity.__module__.startswith("datastore.")]


def test_every_entity_that_is_nobodys_says_why():
    for entity in stored_entities():
        assert not isinstance(entity.owner, Nobody) or len(entity.owner.reason.split()) >= 4


FEED = {"FeedAuthor", "FeedEntry", "FeedState"}
NOTIFIED = {"Notification", "NotificationGroup", "NotificationPreferences"}


async def test_the_world_has_a_record_of_every_entity_that_belongs_to_a_user(graph):
    world = await World.of(graph)

    there = {type(record) for record in world.records}
    assert {entity for entity, _, _ in owned() if entity in stored_entities()} | {User} == there - parts()


def parts() -> set[type[Entity]]:
    """Entities whose records belong to a user because they are part of what does."""
    return {
        entity
        for entity in stored_entities()
        if isinstance(entity.owner, PartOf) and entity.account_fields and not entity.accounts
    }


async def sees(graph: Graph, record: Entity, viewer: Viewer) -> bool:
    return await graph.context(viewer).load.one(record.own_key) is not None


async def lists(graph: Graph, record: Entity, viewer: Viewer) -> set[str]:
    """The names of the access patterns by which this record is found, as the viewer sees them."""
    found = set()
    for name, index in record.indexes.items():
        try:
            within: Range[Any] = Range(type(record), index.name, index.pk.fill(record.__dict__), "")
        except ValueError:
            continue
        (page,) = await graph.context(viewer).load.run(read_pages([within], 100, viewer_in(graph, viewer)))
        if record.own_key in [node.own_key for node in page.nodes]:
            found.add(name or "table")
    return found


def viewer_in(graph: Graph, viewer: Viewer) -> Viewer:
    return graph.context(viewer).viewer


async def shown(graph: Graph, records: list[Entity]) -> dict[str, set[str]]:
    """By which patterns and by key which records are found, by anyone but their owner."""
    found = {}
    for viewer in (ANONYMOUS, Viewer("id-bob"), BUILDER):
        for record in records:
            ways = await lists(graph, record, viewer) | ({"key"} if await sees(graph, record, viewer) else set())
            if ways:
                found.setdefault(f"{type(record).__name__} {record.own_key.pk} {record.own_key.sk}", set()).update(ways)
    return found


async def test_nothing_of_a_deleted_account_is_seen_before_any_job_has_run(graph):
    world = await World.of(graph)
    before = await shown(graph, world.records)

    await graph.ask(DELETE_ACCOUNT, viewer_of(world.ada))

    kinds = {name.split()[0] for name in before}
    assert {type(record).__name__ for record in world.records} - kinds == NOTIFIED | FEED | {"Webhook"}
    assert await shown(graph, world.records) == {}


async def test_nothing_of_a_deleted_account_is_seen_after_the_jobs_and_all_of_it_once_it_is_restored(graph):
    world = await World.of(graph)
    before = await shown(graph, world.records)
    await graph.ask(DELETE_ACCOUNT, viewer_of(world.ada))
    await do_all_jobs(graph)

    assert await graph.table.get(HiddenAccount.key(user_id="id-ada"), consistent=True) is None
    await graph.services.hidden_accounts.load()
    assert graph.services.hidden_accounts.ids == set()
    # Moderators see who is away; a share is only listed together with its tree or its user, and these are gone.
    left = {name.split()[0] for name in await shown(graph, world.records)}
    assert left == {"Membership", "TreeShare"}

    await graph.ask(RESTORE_ACCOUNT, viewer_of(world.ada))
    await do_all_jobs(graph)
    assert await shown(graph, world.records) == before


@pytest.mark.parametrize("when", ["before the jobs", "after the jobs"])
async def test_an_owner_sees_of_a_deleted_account_what_is_not_marked(graph, when):
    world = await World.of(graph)
    await graph.ask(DELETE_ACCOUNT, viewer_of(world.ada))
    if when == "after the jobs":
        await do_all_jobs(graph)
        await graph.services.hidden_accounts.load()

    own = [record for record in world.records if getattr(record, "user_id", None) == "id-ada"]
    seen = {type(record).__name__ for record in own if await sees(graph, record, viewer_of(world.ada))}

    kept = NOTIFIED | {"User", "Site", "Build", "Tree", "TreeShare", "Person", "Parentage", "Marriage"}
    assert seen == kept | FEED | {"Collection", "Membership", "Webhook"}


NOT_COMPARED = ("Job", "MembershipEvent", "HiddenAccount", "SecurityEvent")


async def contents(graph: Graph) -> dict[tuple[str, str], dict[str, Any]]:
    """Everything but Ada's account, jobs, history and security events, without what only ever goes up.

    Of the terms a card is found by, only the words: they are written again.
    """
    items = await graph.items()
    kept = [item for item in items if item["entityType"]["S"] not in NOT_COMPARED]
    return {
        (item["PK"]["S"], item["SK"]["S"]): item["words"]["M"]
        if "words" in item
        else {name: value for name, value in item.items() if name not in LATER}
        for item in kept
        if (item["PK"]["S"], item["SK"]["S"]) != ("USER#id-ada", "PROFILE") and item["PK"]["S"][:6] != "UNIQUE"
    }


COUNTED = ("Count", "voteScore")


def counts(items: dict[tuple[str, str], dict[str, Any]]) -> dict[tuple[str, str, str], int]:
    return {
        (*key, name): int(value["N"])
        for key, item in items.items()
        for name, value in item.items()
        if name.endswith(COUNTED)
    }


def differences(one: dict[Any, int], other: dict[Any, int]) -> dict[Any, int]:
    return {name: other[name] - one[name] for name in one.keys() & other.keys() if one[name] != other[name]}


def expected(world: World) -> dict[tuple[str, str, str], int]:
    """Changes of counts once Ada is gone. Her own works do not count each other either."""
    bobs = world.bobs
    counted = [
        (bobs.post, ("likeCount", "commentCount")),
        (world.bob, ("followerCount", "followingCount")),
        (CardCounts(card_id=bobs.card.card_id), ("commentCount", "upvoteCount", "voteScore")),
        (bobs.comment, ("upvoteCount", "voteScore")),
        (bobs.collection, ("cardCount",)),
        (CardCounts(card_id=world.adas.card.card_id), ("commentCount",)),
        (world.adas.first_collection, ("cardCount",)),
        (world.adas.collection, ("cardCount",)),
        (world.place, ("memberCount",)),
    ]
    return {(*record.own_key[1:], name): -1 for record, names in counted for name in names}


async def past_its_grace(graph: Graph, user: User) -> None:
    guards = [Unique.key(kind=kind, value=getattr(user, kind)) for kind in ("username", "email")]
    for key in (user.own_key, *guards):
        await graph.table.update(Update(key, set={"expires_at": 1}))


async def test_counts_follow_the_deletion_exactly_and_nothing_else_changes_by_the_purge(graph):
    world = await World.of(graph)
    before = await contents(graph)
    await graph.ask(DELETE_ACCOUNT, viewer_of(world.ada))
    await do_all_jobs(graph)
    hidden = await contents(graph)
    await past_its_grace(graph, world.ada)
    await purge_account(graph.context().load, user_id="id-ada")
    await do_all_jobs(graph)
    purged = await contents(graph)

    assert differences(counts(before), counts(hidden)) == expected(world)
    assert differences(counts(hidden), counts(purged)) == {}
    assert not [key for key, item in purged.items() if "id-ada" in repr(item)]
    link = CollectionCard.key(collection_id=world.bobs.collection.collection_id, card_id=world.adas.card.card_id)
    assert link[1:] not in purged
    kept = [world.bobs.post, world.bobs.card, world.bobs.comment, world.bobs.collection, world.place, world.bob]
    assert {record.own_key[1:] for record in kept} <= purged.keys()


async def test_restoring_brings_everything_back_to_the_last_attribute(graph):
    world = await World.of(graph)
    before = await contents(graph)
    for _ in range(2):
        await graph.ask(DELETE_ACCOUNT, viewer_of(world.ada))
        await do_all_jobs(graph)
        assert await contents(graph) != before
        await graph.ask(RESTORE_ACCOUNT, viewer_of(world.ada))
        await do_all_jobs(graph)

        assert await contents(graph) == before


async def test_deleting_and_restoring_while_jobs_run_ends_as_the_account_does(graph):
    world = await World.of(graph)
    before = await contents(graph)
    for _ in range(3):
        await asyncio.gather(
            Worker(graph.table).do_what_is_due(),
            graph.ask(DELETE_ACCOUNT, viewer_of(world.ada)),
            Worker(graph.table).do_what_is_due(),
        )
        await asyncio.gather(
            Worker(graph.table).do_what_is_due(),
            graph.ask(RESTORE_ACCOUNT, viewer_of(world.ada)),
            Worker(graph.table).do_what_is_due(),
        )
    await do_all_jobs(graph)

    assert await contents(graph) == before


async def test_both_ends_of_a_link_that_go_and_come_back_leave_its_counts_right(graph):
    world = await World.of(graph)
    before = await contents(graph)
    users = [await graph.table.get(user.own_key) for user in (world.ada, world.bob)]
    for user in (world.ada, world.bob):
        await graph.ask(DELETE_ACCOUNT, viewer_of(user))
        await do_all_jobs(graph)
    gone = [await graph.table.get(user.own_key) for user in (world.ada, world.bob)]
    for user in (world.ada, world.bob):
        await graph.ask(RESTORE_ACCOUNT, viewer_of(user))
        await do_all_jobs(graph)
    back = [await graph.table.get(user.own_key) for user in (world.ada, world.bob)]

    assert [(user.follower_count, user.following_count) for user in gone] == [(0, 0), (0, 0)]
    assert [(user.follower_count, user.following_count) for user in back] == [
        (user.follower_count, user.following_count) for user in users
    ]
    bob = ("USER#id-bob", "PROFILE")
    assert {key: item for key, item in (await contents(graph)).items() if key != bob} == {
        key: item for key, item in before.items() if key != bob
    }


UNLIKE = "mutation ($input: UnlikePostInput!) { unlikePost(input: $input) { post { likeCount } problems { code } } }"
UNFOLLOW = "mutation ($input: UnfollowUserInput!) { unfollowUser(input: $input) { user { id } problems { code } } }"
VOTE = "mutation ($input: VoteInput!) { vote(input: $input) { card { voteScore } problems { code } } }"
REMOVE = """mutation ($input: RemoveFromCollectionInput!) {
    removeFromCollection(input: $input) { collection { cardCount } problems { code } } }"""


async def half_restored(graph: Graph, world: World) -> None:
    """The account is open again, and no job has got to its works yet."""
    await graph.ask(DELETE_ACCOUNT, viewer_of(world.ada))
    await do_all_jobs(graph)
    await graph.ask(RESTORE_ACCOUNT, viewer_of(world.ada))


async def test_what_is_taken_back_while_an_account_is_restored_is_not_counted_twice(graph):
    world = await World.of(graph)
    await half_restored(graph, world)
    ada, bob = viewer_of(world.ada), viewer_of(world.bob)

    payloads = [
        await graph.command(UNLIKE, ada, postId=id_of(world.bobs.post)),
        await graph.command(UNFOLLOW, ada, userId=id_of(world.bob)),
        await graph.command(UNFOLLOW, bob, userId=id_of(world.ada)),
        await graph.command(VOTE, ada, targetId=id_of(world.bobs.card), ballot="DOWN"),
        await graph.command(REMOVE, bob, collectionId=id_of(world.bobs.collection), cardId=id_of(world.adas.card)),
    ]
    await do_all_jobs(graph)

    assert [payload["problems"] for payload in payloads] == [[]] * 5
    post, collection = [await graph.table.get(each.own_key) for each in (world.bobs.post, world.bobs.collection)]
    card = await counts_of_card(graph, world.bobs.card)
    assert (post.like_count, card.vote_score, card.downvote_count, collection.card_count) == (0, -1, 1, 1)
    for user in (world.ada, world.bob):
        stored = await graph.table.get(user.own_key)
        assert (stored.follower_count, stored.following_count) == (0, 0)
    assert await graph.table.get(Like.key(post_id=world.bobs.post.post_id, user_id="id-ada")) is None
    assert await graph.table.get(Follow.key(follower_id="id-bob", following_id="id-ada")) is None


async def test_a_vote_that_is_withdrawn_while_an_account_is_restored_does_not_come_back(graph):
    world = await World.of(graph)
    await half_restored(graph, world)

    payload = await graph.command(VOTE, viewer_of(world.ada), targetId=id_of(world.bobs.card), ballot="WITHDRAW")
    await do_all_jobs(graph)

    assert payload == {"card": {"voteScore": 0}, "problems": []}
    card = await counts_of_card(graph, world.bobs.card)
    assert (card.vote_score, card.upvote_count) == (0, 0)


async def test_the_end_of_an_earlier_deletion_does_not_end_a_later_one(graph):
    world = await World.of(graph)
    await graph.ask(DELETE_ACCOUNT, viewer_of(world.ada))
    first = (await graph.table.get(world.ada.own_key, consistent=True)).deleted_at
    await graph.ask(RESTORE_ACCOUNT, viewer_of(world.ada))
    await graph.ask(DELETE_ACCOUNT, viewer_of(world.ada))

    await match_works_to_account(graph.context().load, user_id="id-ada", ends=first)

    hidden = await graph.table.get(HiddenAccount.key(user_id="id-ada"), consistent=True)
    assert hidden.deleted_at == (await graph.table.get(world.ada.own_key, consistent=True)).deleted_at != first


def test_a_count_without_a_mark_stops_the_import():
    with pytest.raises(TypeError) as refused:
        works(HiddenAccount, Works(counts={"hidden_at": Count(lambda record: record.own_key, add_to("x"))}))

    assert str(refused.value) == "HiddenAccount has no owner with the mark hidden_at: add owner=user(…, mark=…)"


def test_every_entity_with_a_mark_is_hidden_by_it():
    marked = [entity for entity, account, _ in owned() if isinstance(account, OfUser) and account.mark]
    assert marked
    assert all(entity in RULES for entity in marked)


LIKE = "mutation ($input: LikePostInput!) { likePost(input: $input) { problems { code } } }"
LIKES = "query ($id: ID!) { post(by: {id: $id}) { likeCount likes { nodes { username } } } }"


async def test_likes_that_are_counted_in_shards_leave_the_count_and_come_back(graph, society):
    author, fans = await society.person("author"), [await society.person(f"fan{number}") for number in range(4)]
    post = await society.post(author)
    await society.like(fans[0], post)
    await shard_counters(graph.context().load, post)
    for fan in fans[1:]:
        await graph.command(LIKE, viewer_of(fan), postId=id_of(post))

    counted = []
    for command in (DELETE_ACCOUNT, RESTORE_ACCOUNT):
        for fan in fans[:2]:
            await graph.ask(command, viewer_of(fan))
        await do_all_jobs(graph)
        asked = (await graph.ask(LIKES, id=id_of(post))).data["post"]
        counted.append((asked["likeCount"], len(asked["likes"]["nodes"])))

    assert counted == [(2, 2), (4, 4)]


async def test_counts_are_exact_when_accounts_go_and_come_while_they_like_and_unlike(graph, society):
    author, fans = await society.person("author"), [await society.person(f"fan{number}") for number in range(6)]
    post = await society.post(author)

    async def restless(fan: User, turns: int) -> None:
        for turn in range(turns):
            await graph.ask(LIKE if turn % 2 else UNLIKE, viewer_of(fan), input={"postId": id_of(post)})

    async def comes_and_goes(fan: User) -> None:
        for command in (DELETE_ACCOUNT, RESTORE_ACCOUNT) * 2:
            await graph.ask(command, viewer_of(fan))
            await Worker(graph.table).do_what_is_due()

    await asyncio.gather(*(restless(fan, 8) for fan in fans), *map(comes_and_goes, fans[:3]))
    await do_all_jobs(graph)

    stored = await graph.table.get(post.own_key, consistent=True)
    likes = (await graph.table.query(Like.within(post_id=post.post_id), limit=10, consistent=True)).records
    assert [like.hidden_at for like in likes] == [None] * len(likes)
    asked = (await graph.ask(LIKES, id=id_of(post))).data["post"]
    assert asked["likeCount"] == len(asked["likes"]["nodes"]) == len(likes)
    assert stored.counter_shards or stored.like_count == len(likes)
