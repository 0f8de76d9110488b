"""Hostile requests and the errors they get."""

from typing import Any

import httpx
from graphql import GraphQLSchema, build_schema, parse

from schema.execution.cost import Cost
from schema.execution.limits import Limits
from schema.execution.shape import Shape
from tests.support.serving import GRAPHQL_RESPONSE

HEADERS = {"content-type": "application/json", "accept": GRAPHQL_RESPONSE}


def refusal(answer: httpx.Response, status: int = 400) -> str:
    """Returns the message of a request that was rejected before execution."""
    assert answer.status_code == status, answer.text[:300]
    assert "data" not in answer.json()
    message: str = answer.json()["errors"][0]["message"]
    return message


FRIENDS = build_schema("""
    type Query { me: Person! people(ids: [ID!]!): [Person] }
    type Person { name: String! best: Person! friends(first: Int, after: ID, last: Int): PersonConnection! }
    type PersonConnection { edges: [PersonEdge!]! nodes: [Person!]! pageInfo: PageInfo! }
    type PageInfo { hasNextPage: Boolean! }
    type PersonEdge { node: Person! }
""")


def cost(query: str, schema: GraphQLSchema = FRIENDS, limits: Limits = Limits(depth=100), **variables: Any) -> int:  # noqa: B008  frozen
    """Returns the cost of a query, or raises OverLimit."""
    shape = Shape(parse(query), limits)
    found = Cost(schema, shape.operations[0], shape.fragments, variables)
    found.check(limits)
    return found.total


def whole(records: int, leaves: int) -> int:
    """Returns the cost of so many records and leaves."""
    return records + -(-leaves // 10)
