"""Hostile requests and the errors they get."""

from typing import Any

import httpx
from graphql import build_schema, parse

from schema.execution.limits import Limits, check_operation
from tests.support.serving import GRAPHQL_RESPONSE

HEADERS = {"content-type": "application/json", "accept": GRAPHQL_RESPONSE}


def refusal(answer: httpx.Response) -> str:
    """Returns the message of a request that was rejected before execution."""
    assert answer.status_code == 400, answer.text[:300]
    assert "data" not in answer.json()
    message: str = answer.json()["errors"][0]["message"]
    return message


FRIENDS = build_schema("""
    type Query { me: Person! people(ids: [ID!]!): [Person] }
    type Person { name: String! best: Person! friends(first: Int, after: ID, last: Int): PersonConnection! }
    type PersonConnection { edges: [PersonEdge!]! nodes: [Person!]! }
    type PersonEdge { node: Person! }
""")


def cost(query: str, **variables: Any) -> int:
    document = parse(query)
    operation: Any = document.definitions[0]
    return check_operation(FRIENDS, document, operation, variables, Limits(depth=100))
