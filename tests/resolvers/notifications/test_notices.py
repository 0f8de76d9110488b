"""The mechanism of notifications: exact under repetition and races."""

import asyncio

from datastore.changes.change import Change, What
from datastore.model.times import now
from datastore.social import Follow, Like
from loaders.request import Loaders
from loaders.viewer import ANONYMOUS
from resolvers.social.notices import NOTICES
from tests.support.graph import id_of, viewer_of
from tests.support.notifications import groups, sources, stored, texts
from tests.support.social import FOLLOW, LIKE, UNLIKE


async def test_a_hundred_likers_at_once_are_counted_exactly(graph, society):
    ada = await society.person("ada")
    post = await society.post(ada)
    people = [await society.person(f"p{number:03d}") for number in range(100)]

    async def like(person):
        await graph.command(LIKE, viewer_of(person), postId=id_of(post))

    async def settle():
        for _ in range(5):
            await graph.settle()
            await asyncio.sleep(0)

    await asyncio.gather(settle(), *map(like, people))

    (group,) = await groups(graph, ada)
    assert group["count"] == 100
    assert group["text"].endswith("and 99 others liked your post.")
    assert len(group["latestActors"]) == 5
    assert await stored(graph, ada) == (100, 100)
    assert await sources(graph) == 100

    for person in people[:60]:
        await graph.command(UNLIKE, viewer_of(person), postId=id_of(post))
    (group,) = await groups(graph, ada)
    assert group["count"] == 40
    assert await stored(graph, ada) == (40, 40)


async def test_the_same_changes_again_write_nothing(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    await graph.command(LIKE, viewer_of(bob), postId=id_of(post))
    await graph.settle()
    change = Change(Like.key(post_id=post.post_id, user_id=bob.user_id), What.INSERTED, now())
    load = Loaders(graph.table, ANONYMOUS, consistent=True)

    assert await NOTICES.kept(load, [change, change]) == []
    # Pointer and like, then the post, then the preferences.
    assert load.table.usage.calls == {"GetItem": 4}


async def test_a_batch_is_one_transaction_with_a_group_once(graph, society):
    ada = await society.person("ada")
    post = await society.post(ada)
    people = [await society.person(f"p{number}") for number in range(10)]
    likes = [Like(post_id=post.post_id, user_id=person.user_id) for person in people]
    await graph.table.batch_write(puts=likes)
    load = Loaders(graph.table, ANONYMOUS, consistent=True)

    writes = await NOTICES.kept(load, [Change(like.own_key, What.CHANGED, now()) for like in likes])

    # For each like its pointer and its notification, and one group.
    assert len(writes) == 21
    assert load.table.usage.calls == {"BatchGetItem": 2, "GetItem": 3}


async def test_what_is_over_a_transaction_is_written_in_parts(graph, society):
    people = [await society.person(f"p{number:02d}") for number in range(60)]
    follower = await society.person("ada")
    for person in people:
        await graph.command(FOLLOW, viewer_of(follower), userId=id_of(person))
    changes = await _all_follows(graph, follower)
    load = Loaders(graph.table, ANONYMOUS, consistent=True)

    writes = await NOTICES.kept(load, changes)

    assert 0 < len(writes) <= 90
    await load.write(*writes)
    for person in people:
        assert await stored(graph, person) == (1, 1)


async def _all_follows(graph, follower):
    found = await graph.table.query(Follow.within(follower_id=follower.user_id), limit=100, consistent=True)
    return [Change(follow.own_key, What.INSERTED, now()) for follow in found.records]


async def test_a_deleted_account_is_not_named_and_is_again_once_it_is_restored(graph, society):
    ada, bob, cyd = [await society.person(name) for name in ("ada", "bob", "cyd")]
    post = await society.post(ada)
    for person in (bob, cyd):
        await graph.command(LIKE, viewer_of(person), postId=id_of(post))
    assert await texts(graph, ada) == ["cyd and bob liked your post."]

    delete = "mutation { deleteAccount { problems { code } } }"
    await graph.ask(delete, viewer_of(cyd))
    assert await texts(graph, ada) == ["bob liked your post."]

    await graph.settle(jobs=True)
    assert await stored(graph, ada) == (1, 1)
    assert await texts(graph, ada) == ["bob liked your post."]

    await graph.ask("mutation { restoreAccount { problems { code } } }", viewer_of(cyd))
    await graph.settle(jobs=True)
    assert await texts(graph, ada) == ["cyd and bob liked your post."]
    assert await stored(graph, ada) == (2, 2)


async def test_a_group_of_deleted_accounts_alone_is_hidden_at_once(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    await graph.command(LIKE, viewer_of(bob), postId=id_of(await society.post(ada)))
    await graph.settle()

    await graph.ask("mutation { deleteAccount { problems { code } } }", viewer_of(bob))

    asked = await graph.ask("{ viewer { unreadNotificationCount } }", viewer_of(ada))
    assert asked.data == {"viewer": {"unreadNotificationCount": 0}}
    assert await texts(graph, ada) == []
