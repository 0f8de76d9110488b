"""A running server while an operation pauses writes."""

import asyncio

import pytest

from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.local.endpoint import LOCAL_REGION
from datastore.maintenance.operations import Operation
from tests.support.serving import serving, until
from tests.support.tables import CREDENTIALS

SIGN_UP = """mutation ($name: String!) {
  signUp(input: {username: $name, email: "ada@example.org", password: "correct horse 7 battery"}) { problems { code } }
}"""


@pytest.fixture
def operate(endpoint, table_name):
    """Runs steps of an operator, with a connection of their own."""

    def operate(steps):
        async def run():
            connection = Transport(region=LOCAL_REGION, endpoint=endpoint, credentials=CREDENTIALS)
            try:
                await steps(Table(connection, table_name, Usage.lasting(60)))
            finally:
                await connection.close()

        asyncio.run(run())

    return operate


async def _pause(table):
    operation = await Operation.begin(table, "its table moves", "test")
    await operation.keep_paused_for(600, {})


async def _resume(table):
    await (await Operation.resume(table, "test")).end()


def test_mutations_are_refused_with_the_time_to_wait_and_queries_go_on(endpoint, table_name, operate):
    with serving(endpoint, table_name) as server:
        pause = server.services.table.transport.write_pause
        operate(_pause)
        until(lambda: pause.reason is not None)
        refused = server.post(SIGN_UP, variables={"name": "ada"})
        query = server.post("{ viewer { username } }")
        operate(_resume)
        until(lambda: pause.reason is None)
        done = server.post(SIGN_UP, variables={"name": "ada"})

    (error,) = refused.json()["errors"]
    assert error["message"] == (
        "The data is read-only for a moment, because operators move or restore it. No change was made. Try again."
    )
    assert error["extensions"] == {
        "code": "UNAVAILABLE",
        "retryable": True,
        "retryAfter": 5,
        "outcome": "NOT_APPLIED",
    }
    assert refused.headers["retry-after"] == "5"
    assert query.json() == {"data": {"viewer": None}}
    assert done.json() == {"data": {"signUp": {"problems": []}}}
