"""Runs GraphQL operations like a client, and counts their DynamoDB calls."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

from datastore.accounts import Unique, User
from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.jobs import JOB_PARTITIONS, Job
from datastore.maintenance.segments import every_item
from datastore.model.codec import Item
from datastore.model.entity import Entity
from loaders.viewer import ANONYMOUS, Viewer
from resolvers.background.jobs import Worker
from schema.declare.context import RequestContext
from schema.declare.ids import global_id
from schema.http.protocol import GraphQLRequest
from schema.http.services import Services

BOOKKEEPING = ("OUTBOX", "CHANGES#", "LOGHEAD#", "CHECKPOINTS#", "LEASE#", "ANALYTICS#", "SECURITY#")


@dataclass(frozen=True)
class Asked:
    """A response and its DynamoDB calls."""

    body: dict[str, Any]
    calls: dict[str, int]
    usage: Usage

    @property
    def data(self) -> dict[str, Any]:
        assert "errors" not in self.body, self.body["errors"]
        data: dict[str, Any] = self.body["data"]
        return data

    @property
    def shown(self) -> dict[str, Any]:
        """Returns the data. Fields may have required a sign-in or a role, but there are no other errors."""
        assert {code for _, code in self.errors} <= {"UNAUTHENTICATED", "FORBIDDEN"}, self.body["errors"]
        data: dict[str, Any] = self.body["data"]
        return data

    @property
    def errors(self) -> list[tuple[str, str]]:
        """Returns the path and the code of each error."""
        return [
            (".".join(map(str, error["path"])), error["extensions"]["code"]) for error in self.body.get("errors", ())
        ]

    @property
    def error(self) -> dict[str, Any]:
        """Returns the only error."""
        (error,) = self.body["errors"]
        return dict(error)


class Graph:
    """Test client: `await graph.ask(query, viewer, **variables)`."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.address = "192.0.2.1"
        # The Idempotency-Key of requests.
        self.key: str | None = None
        # Replaces the time budget of requests.
        self.usage: Callable[[], Usage] | None = None

    @property
    def table(self) -> Table:
        """Returns the table for setup and verification, with its own deadline."""
        return self.services.table.using(Usage.lasting(60))

    def context(self, viewer: Viewer = ANONYMOUS, address: str | None = None) -> RequestContext:
        context = self.services.context_of(viewer, address or self.address, self.key)
        if self.usage:
            # The scheduler of the request holds the same table.
            context.load.table.usage = self.usage()
        return context

    def with_key(self, key: str) -> "Graph":
        """Returns the same graph, for requests with this Idempotency-Key."""
        graph = copy(self)
        graph.key = key
        return graph

    async def ask(self, query: str, /, viewer: Viewer = ANONYMOUS, **variables: Any) -> Asked:
        context = self.context(viewer)
        request = GraphQLRequest(query, variables)
        answer = await self.services.executor.run(request, context, may_mutate=True)
        usage = context.load.table.usage
        return Asked(answer.body, dict(usage.calls), usage)

    async def settle(self, *, jobs: bool = False) -> None:
        """Lets the processors work on what was written and, with `jobs`, runs due jobs, until nothing is left.

        The search index follows if there is one: `settle_search` builds it.
        """
        worker = Worker(self.table, self.services.tools)
        await self.services.changes.settle()
        while jobs and await worker.do_what_is_due():
            await self.services.changes.settle()
        if self.services.search_index.engine.current is not None:
            await self.services.index_keeper.settle()

    async def settle_search(self) -> None:
        """Lets the search index know everything that was written. The first time, it is built."""
        await self.services.changes.settle()
        await self.services.index_keeper.settle()

    async def jobs(self) -> list[Job]:
        """Returns all queued jobs, in the order in which they are due."""
        pages = [
            await self.table.query(Job.within(partition=partition), limit=500, consistent=True)
            for partition in range(JOB_PARTITIONS)
        ]
        return sorted((job for page in pages for job in page.records), key=lambda job: (job.due_at, job.job_id))

    async def items(self) -> list[Item]:
        """Returns all stored items, except the bookkeeping of changes, statistics and security events."""
        every = [item async for item in every_item(self.table)]
        return [item for item in every if not item["PK"]["S"].startswith(BOOKKEEPING)]

    async def command(self, query: str, viewer: Viewer = ANONYMOUS, **input: Any) -> dict[str, Any]:
        """Returns the payload of a mutation with one field that takes `$input`."""
        (payload,) = (await self.ask(query, viewer, input=input)).data.values()
        return dict(payload)

    async def add_user(self, username: str, **fields: Any) -> User:
        """Adds a user with its unique-value guards, without the cost of `signUp`."""
        user = User(**{"user_id": f"id-{username}", "username": username, "email": f"{username}@example.org", **fields})
        guards = [Unique(kind=kind, value=getattr(user, kind), owner_id=user.user_id) for kind in ("username", "email")]
        await self.table.batch_write(puts=[user, *guards])
        return user


def viewer_of(user: User, *roles: str) -> Viewer:
    return Viewer(user_id=user.user_id, roles=frozenset(roles))


def id_of(record: Entity) -> str:
    return global_id(record)


def listed(*records: Entity) -> dict[str, list[dict[str, str]]]:
    """A connection of these records, of which a query selects `nodes { id }`."""
    return {"nodes": [{"id": id_of(record)} for record in records]}


def problem(code: str, message: str, *path: str) -> dict[str, Any]:
    """Returns a problem as in a payload."""
    return {"code": code, "message": message, "path": list(path)}


PROBLEMS = "problems { code message path }"


def mutation(name: str, result: str) -> str:
    """A mutation with one field that takes `$input`."""
    type_name = name[0].upper() + name[1:]
    return f"mutation ($input: {type_name}Input!) {{ {name}(input: $input) {{ {result} {PROBLEMS} }} }}"


async def damage(graph: Graph, record: Entity, **attributes: Any) -> None:
    """Replaces attributes of the item; None removes one."""
    item = {name: value for name, value in {**record.encode(), **attributes}.items() if value is not None}
    await graph.table._write_batch([{"PutRequest": {"Item": item}}])
