"""Every count equals a recount of what happened, and nothing counts twice."""

from collections import Counter

import pytest

from datastore.analytics import AnalyticsPeriod, CountedObject, Scope, Tally, TopList
from datastore.changes.leases import LeaseLost
from datastore.model.times import epoch_seconds
from datastore.social import Like
from resolvers.accounts.lifecycle import purge_account
from resolvers.analytics.metrics import PLATFORM, RANKED, REMOVED, Metric
from resolvers.background.jobs import queued
from resolvers.background.processing import react
from resolvers.background.processors import PROCESSORS
from tests.resolvers.background.test_jobs import make_due, queue
from tests.support.graph import id_of, mutation, viewer_of
from tests.support.history import History, own
from tests.support.social import COMMENT, CREATE, LIKE, UNLIKE, minute

DAY, HOUR = AnalyticsPeriod
SIGN_UP = mutation("signUp", "user { id }")


@pytest.fixture
async def history(graph, workshop, website, town):
    async def begin(seed: int) -> History:
        people = [await workshop.person(name) for name in ("ada", "bob", "cyd")]
        category = await workshop.category("wood")
        await website.tenant()
        site = await town.site(people[0])
        return History(graph, seed, people, id_of(category), id_of(site))

    return begin


async def stored(graph, scope, subject, period):
    """Returns what was added and removed in all periods together."""
    found = (await graph.table.query(Tally.within(scope=scope, subject=subject, period=period), limit=1_000)).records
    added, taken = Counter(), Counter()
    for tally in found:
        for metric in Metric:
            added[metric] += getattr(tally, metric.value) or 0
            taken[metric] += getattr(tally, REMOVED[metric]) or 0 if metric in REMOVED else 0
    return +added, +taken


async def tops(graph, scope, subject, kind, metric):
    within = TopList.within(scope=scope, subject=subject, kind=kind, metric=metric.value)
    total = Counter()
    for each in (await graph.table.query(within, limit=100)).records:
        total.update(dict(each.counts))
    return total


async def everything_settles(graph):
    await graph.settle(jobs=True)
    while await queue(graph):
        await make_due(graph)
        await graph.settle(jobs=True)


@pytest.mark.parametrize("seed", range(4))
async def test_every_count_of_a_random_history_equals_a_recount(graph, history, seed):
    happened = await history(seed)
    await happened.run(120)
    await everything_settles(graph)
    subjects = {(scope, subject) for scope, subject, _ in happened.added}
    for scope, subject in subjects:
        is_gone = subject in happened.gone
        for period in (DAY, HOUR):
            added, taken = await stored(graph, scope, subject, period)
            wanted = [
                Counter({m: n for (s, o, m), n in all_of.items() if (s, o) == (scope, subject)})
                for all_of in (happened.added, happened.removed)
            ]
            assert [added, taken] == ([Counter(), Counter()] if is_gone else wanted), (scope, subject, period)
    for kind, metrics in RANKED.items():
        owners = (
            [s for s in subjects if s[0] is Scope.TENANT] if kind is Scope.CONTENT else [(Scope.PLATFORM, PLATFORM)]
        )
        for metric in metrics:
            for owner in owners:
                wanted = {o: n for (s, o, m), n in happened.added.items() if (s, m) == (kind, metric)}
                assert await tops(graph, *owner, kind, metric) == wanted


async def test_a_batch_that_was_cut_off_counts_once(graph, history):
    happened = await history(1)
    await happened.run(40)
    flow = graph.services.changes
    while await flow.outbox.move():
        pass
    processor = PROCESSORS["count_activity"]
    first, second = await running(graph), await running(graph)
    batches = await flow.log.read(0, first.sequence, consistent=True)
    # The first is killed before it writes, the second writes, and the third is late.
    some = [change for batch in batches for change in batch.changes if processor.concerns(change)][:10]
    await react(processor, graph.table, graph.services.tools, some)
    for batch in batches:
        await first.take([batch])
    with pytest.raises(LeaseLost):
        await second.take(batches[:1])
    added, _ = await stored(graph, Scope.PLATFORM, PLATFORM, DAY)
    assert added == {m: n for (s, _, m), n in happened.added.items() if s is Scope.PLATFORM}


async def running(graph):
    courses = await graph.services.changes.processing.courses(0)
    return next(course for course in courses if course.processor.name == "count_activity")


async def posted(graph, author, liked_by):
    made = await graph.command(CREATE, viewer_of(author), imageUrl="https://example.org/a.jpg")
    for person in liked_by:
        await graph.command(LIKE, viewer_of(person), postId=made["post"]["id"])
    return made["post"]["id"]


async def test_changes_of_more_items_than_a_transaction_takes_are_counted(graph, society):
    people = [await society.person(f"person{number}") for number in range(24)]
    for person in people:
        await posted(graph, person, [people[0]])
    await graph.settle()
    added, _ = await stored(graph, Scope.PLATFORM, PLATFORM, DAY)
    assert added == {Metric.POSTS: 24, Metric.LIKES: 24}
    assert {person.username: (await stored(graph, Scope.USER, person.user_id, DAY))[0] for person in people} == {
        person.username: {Metric.POSTS: 1, Metric.LIKES: 1} for person in people
    }


async def test_a_like_that_was_taken_back_is_added_and_removed(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post_id = await posted(graph, ada, [bob])
    await graph.command(UNLIKE, viewer_of(bob), postId=post_id)
    await graph.settle()
    assert await stored(graph, Scope.USER, ada.user_id, HOUR) == (
        {Metric.POSTS: 1, Metric.LIKES: 1},
        {Metric.LIKES: 1},
    )


async def test_changes_of_one_item_are_one_write(graph, society):
    """Five likes of two posts of one author."""
    ada = await society.person("ada")
    posts = [await society.post(ada) for _ in range(2)]
    await graph.settle()
    for number in range(5):
        await graph.command(LIKE, viewer_of(await society.person(f"fan{number}")), postId=id_of(posts[number % 2]))
    flow = graph.services.changes
    while await flow.outbox.move():
        pass
    course = await running(graph)
    batches = await flow.log.read(0, course.sequence, consistent=True)
    likes = [change for batch in batches for change in batch.changes if change.entity is Like]
    writes = await react(course.processor, graph.table, graph.services.tools, likes)
    written = Counter((type(write).__name__, write.key.entity.__name__) for write in writes)
    # The day and the hour of each post, of the author and of the platform; the lists of the author and the platform.
    assert written == {("Update", "Tally"): 8, ("Put", "TopList"): 2}


async def test_records_of_a_bulk_load_are_not_new(graph, society):
    ada = await society.person("ada")
    await society.like(ada, await society.post(ada))
    await graph.settle()
    assert await stored(graph, Scope.PLATFORM, PLATFORM, DAY) == ({}, {})


async def test_a_purged_account_takes_its_counts_along(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post_id = await posted(graph, ada, [bob])
    await graph.command(COMMENT, viewer_of(bob), postId=post_id, content="Yes.")
    await graph.settle()
    deleted = (await graph.table.get(ada.own_key, consistent=True)).changed(
        deleted_at=minute(0), expires_at=epoch_seconds(minute(1))
    )
    await graph.table.put(deleted)
    await graph.table.write(queued(purge_account, user_id=ada.user_id))
    await everything_settles(graph)
    assert await stored(graph, Scope.USER, ada.user_id, DAY) == ({}, {})
    assert await tops(graph, Scope.USER, ada.user_id, Scope.POST, Metric.LIKES) == {}
    post_key = CountedObject.key(scope=Scope.POST, subject=own(post_id, "post_id"))
    assert await graph.table.get(post_key, consistent=True) is None
    assert await stored(graph, Scope.PLATFORM, PLATFORM, DAY) == (
        {Metric.POSTS: 1, Metric.LIKES: 1, Metric.COMMENTS: 1},
        {Metric.POSTS: 1, Metric.LIKES: 1, Metric.COMMENTS: 1, Metric.USERS: 1},
    )


async def test_new_accounts_are_counted(graph):
    payload = await graph.command(SIGN_UP, username="ada", email="ada@example.org", password="a long enough password")
    assert payload["problems"] == []
    await graph.settle()
    assert await stored(graph, Scope.PLATFORM, PLATFORM, HOUR) == ({Metric.USERS: 1}, {})
