"""Background jobs: run at least once, in spite of failures."""

import asyncio
import time
from dataclasses import replace

import pytest

from datastore.accounts import User
from datastore.client.errors import Unavailable
from datastore.client.writes import Update
from datastore.jobs import Job
from datastore.model.times import Time, epoch_seconds, now
from datastore.social import Comment, Like, Post
from resolvers.accounts import lifecycle
from resolvers.background import jobs
from resolvers.background.jobs import WORK, Worker, queued
from resolvers.social import jobs as social_jobs
from tests.support.graph import Graph, id_of, viewer_of
from tests.support.social import DELETE, Society, counted

DELETE_ACCOUNT = "mutation { deleteAccount { user { username } problems { message } } }"
RESTORE_ACCOUNT = "mutation { restoreAccount { user { username } problems { message } } }"


@pytest.fixture
def noted(monkeypatch) -> list[str]:
    """A kind of job that records its arguments."""
    done: list[str] = []

    async def note(load, *, text: str) -> None:
        done.append(text)

    monkeypatch.setitem(WORK, "note", note)
    return done


def note(text: str, **fields) -> Job:
    return Job(**{"job_id": text, "due_at": now(), "kind": "note", "subject": {"text": text}, **fields})


async def queue(graph: Graph) -> list[Job]:
    return await graph.jobs()


async def test_a_job_is_done_once_and_gone(graph, noted):
    await graph.table.batch_write(puts=[note("a"), note("b")])

    assert await Worker(graph.table).do_what_is_due() == 2
    assert await Worker(graph.table).do_what_is_due() == 0
    assert sorted(noted) == ["a", "b"]


async def test_a_job_waits_until_it_is_due(graph, noted):
    await graph.table.put(note("later", due_at=Time("2999-01-01T00:00:00.000Z")))

    assert await Worker(graph.table).do_what_is_due() == 0
    assert noted == []


async def test_many_workers_do_a_job_once(graph, noted):
    await graph.table.batch_write(puts=[note(str(number)) for number in range(8)])

    await asyncio.gather(*(Worker(graph.table).do_what_is_due() for _ in range(5)))

    assert sorted(noted) == [str(number) for number in range(8)]


@pytest.fixture
def held(monkeypatch) -> asyncio.Event:
    """A kind of job that ends when it is released."""
    let_go = asyncio.Event()

    async def hold(load) -> None:
        await let_go.wait()

    monkeypatch.setitem(WORK, "hold", hold)
    monkeypatch.setattr(jobs, "SHORT", {"note"})
    return let_go


def hold(number: int) -> Job:
    return Job(job_id=f"hold{number:03d}", due_at=Time("2026-01-01T00:00:00.000Z"), kind="hold", subject={})


async def is_empty(graph: Graph) -> None:
    while await queue(graph):  # noqa: ASYNC110  it is the table that changes
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("long_ones", [1, 30, 250], ids=["one", "more than may run", "more than are looked at"])
async def test_short_jobs_do_not_wait_for_the_end_of_long_ones(graph, noted, held, long_ones):
    await graph.table.batch_write(puts=[hold(number) for number in range(long_ones)])
    working = asyncio.create_task(Worker(graph.table, pause=0.01).run())

    for turn in range(3):
        await graph.table.batch_write(puts=[note(f"{turn} {number}") for number in range(15)])
        while len(noted) < 15 * (turn + 1):  # noqa: ASYNC110  a finished job sends no signal
            await asyncio.sleep(0.01)
    held.set()
    await is_empty(graph)
    working.cancel()
    await asyncio.wait([working])

    assert sorted(noted) == sorted(f"{turn} {number}" for turn in range(3) for number in range(15))


async def test_long_jobs_leave_places_to_short_ones(graph, monkeypatch, held):
    under_way, most = 0, 0

    async def counted(load) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1

    monkeypatch.setitem(WORK, "hold", counted)
    await graph.table.batch_write(puts=[hold(number) for number in range(30)])

    assert await Worker(graph.table).do_what_is_due() == 30
    assert most <= jobs.LONG_JOBS_AT_ONCE < jobs.JOBS_AT_ONCE


async def test_a_server_that_stops_cancels_what_is_under_way_and_another_one_does_it(graph, noted, held, monkeypatch):
    cancelled = asyncio.Event()
    begun = asyncio.Event()

    async def hold_on(load) -> None:
        begun.set()
        try:
            await held.wait()
        finally:
            cancelled.set()

    monkeypatch.setitem(WORK, "hold", hold_on)
    await graph.table.put(hold(1))
    working = asyncio.create_task(Worker(graph.table).run())
    await begun.wait()
    working.cancel()
    await asyncio.wait([working])

    assert cancelled.is_set()
    assert working.cancelled()
    held.set()
    assert await Worker(graph.table).do_what_is_due() == 1


async def make_due(graph: Graph) -> None:
    """Simulates that the time until the next attempt has passed."""
    past = Time("2026-01-01T00:00:00.000Z")
    for job in await queue(graph):
        if job.due_at > past:
            await graph.table.batch_write(deletes=[job.own_key], puts=[replace(job, due_at=past)])


async def test_a_job_that_fails_is_tried_again_later_each_time(graph, noted, monkeypatch):
    async def fails(load, *, text: str) -> None:
        raise Unavailable("the database went away")

    await graph.table.put(note("x"))
    pauses = []
    with monkeypatch.context() as broken:
        broken.setitem(WORK, "note", fails)
        for _ in range(3):
            assert await Worker(graph.table).do_what_is_due() == 0
            (kept,) = await queue(graph)
            pauses.append(round((epoch_seconds(kept.due_at) - time.time()) / 60))
            await make_due(graph)

    assert pauses == [1, 2, 4]
    assert await Worker(graph.table).do_what_is_due() == 1
    assert noted == ["x"]


async def test_a_server_that_died_leaves_a_lease_that_runs_out(graph, noted):
    await graph.table.put(note("x", leased_until=int(time.time()) + 100))
    assert await Worker(graph.table).do_what_is_due() == 0

    (job,) = await queue(graph)
    await graph.table.update(Update(job.own_key, set={"leased_until": int(time.time()) - 1}))

    assert await Worker(graph.table).do_what_is_due() == 1
    assert noted == ["x"]


async def test_jobs_that_fail_stand_in_nobodys_way(graph, noted):
    await graph.table.batch_write(puts=[note(f"bad{n}", kind="unheard of") for n in range(20)])
    await graph.table.put(note("good"))

    for _ in range(3):
        await Worker(graph.table).do_what_is_due()

    assert noted == ["good"]


async def test_a_damaged_job_spoils_only_itself(graph, noted):
    await graph.table.batch_write(puts=[note("a"), note("b")])
    await graph.table.update(Update(note("b", due_at=(await queue(graph))[1].due_at).own_key, remove=["kind"]))

    assert await Worker(graph.table).do_what_is_due() == 1
    assert noted == ["a"]


async def test_clearing_a_post_goes_on_after_a_crash(graph, society, monkeypatch):
    ada = await society.person("ada")
    post = await society.post(ada)
    for number in range(5):
        await society.like(await society.person(f"fan{number}"), post)
        await society.comment(ada, post)
    await graph.command(DELETE, viewer_of(ada), postId=id_of(post))

    async def crash(load, within):
        if within.entity is Comment:
            raise Unavailable("crash")
        await delete_all(load, within)

    delete_all = social_jobs.delete_all
    with monkeypatch.context() as broken:
        broken.setattr(social_jobs, "delete_all", crash)
        assert await Worker(graph.table).do_what_is_due() == 0
    assert (await graph.table.query(Like.within(post_id=post.post_id), limit=10)).records == []
    assert len((await graph.table.query(Comment.within(post_id=post.post_id), limit=10)).records) == 5

    await make_due(graph)
    assert await Worker(graph.table).do_what_is_due() == 1
    assert (await graph.table.query(Comment.within(post_id=post.post_id), limit=10)).records == []
    assert await graph.table.get(post.own_key) is None


async def everything(graph: Graph, society: Society) -> tuple[User, User, Post]:
    """Two users with every kind of relation between them."""
    ada, bob = await society.person("ada"), await society.person("bob")
    posts = {person.username: await society.post(person) for person in (ada, bob)}
    for person in (ada, bob):
        for post in posts.values():
            await society.like(person, post)
            await society.comment(person, post, f"By {person.username}.")
    await society.follow(ada, bob)
    await society.follow(bob, ada)
    return ada, bob, posts["bob"]


WORLD = """{ feed { nodes { author { username } comments { nodes { content } } } }
    user(by: {username: "ada"}) { posts { nodes { id } } } }"""


async def test_deleting_an_account_hides_all_it_made_and_restoring_brings_it_back(graph, society):
    ada, _, _ = await everything(graph, society)
    before = (await graph.ask(WORLD)).data

    await graph.ask(DELETE_ACCOUNT, viewer_of(ada))
    await Worker(graph.table).do_what_is_due()
    hidden = (await graph.ask(WORLD)).data
    await graph.ask(RESTORE_ACCOUNT, viewer_of(ada))
    await Worker(graph.table).do_what_is_due()

    assert hidden == {
        "feed": {"nodes": [{"author": {"username": "bob"}, "comments": {"nodes": [{"content": "By bob."}]}}]},
        "user": None,
    }
    assert (await graph.ask(WORLD)).data == before


async def test_deleting_and_restoring_at_once_ends_as_the_account_does(graph, society):
    ada, _, _ = await everything(graph, society)
    before = (await graph.ask(WORLD)).data
    for command in (DELETE_ACCOUNT, RESTORE_ACCOUNT):
        await graph.ask(command, viewer_of(ada))

    await asyncio.gather(*(Worker(graph.table).do_what_is_due() for _ in range(2)))

    assert (await graph.ask(WORLD)).data == before


async def test_after_its_grace_an_account_is_gone_and_all_counts_are_right(graph, society):
    ada, bob, bobs_post = await everything(graph, society)
    await graph.ask(DELETE_ACCOUNT, viewer_of(ada))
    await Worker(graph.table).do_what_is_due()
    await graph.table.update(Update(ada.own_key, set={"expires_at": 1}))

    await lifecycle.purge_account(graph.context().load, user_id=ada.user_id)

    left = [item for item in await graph.items() if item["entityType"]["S"] != "Job"]
    assert not any("id-ada" in repr(item) for item in left)
    assert (await graph.table.get(bobs_post.own_key)).like_count == 1
    totals = await counted(graph)
    assert totals["says"] == totals["found"]
    stored = await graph.table.get(bob.own_key)
    assert (stored.follower_count, stored.following_count, stored.post_count) == (0, 0, 1)


async def test_an_account_that_was_restored_is_not_purged(graph, society):
    ada, _, _ = await everything(graph, society)
    await graph.ask(DELETE_ACCOUNT, viewer_of(ada))
    await graph.ask(RESTORE_ACCOUNT, viewer_of(ada))

    await lifecycle.purge_account(graph.context().load, user_id=ada.user_id)

    assert await graph.table.get(ada.own_key) is not None
    assert (await counted(graph))["found"]["postCount"] == 2


async def test_the_purge_is_queued_for_the_end_of_the_grace(graph, society):
    ada = await society.person("ada")
    await graph.ask(DELETE_ACCOUNT, viewer_of(ada))

    (purge,) = [job for job in await queue(graph) if job.kind == "purge_account"]
    expires_at = (await graph.table.get(ada.own_key)).expires_at

    assert purge.subject == {"user_id": "id-ada"}
    assert abs(epoch_seconds(purge.due_at) - expires_at) <= 2


def test_a_queued_job_names_its_function():
    write = queued(social_jobs.purge_post, post_id="p1")

    assert (write.record.kind, write.record.subject) == ("purge_post", {"post_id": "p1"})
    assert WORK["purge_post"] is social_jobs.purge_post
