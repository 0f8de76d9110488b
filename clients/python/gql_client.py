"""gql over the live server: validation against introspection, pages and errors."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from checks import HEADERS, URL, run
from gql import Client, gql
from gql.transport.exceptions import TransportQueryError
from gql.transport.httpx import HTTPXTransport
from graphql import GraphQLError, concat_ast, parse, validate

E = TypeVar("E", bound=Exception)
OPERATIONS = concat_ast([parse(path.read_text()) for path in sorted(Path("operations").glob("*.graphql"))])
PAGE = "query ($after: String) { feed(first: 4, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }"
client = Client(transport=HTTPXTransport(URL, headers=HEADERS), fetch_schema_from_transport=True)


def valid() -> None:
    """gql: all operations are valid for the schema of the introspection"""
    with client:
        assert client.schema
        assert validate(client.schema, OPERATIONS) == []


def pages() -> None:
    """gql: the pages of a list follow each other without gaps and repetitions"""
    query = gql(
        "query ($after: String) { feed(first: 4, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }"
    )
    ids: list[str] = []
    with client as session:
        after, more = None, True
        while more:
            query.variable_values = {"after": after}
            feed = session.execute(query)["feed"]
            ids += [node["id"] for node in feed["nodes"]]
            after, more = feed["pageInfo"]["endCursor"], feed["pageInfo"]["hasNextPage"]
        whole = session.execute(gql("{ feed(first: 100) { nodes { id } } }"))["feed"]["nodes"]
    assert len(ids) > 4
    assert ids == [node["id"] for node in whole]


def errors() -> None:
    """gql: a mistake is found before it is sent, and an error of the server has a code"""
    with client as session:
        mistake = raised(GraphQLError, lambda: session.execute(gql("{ feed { nodes { imageURL } } }")))
        refused = raised(TransportQueryError, lambda: session.execute(gql('{ node(id: "not an id") { id } }')))
    assert "imageUrl" in mistake.message
    assert [each["extensions"]["code"] for each in refused.errors or []] == ["INVALID"]


def raised(kind: type[E], call: Callable[[], object]) -> E:
    """Returns the error that a call must raise."""
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


run(valid, pages, errors)
