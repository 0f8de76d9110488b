"""Checks a table of many items: the time, the memory, kill -9 in the middle, and random damage that has to be found.

The check runs as a process of its own, as an operator runs it. The table has a social network with all its counts,
guards, ranks and links, so that every item takes part in several rules.
"""

import argparse
import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import orjson

from benchmarks.bulk import filled
from datastore.accounts import Unique, User
from datastore.client.budget import Usage
from datastore.client.local_credentials import LOCAL
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.client.writes import Update
from datastore.local.endpoint import LOCAL_REGION
from datastore.model.entity import Entity
from datastore.model.times import Time
from datastore.social import Comment, Follow, Like, Post
from resolvers.social.ranking import rank_of

TABLE = "check"
SECRET = "of no use outside of this benchmark 7Qx"
# Per user: the user, two guards, four posts with ranks, and the links.
POSTS, LIKES, COMMENTS, FOLLOWS = 4, 5, 2, 7
A_USER = 3 + POSTS * (2 + LIKES + COMMENTS) + FOLLOWS
DAMAGED = 50


def network(people: int) -> Iterator[Entity]:
    """Yields a network in which all counts are right, one user after the other."""
    at = Time("2026-01-01T00:00:00.000Z")
    times: Any = {"created_at": at, "updated_at": at}
    for number in range(people):
        user_id, name = f"u{number}", f"user{number}"
        yield User(
            user_id=user_id,
            username=name,
            email=f"{name}@example.org",
            post_count=POSTS,
            follower_count=FOLLOWS,
            following_count=FOLLOWS,
            **times,
        )
        yield Unique(kind="username", value=name, owner_id=user_id, **times)
        yield Unique(kind="email", value=f"{name}@example.org", owner_id=user_id, **times)
        for step in range(1, FOLLOWS + 1):
            yield Follow(follower_id=user_id, following_id=f"u{(number + step) % people}", **times)
        for place in range(POSTS):
            post = Post(
                post_id=f"p{number}-{place}",
                user_id=user_id,
                image_url="https://example.org/a.jpg",
                caption="A picture of the harbor in the morning, before the boats left.",
                like_count=LIKES,
                comment_count=COMMENTS,
                feed_shard=0,
                **times,
            )
            yield post
            rank = rank_of(post, [])
            assert rank is not None
            yield rank
            for step in range(LIKES):
                yield Like(post_id=post.post_id, user_id=f"u{(number + step) % people}", **times)
            for step in range(COMMENTS):
                yield Comment(
                    post_id=post.post_id,
                    comment_id=f"c{step}",
                    user_id=f"u{(number + step) % people}",
                    content="The light is wonderful.",
                    **times,
                )


async def damage(table: Table, people: int, chance: random.Random) -> None:
    """Makes counts wrong, and deletes guards and posts with everything on them left behind."""
    for number in chance.sample(range(people), DAMAGED):
        user = User.key(user_id=f"u{number}")
        await table.update(Update(user, add={"follower_count": chance.randint(1, 9)}))
        await table.delete(Unique.key(kind="email", value=f"user{number}@example.org"))


def check(endpoint: str, folder: Path, *, killed_after: int | None = None) -> tuple[dict[str, Any] | None, float, int]:
    """Runs the command. Returns its summary, the seconds and the peak memory, or no summary if it was killed."""
    variables = {
        **os.environ,
        "DYNAMODB_ENDPOINT": endpoint,
        "TABLE_NAME": TABLE,
        "AUTH_SECRET": SECRET,
        "DATA_DIR": str(folder),
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",  # pragma: allowlist secret
    }
    command = [sys.executable, "-m", "server", "check", "--json", "--pause=0.5"]
    began = time.monotonic()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, env=variables, stdout=out)
        peak = 0
        while process.poll() is None:
            peak = max(peak, _resident(process.pid))
            if killed_after is not None and _read(folder) >= killed_after:
                process.send_signal(signal.SIGKILL)
                killed_after = None
            time.sleep(0.05)
        seconds = time.monotonic() - began
        if process.returncode == -signal.SIGKILL:
            return None, seconds, peak
        out.seek(0)
        return orjson.loads(out.read().splitlines()[-1])["summary"], seconds, peak


def _resident(pid: int) -> int:
    """Returns the resident memory of a process in bytes."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _read(folder: Path) -> int:
    """Returns how many items the check has read permanently."""
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(f"file:{folder}/check-{TABLE}.sqlite?mode=ro", uri=True)) as db,
    ):
        row = db.execute("SELECT value FROM progress WHERE name = 'positions'").fetchone()
        return int(orjson.loads(row[0])["items"]) if row else 0
    return 0


def told(name: str, summary: dict[str, Any], seconds: float, peak: int) -> None:
    found = sum(kind["found"] for kind in summary["kinds"].values())
    print(
        f"{name}: {summary['items']:,} items in {seconds:,.1f} s, {summary['items'] / seconds:,.0f} a second, "
        f"{summary['readUnits']:,.0f} read units, {peak / 1e6:,.0f} MB at most, {found} found"
    )


async def run(endpoint: str, people: int) -> None:
    connection = Transport(region=LOCAL_REGION, endpoint=endpoint, credentials=LOCAL)
    table = Table(connection, TABLE, Usage.lasting(3_600, is_patient=True))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        summary, seconds, peak = await asyncio.to_thread(check, endpoint, folder)
        assert summary is not None
        told("healthy", summary, seconds, peak)
        assert sum(kind["found"] for kind in summary["kinds"].values()) == 0
        none, before, _ = await asyncio.to_thread(check, endpoint, folder, killed_after=people * A_USER // 2)
        assert none is None
        print(f"killed with SIGKILL after {before:,.1f} s, with {_read(folder):,} items read")
        summary, seconds, peak = await asyncio.to_thread(check, endpoint, folder)
        assert summary is not None
        told("going on", summary, seconds, peak)
        assert summary["items"] == people * A_USER
        await damage(table, people, random.Random(1))
        summary, seconds, peak = await asyncio.to_thread(check, endpoint, folder)
        assert summary is not None
        told("damaged", summary, seconds, peak)
        assert summary["kinds"]["counter"]["found"] == summary["kinds"]["guard"]["found"] == DAMAGED
    await connection.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.check", description=__doc__)
    parser.add_argument("--items", type=int, default=20_000, help="number of items")
    arguments = parser.parse_args()
    people = max(arguments.items // A_USER, DAMAGED)
    with filled({TABLE: network(people)}) as running:
        asyncio.run(run(running.endpoint, people))
    return 0


if __name__ == "__main__":
    sys.exit(main())
