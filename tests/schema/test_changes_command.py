"""`heartwood changes`: what an operator sees of processors, and does about what failed."""

import asyncio

from datastore.changes.change import Change, What, encoded
from datastore.changes.records import Checkpoint, DeadLetter
from datastore.model.times import now
from datastore.social import Like
from resolvers.background.processors import PROCESSORS
from tests.conftest import SECRET
from tests.support.command_line import heartwood


def letter(processor: str, place: int = 0) -> DeadLetter:
    change = Change(Like.key(post_id="p", user_id=f"u{place}"), What.REMOVED, now())
    return DeadLetter(
        processor=processor, partition=0, sequence=7, place=place, changes=encoded([change]), error="ValueError('no')"
    )


async def run(graph, endpoint, *arguments):
    return await asyncio.to_thread(
        heartwood, "changes", *arguments, DYNAMODB_ENDPOINT=endpoint, TABLE_NAME=graph.table.name, AUTH_SECRET=SECRET
    )


async def letters(graph) -> list[DeadLetter]:
    return list((await graph.table.query(DeadLetter.within(), limit=10, consistent=True)).records)


async def test_the_lag_of_every_processor_is_listed(graph, endpoint):
    for number in range(3):
        await graph.table.put(Like(post_id="p", user_id=f"u{number}"))
        while await graph.services.changes.outbox.move():
            pass
    for name in PROCESSORS:
        await graph.table.put(Checkpoint(partition=0, processor=name, sequence=3))
    await graph.table.put(Checkpoint(partition=0, processor="former", sequence=1))

    lines = (await run(graph, endpoint, "lag")).stdout.splitlines()

    assert [line.split("  ")[:3] for line in lines if not line.startswith("former")] == [
        [name, "partition 0", "0 batches behind"] for name in sorted(PROCESSORS)
    ]
    (former,) = [line.split("  ") for line in lines if line.startswith("former")]
    assert (former[2], former[-1]) == ("2 batches behind", "no longer a processor of this server")


async def test_dead_letters_are_listed_replayed_and_dropped(graph, endpoint):
    name = sorted(each for each, known in PROCESSORS.items() if Like in known.entities)[0]
    await graph.table.batch_write(puts=[letter(name), letter(name, 1), letter("former")])

    listed = await run(graph, endpoint, "dead")
    replayed = await run(graph, endpoint, "replay", f"{name}-0-7-0")
    refused = await run(graph, endpoint, "replay", "former")
    dropped = await run(graph, endpoint, "drop", "former")
    unknown = await run(graph, endpoint, "replay", "nothing")
    rest = await run(graph, endpoint, "replay", "all")

    assert len(listed.stdout.splitlines()) == 3
    assert f'{name}-0-7-1  ValueError(\'no\')  [["Like","POST#p","LIKE#u1"' in listed.stdout
    assert (replayed.returncode, replayed.stdout) == (0, f"{name}-0-7-0 is done\n")
    assert (refused.returncode, refused.stderr) == (1, "former-0-7-0: no processor has this name; drop it\n")
    assert (dropped.returncode, dropped.stdout) == (0, "former-0-7-0 is dropped\n")
    assert unknown.stderr == "there is no dead change nothing; `heartwood changes dead` lists them\n"
    assert rest.stdout == f"{name}-0-7-1 is done\n"
    assert await letters(graph) == []
