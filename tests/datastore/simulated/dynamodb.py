"""One DynamoDB table in memory, behind the interface of the transport."""

import msgspec
import orjson

from datastore.client.errors import Conflict, Failure
from datastore.model.responses import Batch, Listed, OneItem
from tests.datastore.simulated.expressions import holds, updated


class SimulatedTable:
    """Items by key. `on_write(old, new)` is told about every change, as a stream would be."""

    def __init__(self, stream_arn, on_write):
        self.stream_arn = stream_arn
        self.items = {}
        self._on_write = on_write

    def call(self, operation, request):
        return getattr(self, f"_{operation}")(request)

    def put(self, item):
        self._write(_key(item), item)

    def of_partition(self, pk):
        return [self.items[key] for key in sorted(self.items) if key[0] == pk]

    def _write(self, key, new):
        old = self.items.get(key)
        if old != new:
            if new is None:
                del self.items[key]
            else:
                self.items[key] = new
            self._on_write(old, new)

    def _DescribeTable(self, request):  # noqa: N802
        return {"Table": {"StreamSpecification": {"StreamEnabled": True}, "LatestStreamArn": self.stream_arn}}

    def _GetItem(self, request):  # noqa: N802
        item = self.items.get(_key(request["Key"]))
        return OneItem(Item=msgspec.UNSET if item is None else _raw(item))

    def _BatchGetItem(self, request):  # noqa: N802
        ((name, wanted),) = request["RequestItems"].items()
        found = [self.items[_key(key)] for key in wanted["Keys"] if _key(key) in self.items]
        return Batch(Responses={name: [_raw(item) for item in found]})

    def _Query(self, request):  # noqa: N802
        names, values = request["ExpressionAttributeNames"], request["ExpressionAttributeValues"]
        found = [item for item in self.items.values() if holds(request["KeyConditionExpression"], names, values, item)]
        found.sort(key=_key, reverse=not request.get("ScanIndexForward", True))
        return Listed(Items=[_raw(item) for item in found[: request["Limit"]]])

    def _PutItem(self, request):  # noqa: N802
        return self._TransactWriteItems({"TransactItems": [{"Put": request}]})

    def _UpdateItem(self, request):  # noqa: N802
        return self._TransactWriteItems({"TransactItems": [{"Update": request}]})

    def _DeleteItem(self, request):  # noqa: N802
        return self._TransactWriteItems({"TransactItems": [{"Delete": request}]})

    def _TransactWriteItems(self, request):  # noqa: N802
        writes = [next(iter(write.items())) for write in request["TransactItems"]]
        codes, results = [], {}
        for verb, write in writes:
            key = _key(write["Item"] if verb == "Put" else write["Key"])
            assert key not in results, "DynamoDB refuses two writes of an item in a transaction"
            names, values = write.get("ExpressionAttributeNames", {}), write.get("ExpressionAttributeValues", {})
            old = self.items.get(key, {})
            fits = holds(write.get("ConditionExpression"), names, values, old)
            codes.append("None" if fits else "ConditionalCheckFailed")
            match verb:
                case "Put":
                    results[key] = write["Item"]
                case "Update":
                    results[key] = updated(write["UpdateExpression"], names, values, old or write["Key"])
                case "Delete":
                    results[key] = None
                case _:
                    results[key] = self.items.get(key)
        if set(codes) != {"None"}:
            raise Conflict("cancelled", [Failure(None, code) for code in codes])
        for key, new in results.items():
            self._write(key, new)
        return {}


def _key(item):
    return item["PK"]["S"], item["SK"]["S"]


def _raw(item):
    return msgspec.Raw(orjson.dumps(item))
