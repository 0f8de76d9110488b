"""Deletes the search terms of cards, which former versions kept in the table: `SEARCH#…` in the partition of a card."""

import orjson

from datastore.cards import Card
from datastore.client.table import Table
from datastore.model.keys import Key
from datastore.model.responses import Listed

PREFIX = "SEARCH#"
# BatchWriteItem takes so many.
BATCH = 25


async def delete_terms_of(table: Table, card: Key[Card]) -> int:
    """Deletes the terms of a card and returns their number. Their entity is gone, so only their keys are read."""
    request = {
        "KeyConditionExpression": "PK = :pk AND begins_with(SK, :prefix)",
        "ExpressionAttributeValues": {":pk": {"S": card.pk}, ":prefix": {"S": PREFIX}},
        "ProjectionExpression": "PK, SK",
        "Limit": BATCH,
        "ConsistentRead": True,
    }
    count = 0
    while True:
        answer: Listed = await table._call("Query", request)
        keys = [orjson.loads(memoryview(item)) for item in answer.Items]
        if not keys:
            return count
        await table._write_batch([{"DeleteRequest": {"Key": key}} for key in keys])
        count += len(keys)
