"""Metrics in the Prometheus text format."""

import re

import pytest

from datastore.changes.stream_source import StreamSource
from tests.support.serving import Served, serving

LINE = re.compile(r'heartwood_[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+')


def values(server: Served) -> dict[str, float]:
    text = server.http.get("/metrics").text
    samples = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in samples}


def test_every_line_is_in_the_text_format(server: Served) -> None:
    server.post("{ __typename }")

    answer = server.http.get("/metrics")

    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.text.endswith("\n")
    for line in answer.text.splitlines():
        assert line.startswith(("# HELP heartwood_", "# TYPE heartwood_")) or LINE.fullmatch(line), line


def test_requests_and_their_calls_are_counted(server: Served) -> None:
    def counted() -> tuple[float, ...]:
        now = values(server)
        names = (
            'heartwood_requests_total{route="/graphql",status="200"}',
            'heartwood_requests_total{route="other",status="404"}',
            "heartwood_graphql_seconds_count",
            "heartwood_requests_admitted_total",
            'heartwood_dynamodb_calls_total{operation="Query"}',
        )
        return tuple(now.get(name, 0) for name in names)

    before = counted()
    server.post("{ users(first: 1) { nodes { username } } }")
    server.http.get("/secret/path")
    after = counted()

    assert [b - a for a, b in zip(before, after, strict=True)] == [1, 1, 1, 1, 1]


def test_pages_and_preflights_are_no_operations(server: Served) -> None:
    def operations() -> dict[str, float]:
        return {
            name: n for name, n in values(server).items() if "operations_total" in name or "graphql_seconds" in name
        }

    before = operations()
    preflight = {"origin": "http://localhost:3000", "access-control-request-method": "POST"}
    assert server.http.options("/graphql", headers=preflight).status_code == 204
    assert server.http.get("/graphql", headers={"accept": "text/html"}).status_code == 200
    assert operations() == before


def test_the_state_of_the_process_is_shown(server: Served) -> None:
    now = values(server)

    assert now["heartwood_requests_running"] == now["heartwood_requests_waiting"] == 0
    assert now["heartwood_requests_limit"] >= 8
    assert now["heartwood_dynamodb_circuit_open"] == now["heartwood_dynamodb_circuit_opened_total"] == 0
    assert now["heartwood_dynamodb_retry_tokens"] > 0
    assert 10_000_000 < now["heartwood_memory_bytes"] < 10_000_000_000


def test_a_stream_shows_its_shards_and_its_losses(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = server.services.changes
    assert not any(name.startswith("heartwood_stream") for name in values(server))
    connect = server.services.place.connect_to_stream
    stream = StreamSource(server.services.table, changes.leases, changes.log, connect)
    monkeypatch.setattr(changes, "stream", stream)
    stream.trimmed = 2
    shown = {name: value for name, value in values(server).items() if name.startswith("heartwood_stream")}
    assert shown == {"heartwood_stream_shards": 0, "heartwood_stream_trimmed_total": 2}


def test_paths_that_strangers_make_up_add_no_lines(server: Served) -> None:
    for path in ("/x", "/x/y", "//", "/graphql/more", "/%00"):
        server.http.get(path)

    routes = set(re.findall(r'route="([^"]*)"', server.http.get("/metrics").text))
    assert routes <= {
        "/",
        "/graphql",
        "/graphiql",
        "/schema.graphql",
        "/trees",
        "/analytics",
        "/healthz",
        "/readyz",
        "/metrics",
        "other",
    }


@pytest.mark.parametrize("target", ["*", "*/x"])
def test_a_target_that_is_no_path_is_counted(server: Served, target: str) -> None:
    name = 'heartwood_requests_total{route="other",status="404"}'
    before = values(server).get(name, 0)

    server.http.request("OPTIONS", "/", extensions={"target": target.encode()})

    assert values(server)[name] - before == 1


def test_metrics_can_be_switched_off(endpoint: str, table_name: str) -> None:
    with serving(endpoint, table_name, metrics=False) as server:
        assert server.http.get("/metrics").status_code == 404
