"""Readiness: one sentence for each kind of problem, and the details in the log."""

import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from datastore.client.table import Table
from schema.http.health import Probe
from tests.support.fault_proxy import Answer, Call, Fault, FaultProxy, error_500, throttled

ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/heartwood"
HEALTHY: Any = SimpleNamespace(problem=None)


def failing(name: str, status: int = 400) -> Fault:
    async def fault(call: Call) -> Answer:
        body = {"__type": f"com.amazonaws.dynamodb.v20120810#{name}", "message": f"not for {ARN}"}
        return Answer.of(status, json.dumps(body).encode())

    return fault


async def full_disk(call: Call) -> Answer:
    body = {"__type": "InternalServerError", "message": f"database or disk is full: {ARN}"}
    return Answer.of(500, json.dumps(body).encode())


async def not_active(call: Call) -> Answer:
    return Answer.of(200, b'{"Table": {"TableStatus": "CREATING"}}')


async def nonsense(call: Call) -> Answer:
    return Answer.of(200, b'{"Nonsense": {}}')


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (failing("ResourceNotFoundException"), "the table does not exist"),
        (failing("AccessDeniedException"), "no permission to use the table"),
        (failing("ExpiredTokenException"), "no permission to use the table"),
        pytest.param(throttled, "the table is over its capacity", marks=pytest.mark.slow),
        (error_500, "the table does not answer"),
        pytest.param(full_disk, "the disk of DATA_DIR is full", marks=pytest.mark.slow),
        (failing("ValidationException"), "the table cannot be used"),
        (not_active, "the table is not active"),
        (nonsense, "the table cannot be used"),
    ],
)
async def test_a_problem_is_a_fixed_sentence_and_its_details_are_logged_once(
    faulty: Table, proxy: FaultProxy, caplog: pytest.LogCaptureFixture, fault: Fault, sentence: str
) -> None:
    caplog.set_level(logging.INFO, "heartwood.health")
    proxy.will("DescribeTable", fault)
    probe = Probe(faulty, HEALTHY)

    for _ in range(2):
        await probe.check()
        assert probe.problem == sentence
    proxy.recover()
    await probe.check()

    assert probe.problem is None
    lines = [record for record in caplog.records if record.name == "heartwood.health"]
    assert [line.levelno for line in lines] == [logging.WARNING, logging.INFO]
    assert lines[0].getMessage().startswith(f"not ready: {sentence} (")
    assert lines[1].getMessage() == "ready again"


async def test_the_details_are_in_the_log(faulty: Table, proxy: FaultProxy, caplog: pytest.LogCaptureFixture) -> None:
    proxy.will("DescribeTable", failing("AccessDeniedException"))
    await Probe(faulty, HEALTHY).check()

    assert f"AccessDeniedException: not for {ARN}" in caplog.text


async def test_a_server_that_starts_well_logs_nothing(faulty: Table, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "heartwood.health")
    await Probe(faulty, HEALTHY).check()

    assert not [record for record in caplog.records if record.name == "heartwood.health"]


async def test_a_problem_of_the_local_engine_is_told(faulty: Table, caplog: pytest.LogCaptureFixture) -> None:
    restarting: Any = SimpleNamespace(problem="the local engine is being restarted")
    probe = Probe(faulty, restarting)
    await probe.check()

    assert probe.problem == "the local engine is being restarted"
