"""Every mutation of the schema, repeated with its Idempotency-Key: after an answer, and after a lost one."""

import json
import re
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from datastore.client.budget import Usage
from schema.build import build
from tests.conftest import shared_executor
from tests.support.both_executors import Side
from tests.support.every_mutation import CASES, NEEDS_PROVIDER, make_world, text_of
from tests.support.fault_proxy import FaultProxy, cut_after
from tests.support.graph import Graph
from tests.support.mailbox import Mailbox, a_mailbox

SCHEMA = build()._schema
assert SCHEMA.mutation_type is not None
NAMES = [*SCHEMA.mutation_type.fields]
KEEPS_NO_KEY = {"logIn"}


@pytest.fixture
async def mailbox(graph: Graph, faulty_graph: Graph) -> AsyncIterator[Mailbox]:
    async with a_mailbox() as mailbox:
        graph.services.mail = faulty_graph.services.mail = mailbox.mail()
        yield mailbox


class EndsWithFault(Usage):
    """Ends at the first fault, so that the test does not wait."""

    proxy: FaultProxy

    @property
    def seconds_left(self) -> float:
        return 60.0 if self.proxy.failing_since is None else 0.0


def comparable(payload: Any) -> Any:
    """A payload without what differs between two runs: IDs and times."""
    text = re.sub(r'(?<=")[0-9A-HJKMNP-TV-Z]{26}(?=")|\d{4}-\d\d-\d\dT[\d:.]+Z', "…", json.dumps(payload))
    return json.loads(re.sub(r'"(id|\w+Id)": "[\w-]+"', r'"\1": "…"', text))


def test_there_is_a_case_of_every_mutation():
    assert sorted(CASES) == sorted(NAMES)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NEEDS_PROVIDER])
async def test_a_mutation_is_applied_once_per_key(
    graph: Graph, faulty_graph: Graph, proxy: FaultProxy, mailbox: Mailbox, name: str
):
    side, text = Side(graph, compiled=True), text_of(SCHEMA, name)
    world = await make_world(graph)
    viewer, given = CASES[name](world)
    core = Graph(replace(graph.services, executor=shared_executor(graph.services.settings.limits, compiled=False)))

    async def ask(graph: Graph, key: str) -> Any:
        asked = await graph.with_key(key).ask(text, viewer, **({"input": given} if given else {}))
        return asked.data[name]

    async def items() -> dict[tuple[str, str], Any]:
        for services in (graph.services, faulty_graph.services):
            await services.views.flush()
        side._items = None
        # Every sign-in is an event, and `logIn` keeps no key.
        of_sign_ins = ("SIGNIN#", "SECURITY#") if name in KEEPS_NO_KEY else ("SIGNIN#",)
        return {place: item for place, item in (await side.items()).items() if not place[0].startswith(of_sign_ins)}

    # Once, and again in the other executor.
    first = await ask(graph, "first")
    after_first = await items()
    again = await ask(core, "first")

    assert first["problems"] == []
    assert again == first
    assert await items() == after_first
    if name in KEEPS_NO_KEY:
        return

    # The same, with an answer that is lost permanently.
    await side.bring_back(world.items)
    proxy.will("TransactWriteItems", cut_after, when=lambda request: "IDEMPOTENCY#" in json.dumps(request))

    def usage() -> Usage:
        usage = EndsWithFault(deadline=time.monotonic() + 60)
        usage.proxy = proxy
        return usage

    faulty_graph.usage = usage
    lost = await faulty_graph.with_key("second").ask(text, viewer, **({"input": given} if given else {}))
    assert lost.error["extensions"] == {"code": "UNAVAILABLE", "retryable": True, "outcome": "UNKNOWN"}
    proxy.recover()
    applied = await items()
    repeated = await ask(graph, "second")
    assert comparable(repeated) == comparable(first)
    assert await items() == applied
    assert len(mailbox.arrived) == (2 if name == "requestEmailVerification" else 0)
