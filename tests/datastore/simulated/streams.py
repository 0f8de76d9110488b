"""DynamoDB Streams in memory, behind the interface of boto3's client: shards split and roll over, records expire."""

from datetime import UTC, datetime
from zlib import crc32

from botocore.exceptions import ClientError

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/heartwood/stream/2027-01-15T08:00:00.000"
WHOLE = 2**32
PAGE = 2


def refused(code, operation="GetRecords"):
    return ClientError({"Error": {"Code": code, "Message": "simulated"}}, operation)


class SimulatedShard:
    def __init__(self, shard_id, parent, low, high):
        self.shard_id = shard_id
        self.parent = parent
        self.low, self.high = low, high
        self.records = []
        self.trimmed_through = -1
        self.closed_at = None


class SimulatedStream:
    """The stream. `faults()` returns an error to raise, or None; `hides(shard)` is True if a list lags behind."""

    def __init__(self, clock, retention, iterators_last):
        self.clock = clock
        self.retention = retention
        self.iterators_last = iterators_last
        self.faults = lambda: None
        self.hides = lambda shard: False
        self.lost = []
        self.arn = ARN
        self._next = 100
        self.shards = {}
        self._open(None, 0, WHOLE)

    def _open(self, parent, low, high):
        shard = SimulatedShard(f"shardId-{len(self.shards):08d}", parent, low, high)
        self.shards[shard.shard_id] = shard

    @property
    def open(self):
        return [shard for shard in self.shards.values() if shard.closed_at is None]

    def roll(self, shard):
        shard.closed_at = self.clock()
        self._open(shard.shard_id, shard.low, shard.high)

    def split(self, shard):
        shard.closed_at = self.clock()
        middle = (shard.low + shard.high) // 2
        self._open(shard.shard_id, shard.low, middle)
        self._open(shard.shard_id, middle, shard.high)

    def write(self, old, new, *, by_ttl=False):
        """Adds the record of a write."""
        item = new or old
        place = crc32(item["PK"]["S"].encode())
        (shard,) = (shard for shard in self.open if shard.low <= place < shard.high)
        self._next += 1
        data = {
            "ApproximateCreationDateTime": datetime.fromtimestamp(self.clock(), UTC),
            "Keys": {name: item[name] for name in ("PK", "SK")},
            "SequenceNumber": f"{self._next:021d}",
        }
        data |= ({"OldImage": old} if old else {}) | ({"NewImage": new} if new else {})
        name = "INSERT" if old is None else "REMOVE" if new is None else "MODIFY"
        identity = {"userIdentity": {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}} if by_ttl else {}
        shard.records.append((self._next, self.clock(), {"eventName": name, "dynamodb": data, **identity}))

    def trim(self):
        """Removes records that are too old, and shards that have none left."""
        oldest = self.clock() - self.retention
        for shard in [*self.shards.values()]:
            while shard.records and shard.records[0][1] < oldest:
                shard.trimmed_through, _, record = shard.records.pop(0)
                self.lost.append(record)
            if not shard.records and shard.closed_at is not None and shard.closed_at < oldest:
                shard.low = shard.high = None

    @property
    def _listed(self):
        return [shard for shard in self.shards.values() if shard.low is not None]

    def _shard(self, shard_id):
        found = self.shards.get(shard_id)
        if found is None or found.low is None:
            raise refused("ResourceNotFoundException", "GetShardIterator")
        return found

    def _fail(self):
        self.trim()
        if error := self.faults():
            raise error

    def describe_stream(self, StreamArn, ExclusiveStartShardId=None):  # noqa: N803
        self._fail()
        assert StreamArn == self.arn
        shards = [shard for shard in self._listed if shard.shard_id > (ExclusiveStartShardId or "")]
        answer = {"StreamViewType": "NEW_AND_OLD_IMAGES", "Shards": []}
        for shard in shards[:PAGE]:
            if not self.hides(shard):
                parent = {"ParentShardId": shard.parent} if shard.parent else {}
                answer["Shards"].append({"ShardId": shard.shard_id, **parent})
        if len(shards) > PAGE:
            answer["LastEvaluatedShardId"] = shards[PAGE - 1].shard_id
        return {"StreamDescription": answer}

    def get_shard_iterator(self, StreamArn, ShardId, ShardIteratorType, SequenceNumber=None):  # noqa: N803
        self._fail()
        assert StreamArn == self.arn
        shard = self._shard(ShardId)
        if ShardIteratorType == "TRIM_HORIZON":
            return self._iterator(shard, shard.trimmed_through + 1)
        if int(SequenceNumber) <= shard.trimmed_through:
            raise refused("TrimmedDataAccessException", "GetShardIterator")
        return self._iterator(shard, int(SequenceNumber) + 1)

    def _iterator(self, shard, number):
        return {"ShardIterator": f"{shard.shard_id}|{number}|{self.clock()}"}

    def get_records(self, ShardIterator, Limit):  # noqa: N803
        self._fail()
        shard_id, number, made_at = ShardIterator.split("|")
        shard = self._shard(shard_id)
        if self.clock() - float(made_at) > self.iterators_last:
            raise refused("ExpiredIteratorException")
        if int(number) <= shard.trimmed_through:
            raise refused("TrimmedDataAccessException")
        left = [record for record in shard.records if record[0] >= int(number)]
        found = left[: min(Limit, self.most())]
        answer = {"Records": [record for _, _, record in found]}
        if shard.closed_at is None or len(found) < len(left):
            after = found[-1][0] + 1 if found else int(number)
            answer["NextShardIterator"] = self._iterator(shard, after)["ShardIterator"]
        return answer

    def most(self):
        """Returns how many records an answer has at most."""
        return 1000
