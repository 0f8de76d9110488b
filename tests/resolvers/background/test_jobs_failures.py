"""Dead jobs, jobs of newer servers, and leases that are renewed, lost and released."""

import asyncio
import time
from datetime import timedelta

import orjson
import pytest

from datastore.client.writes import Update
from datastore.jobs import DeadJob, Job
from datastore.model.times import Time, now, time_from_now
from resolvers.background import jobs
from resolvers.background.jobs import MAX_ATTEMPTS, WORK, Worker
from tests.support.command_line import heartwood
from tests.support.fault_proxy import denied
from tests.support.graph import Graph

DONE: list[str] = []


@pytest.fixture(autouse=True)
def kinds(monkeypatch) -> None:
    """`note` records its argument, `fail` fails, `hold` waits until it is canceled."""

    async def note(load, *, text: str) -> None:
        DONE.append(text)

    async def fail(load, **_) -> None:
        raise ValueError("on purpose")

    async def hold(load, **_) -> None:
        DONE.append("held")
        await asyncio.Event().wait()

    DONE.clear()
    for function in (note, fail, hold):
        monkeypatch.setitem(WORK, function.__name__, function)


def job(kind: str, **fields) -> Job:
    return Job(**{"job_id": kind, "due_at": now(), "kind": kind, "subject": {"text": kind}, **fields})


async def queue(graph: Graph) -> list[Job]:
    return await graph.jobs()


async def dead_jobs(graph: Graph) -> list[DeadJob]:
    return list((await graph.table.query(DeadJob.within(), limit=50)).records)


async def until(condition) -> None:
    async with asyncio.timeout(60):
        while not await condition():  # noqa: ASYNC110  it is the table that changes
            await asyncio.sleep(0.01)


async def test_a_job_is_dead_after_its_last_attempt(graph):
    await graph.table.batch_write(puts=[job("fail", attempts=MAX_ATTEMPTS - 1), job("note")])

    assert await Worker(graph.table).do_what_is_due() == 1

    assert await queue(graph) == []
    (dead,) = await dead_jobs(graph)
    assert (dead.job_id, dead.kind, dead.subject, dead.attempts) == ("fail", "fail", {"text": "fail"}, MAX_ATTEMPTS)
    assert dead.error == "ValueError('on purpose')"
    assert DONE == ["note"]


async def test_a_job_that_cannot_be_decoded_is_set_aside_with_its_item(graph):
    await graph.table.batch_write(puts=[job("note"), job("odd")])
    await graph.table.update(Update((await queue(graph))[1].own_key, remove=["kind"]))

    assert await Worker(graph.table).do_what_is_due() == 1

    assert [item for item in await graph.items() if item["entityType"]["S"] == "Job"] == []
    (dead,) = await dead_jobs(graph)
    assert dead.kind is None
    assert orjson.loads(dead.item)["jobId"] == {"S": "odd"}
    assert "is not a Job: KeyError('kind')" in dead.error


@pytest.mark.parametrize("days", [0, 2], ids=["new", "old"])
@pytest.mark.parametrize("newer", ["kind", "version"])
async def test_a_job_of_a_newer_server_is_left_to_it_for_a_day(graph, newer, days):
    due_at = time_from_now(-timedelta(days=days))
    item = job("note" if newer == "version" else "unheard_of", due_at=due_at).encode()
    if newer == "version":
        item["schemaVersion"] = {"N": "99"}
    await graph.table._write_batch([{"PutRequest": {"Item": item}}])

    assert await Worker(graph.table).do_what_is_due() == 0

    left = [item["PK"]["S"] for item in await graph.items()]
    assert left == (["JOBS"] if days == 0 else ["DEADJOBS"])
    assert DONE == []


async def test_poison_does_not_block_the_head_of_the_queue(graph, monkeypatch):
    monkeypatch.setattr(jobs, "LOOKED_AT", 5)
    monkeypatch.setattr(jobs, "PAGES_LOOKED_AT", 2)
    odd = [
        job("note", job_id=f"odd{number:02d}", due_at=time_from_now(-timedelta(hours=1))).encode()
        for number in range(20)
    ]
    await graph.table._write_batch(
        [{"PutRequest": {"Item": {**item, "subject": {"N": "1E+100"}, "kind": {"L": []}}}} for item in odd]
    )
    await graph.table.put(job("note"))

    for _ in range(3):
        await Worker(graph.table).do_what_is_due()

    assert DONE == ["note"]
    assert len(await dead_jobs(graph)) == 20


async def test_a_lease_is_renewed_while_its_job_runs(graph, monkeypatch):
    monkeypatch.setattr(jobs, "RENEWED_EVERY", 0.01)
    clock = time.time()
    await graph.table.put(job("hold"))
    working = asyncio.create_task(Worker(graph.table, clock=lambda: clock).run())

    async def leased_until(moment: float) -> bool:
        return [record.leased_until for record in await queue(graph)] == [int(moment) + jobs.LEASE]

    await until(lambda: leased_until(clock))
    # Two leases later, and no other server has taken it.
    clock += jobs.LEASE - 1
    await until(lambda: leased_until(clock))
    clock += jobs.LEASE - 1
    await until(lambda: leased_until(clock))
    assert await Worker(graph.table, clock=lambda: clock).do_what_is_due() == 0
    working.cancel()
    await asyncio.wait([working])

    assert DONE == ["held"]


async def test_a_worker_that_lost_its_lease_stops(graph, monkeypatch, caplog):
    monkeypatch.setattr(jobs, "RENEWED_EVERY", 0.01)
    await graph.table.put(job("hold"))
    doing = asyncio.create_task(Worker(graph.table).do_what_is_due())
    await until(lambda: asyncio.sleep(0, DONE == ["held"]))
    (held,) = await queue(graph)
    await graph.table.update(Update(held.own_key, set={"leased_by": "another", "leased_until": int(time.time()) + 60}))

    assert await doing == 0

    assert "job hold hold stopped: its lease was lost" in caplog.messages
    (held,) = await queue(graph)
    assert (held.leased_by, held.attempts) == ("another", 0)


async def test_a_worker_stops_when_its_lease_expires_before_it_is_renewed(graph, monkeypatch, caplog):
    monkeypatch.setattr(jobs, "RENEWED_EVERY", 3600)
    monkeypatch.setattr(jobs, "LEASE", 1)
    await graph.table.put(job("hold"))

    async with asyncio.timeout(60):
        assert await Worker(graph.table).do_what_is_due() == 0

    assert "job hold hold stopped: its lease was lost" in caplog.messages


async def test_a_server_that_stops_releases_its_leases(graph):
    await graph.table.put(job("hold"))
    working = asyncio.create_task(Worker(graph.table).run())
    await until(lambda: asyncio.sleep(0, DONE == ["held"]))
    working.cancel()
    await asyncio.wait([working])

    (released,) = await queue(graph)
    assert (released.leased_until, released.leased_by, released.attempts) == (0, None, 0)


async def test_the_job_of_a_dead_server_is_taken_over(graph):
    clock = time.time()
    await graph.table.put(job("note", leased_until=int(clock) + jobs.LEASE, leased_by="a dead server"))

    assert await Worker(graph.table, clock=lambda: clock).do_what_is_due() == 0
    clock += jobs.LEASE + 1
    assert await Worker(graph.table, clock=lambda: clock).do_what_is_due() == 1


async def test_operators_list_retry_and_cancel_dead_jobs(graph, endpoint):
    def command(*arguments: str):
        return heartwood("jobs", *arguments, DYNAMODB_ENDPOINT=endpoint, TABLE_NAME=graph.table.name)

    await graph.table.batch_write(puts=[job("fail", attempts=MAX_ATTEMPTS - 1), job("odd")])
    await graph.table.update(Update((await queue(graph))[1].own_key, remove=["kind"]))
    await Worker(graph.table).do_what_is_due()
    dead = {each.kind: each for each in await dead_jobs(graph)}

    listed, retried, refused, canceled, unknown = await asyncio.to_thread(
        lambda: [
            command("dead"),
            command("retry", "fail"),
            command("retry", dead[None].job_id),
            command("cancel", dead[None].job_id),
            command("cancel", "nothing"),
        ]
    )

    assert len(listed.stdout.splitlines()) == 2
    assert 'fail  fail  {"text":"fail"}  12 attempts  ValueError(\'on purpose\')' in listed.stdout
    assert (retried.returncode, retried.stdout) == (0, "fail is queued again\n")
    assert (refused.returncode, canceled.returncode, unknown.returncode) == (1, 0, 1)
    assert unknown.stderr == "there is no job nothing; `heartwood jobs list` and `dead` show them\n"
    assert [(each.kind, each.attempts) for each in await queue(graph)] == [("fail", 0)]
    assert await dead_jobs(graph) == []


async def test_operators_list_hurry_and_cancel_waiting_jobs(graph, endpoint):
    def command(*arguments: str):
        return heartwood("jobs", *arguments, DYNAMODB_ENDPOINT=endpoint, TABLE_NAME=graph.table.name)

    later = Time("2999-01-01T00:00:00.000Z")
    running = job("running", leased_until=int(time.time()) + 60)
    await graph.table.batch_write(puts=[job("soon", due_at=later), job("never", due_at=later), running])

    listed, hurried, canceled, refused = await asyncio.to_thread(
        lambda: [command("list"), command("retry", "soon"), command("cancel", "never"), command("cancel", "running")]
    )

    lines = listed.stdout.splitlines()
    assert [line.split("  ")[1] for line in lines] == ["running", "never", "soon"]
    assert "running  0 failed" in lines[0]
    assert "waiting  0 failed" in lines[1]
    assert (hurried.stdout, canceled.stdout) == ("soon is queued again\n", "never is canceled\n")
    assert (refused.returncode, refused.stderr) == (
        1,
        "a server runs running now, or has run it; `heartwood jobs list` shows\n",
    )
    left = await queue(graph)
    assert sorted(each.job_id for each in left) == ["running", "soon"]
    assert all(each.due_at < later for each in left)


async def test_an_outage_is_logged_once(faulty_graph, proxy, caplog):
    """Otherwise every server would log it every second."""
    proxy.will("Query", denied)
    running = asyncio.create_task(Worker(faulty_graph.services.table, pause=0.01).run())
    while proxy.seen["Query"] < 5:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.wait([running])

    assert caplog.text.count("jobs have to wait") == 1
