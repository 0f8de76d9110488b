"""`heartwood check`: its output, exit codes, dry run, and going on after kill -9."""

import asyncio
import contextlib
import signal
import sqlite3
import sys

import orjson

from datastore.social import Like, Post
from tests.conftest import SECRET
from tests.resolvers.maintenance.corruption import whole_world
from tests.support.command_line import heartwood
from tests.support.serving import environment


async def run(graph, endpoint, tmp_path, *arguments):
    return await asyncio.to_thread(
        heartwood,
        "check",
        "--pause=0",
        *arguments,
        DYNAMODB_ENDPOINT=endpoint,
        TABLE_NAME=graph.table.name,
        AUTH_SECRET=SECRET,
        DATA_DIR=str(tmp_path),
    )


def lines(done):
    return [orjson.loads(line) for line in done.stdout.splitlines()]


async def test_a_healthy_table_exits_with_0(graph, endpoint, tmp_path):
    await whole_world(graph)
    done = await run(graph, endpoint, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0 found, 0 repaired" in done.stdout
    assert [*tmp_path.iterdir()] == []


async def test_findings_exit_with_1_until_they_are_repaired(graph, endpoint, tmp_path):
    vandal = await whole_world(graph)
    post = await vandal.one(Post)
    await vandal.put(post.changed(like_count=post.like_count + 2, updated_at=post.updated_at))
    finding = {
        "kind": "counter",
        "pk": post.own_key.pk,
        "sk": "METADATA",
        "state": "confirmed",
        "what": f"Post.like_count is {post.like_count + 2}, but there are {post.like_count}",
        "repair": f"update Post {post.own_key.pk} / METADATA: like_count -2",
        "advice": None,
    }

    found = await run(graph, endpoint, tmp_path, "--json")
    dry = await run(graph, endpoint, tmp_path, "--repair", "--dry-run")
    again = await run(graph, endpoint, tmp_path, "--json")
    repaired = await run(graph, endpoint, tmp_path, "--repair", "--json")
    clean = await run(graph, endpoint, tmp_path, "--json")

    counters = [each for each in lines(found) if each.get("kind") == "counter"]
    assert (found.returncode, counters) == (1, [finding])
    assert dry.returncode == 1
    assert f"(repair: {finding['repair']})" in dry.stdout
    assert [each for each in lines(again) if each.get("kind") == "counter"] == [finding]
    assert repaired.returncode == 0
    assert finding | {"state": "repaired"} in lines(repaired)
    assert lines(repaired)[-1]["summary"]["repaired"] == len(lines(repaired)) - 1
    assert (clean.returncode, len(lines(clean))) == (0, 1)


async def test_a_dry_run_belongs_to_a_repair(graph, endpoint, tmp_path):
    done = await run(graph, endpoint, tmp_path, "--dry-run")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "--dry-run belongs to --repair; without both, nothing is ever changed\n"


async def test_a_file_of_something_else_is_refused(graph, endpoint, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("These are my notes.\n" * 100)
    done = await run(graph, endpoint, tmp_path, f"--work-file={path}")
    assert done.returncode == 2
    assert f"{path} is not a work file" in done.stderr
    assert path.read_text().startswith("These are my notes.")


async def test_a_check_goes_on_after_kill_9(graph, endpoint, tmp_path):
    vandal = await whole_world(graph)
    lost = Like(post_id="gone", user_id=(await vandal.one(Like)).user_id)
    await vandal.put(lost)
    total = len([item async for item in vandal.items()])
    path = tmp_path / f"check-{graph.table.name}.sqlite"
    process = await begin(graph, endpoint, tmp_path, "--rate=4", "--segments=1")
    while process.returncode is None and _read(path) < 100:  # noqa: ASYNC110  a file of another process
        await asyncio.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    assert await process.wait() == -signal.SIGKILL
    assert 100 <= _read(path) < total

    process = await begin(graph, endpoint, tmp_path, "--json")
    out, err = await process.communicate()

    assert "going on with the check" in err.decode().replace("\n", " ")
    *found, last = [orjson.loads(line) for line in out.splitlines()]
    assert [(each["kind"], each["pk"], each["sk"]) for each in found] == [("orphan", *lost.own_key[1:])]
    assert last["summary"]["items"] == total
    assert not path.exists()


async def begin(graph, endpoint, tmp_path, *arguments):
    """Starts the command as a process of its own."""
    variables = environment(
        DYNAMODB_ENDPOINT=endpoint, TABLE_NAME=graph.table.name, AUTH_SECRET=SECRET, DATA_DIR=str(tmp_path)
    )
    pipes = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.PIPE}
    command = [sys.executable, "-m", "server", "check", "--pause=0", *arguments]
    return await asyncio.create_subprocess_exec(*command, env=variables, **pipes)


def _read(path) -> int:
    """Returns the number of items whose notes are in the file permanently."""
    with (
        contextlib.suppress(sqlite3.Error),
        contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db,
    ):
        (stored,) = db.execute("SELECT value FROM progress WHERE name = 'positions'").fetchone() or ("{}",)
        return int(orjson.loads(stored).get("items", 0))
    return 0
