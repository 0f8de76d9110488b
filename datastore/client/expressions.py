"""Expressions of requests: which attributes to read, and which part of a partition."""

from functools import lru_cache
from typing import Any

import orjson

from datastore.model.codec import AttributeValue
from datastore.model.keys import Range


@lru_cache(maxsize=1_000)
def asking_for(attributes: tuple[str, ...], pk: str | None = None, sk: str | None = None) -> dict[str, Any]:
    """Returns the projection of a request, cached for each set of attributes."""
    names = {f"#{place}": name for place, name in enumerate(attributes)}
    keys = {placeholder: name for placeholder, name in (("#pk", pk), ("#sk", sk)) if name}
    return {
        "ProjectionExpression": ",".join(names),
        "ExpressionAttributeNames": orjson.Fragment(orjson.dumps(names | keys)),
    }


def key_condition(within: Range[Any]) -> tuple[str, dict[str, AttributeValue]]:
    values = {":pk": {"S": within.pk}}
    if within.bounds:
        low, high = within.bounds
        if not low:  # DynamoDB does not accept empty key values
            return "#pk = :pk AND #sk <= :high", values | {":high": {"S": high}}
        return "#pk = :pk AND #sk BETWEEN :low AND :high", values | {":low": {"S": low}, ":high": {"S": high}}
    if within.prefix:
        return "#pk = :pk AND begins_with(#sk, :prefix)", values | {":prefix": {"S": within.prefix}}
    return "#pk = :pk", values
