"""Servers that read a simulated stream: they stall, fail and die."""

import asyncio
import contextlib
import random

import orjson
from botocore.exceptions import EndpointConnectionError

from datastore.changes.change import decoded
from datastore.changes.leases import Leases
from datastore.changes.log import ChangeLog
from datastore.changes.records import ChangeBatch
from datastore.changes.shard_reader import Timing
from datastore.changes.stream_source import StreamSource
from datastore.client.budget import Usage
from datastore.client.errors import Conflict, Throttled, Unavailable
from datastore.client.table import Table
from datastore.client.write_pause import WritePause
from datastore.model.codec import plain
from datastore.model.entity import REGISTRY, Entity, decode, field
from datastore.model.ownership import nobody
from datastore.model.patterns import gsi1
from tests.datastore.simulated.clock import Pool, VirtualLoop
from tests.datastore.simulated.dynamodb import SimulatedTable
from tests.datastore.simulated.streams import SimulatedStream, refused

PARTITIONS = 2
LATENCY = 0.01
LONGEST_LATENCY = 20.0
LATEST_WRITE = 40.0
WRITES = ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")
STREAM_ERRORS = (
    lambda: refused("LimitExceededException"),
    lambda: refused("ProvisionedThroughputExceededException"),
    lambda: refused("InternalServerError"),
    lambda: EndpointConnectionError(endpoint_url="simulated"),
)


class Sample(Entity, pk="SAMPLE#{sample_id}", sk="SAMPLE", owner=nobody("it is for tests")):
    """An item whose index key tells how often it was written."""

    by_version = gsi1("SAMPLES", "{version:06d}")

    sample_id: str = field("Its ID.")
    version: int = field("How often it was written.")


SAMPLES = {"Sample": REGISTRY.pop("Sample")}


class World:
    """The table, its stream and the servers, on one virtual clock. `fault_rate` is the share of calls that fail."""

    def __init__(self, seed=0, *, retention=86_400.0, iterators_last=900.0, timing=None):
        self.random = random.Random(seed)
        self.loop = VirtualLoop()
        self.clock = self.loop.clock
        self.timing = timing or Timing(longest_pause=4.0, retention=retention)
        self.stream = SimulatedStream(self.clock, retention, iterators_last)
        self.stream.faults = lambda: self.chance() and self.random.choice(STREAM_ERRORS)()
        self.stream.hides = lambda shard: shard.closed_at is not None and self.chance()
        self.stream.most = lambda: self.random.choice((0, 1, 3, 1000)) if self.chance() else 1000
        self.dynamodb = SimulatedTable(self.stream.arn, self.stream.write)
        self.fault_rate = 0.0
        self.versions = {}
        self.servers = []

    def chance(self):
        return self.random.random() < self.fault_rate

    def start(self):
        self.servers.append(Server(self))
        return self.servers[-1]

    @property
    def alive(self):
        return [server for server in self.servers if server.is_alive]

    def pass_time(self, seconds):
        """Lets servers run. Nothing happens in the remaining time."""
        self.loop.run_until_complete(asyncio.sleep(seconds))

    def write(self, sample_id):
        self.versions[sample_id] = version = self.versions.get(sample_id, 0) + 1
        self.dynamodb.put(Sample(sample_id=sample_id, version=version).encode())

    def logged(self):
        """Returns the versions of each item, in the order of the log."""
        found = {}
        for partition in range(PARTITIONS):
            for item in self.dynamodb.of_partition(f"CHANGES#{partition}"):
                batch = decode(item)
                assert isinstance(batch, ChangeBatch)
                for change in decoded(batch.changes):
                    found.setdefault(change.key.values["sample_id"], []).append(int(change.after["GSI1"][1]))
        return found

    def written(self):
        return {sample_id: [*range(1, last + 1)] for sample_id, last in self.versions.items()}

    def trimmed(self):
        """Returns the versions whose records were removed from the stream."""
        images = [record["dynamodb"].get("NewImage", {}) for record in self.stream.lost]
        return {
            (plain(image["sampleId"]), plain(image["version"]))
            for image in images
            if image.get("entityType") == {"S": "Sample"}
        }

    def writes(self):
        """Returns how many records the stream has got."""
        return sum(len(shard.records) for shard in self.stream.shards.values()) + len(self.stream.lost)

    def close(self):
        for server in self.alive:
            server.kill()
        self.pass_time(LATEST_WRITE + 60)
        self.loop.close()


class Server:
    """A server, as far as it reads the stream. It is its own transport."""

    def __init__(self, world):
        self.world = world
        self.write_pause = WritePause()
        self.is_alive = True
        self.stalled_until = 0.0
        table = Table(self, "heartwood", Usage.lasting(1e6))
        self.source = StreamSource(
            table,
            Leases(table, world.clock),
            ChangeLog(table, PARTITIONS),
            lambda: world.stream,
            executor=Pool(world.loop, self.latency),
            clock=world.clock,
            timing=world.timing,
        )
        self.task = world.loop.create_task(self.source.run())

    def kill(self):
        """Ends it as `kill -9` does: nothing that it sends from now on arrives."""
        self.is_alive = False
        self.task.cancel()

    def stall(self, seconds):
        """Delays everything that it does, as a machine without memory would."""
        self.stalled_until = self.world.loop.time() + seconds

    def latency(self):
        stalled = max(0.0, self.stalled_until - self.world.loop.time())
        longest = LONGEST_LATENCY if self.world.chance() else LATENCY
        return stalled + longest * self.world.random.random()

    async def call(self, operation, request, usage):
        """Takes the place of Transport.call."""
        # What is sent is text.
        request = orjson.loads(orjson.dumps(request))
        await asyncio.sleep(self.latency())
        if not self.is_alive:
            raise Unavailable("the server is dead")
        fault = self.world.random.choice(("refused", "lost", "answer", "late")) if self.world.chance() else None
        if fault == "refused":
            raise Throttled(operation)
        if fault == "lost":
            raise Unavailable(operation, may_have_applied=True)
        if fault == "late" and operation in WRITES:
            delay = LATEST_WRITE * self.world.random.random()
            self.world.loop.call_later(delay, self._arrive, operation, request)
            raise Unavailable(operation, may_have_applied=True)
        answer = self.world.dynamodb.call(operation, request)
        if fault == "answer":
            raise Unavailable(operation, may_have_applied=True)
        await asyncio.sleep(self.latency())
        if not self.is_alive:
            raise Unavailable("the server is dead")
        return answer

    def _arrive(self, operation, request):
        with contextlib.suppress(Conflict):
            self.world.dynamodb.call(operation, request)
