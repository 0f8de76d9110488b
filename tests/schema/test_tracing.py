"""Traces in OpenTelemetry's protocol."""

import gzip
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from schema.http import tracing
from tests.support.serving import ROOT, a_table, serving

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
FEED = "query Feed { users(first: 2) { nodes { username posts(first: 1) { nodes { id } } } } }"


class Collector:
    """Receives spans over HTTP."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.services: set[str] = set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    named = {each.key: each.value.string_value for each in resource.resource.attributes}
                    collector.services.add(named["service.name"])
                    collector.spans += [span for scope in resource.scope_spans for span in scope.spans]
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.close()


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch, collector: Collector) -> pytest.MonkeyPatch:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    return monkeypatch


def attributes(span: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


def traced(endpoint: str, *queries: str, headers: dict[str, str] | None = None) -> None:
    """Sends queries to a server, which sends its spans when it stops."""
    with a_table(endpoint) as table_name, serving(endpoint, table_name, with_demo=True) as server:
        for query in queries:
            assert "errors" not in server.post(query, headers).json()
        server.http.get("/metrics")


def test_a_request_has_a_span_for_each_level_and_call(endpoint, environ, collector):
    traced(endpoint, FEED)
    by_name = {span.name: span for span in collector.spans}
    request = by_name["graphql Feed"]
    assert attributes(request)["http.response.status_code"] == 200
    assert attributes(request)["heartwood.outcome"] == "ok"
    levels = [span for span in collector.spans if span.parent_span_id == request.span_id]
    assert [span.name for span in levels] == ["read pages", "read pages"]
    assert [attributes(span)["heartwood.keys"] for span in levels] == [1, 2]
    calls = [[call.name for call in collector.spans if call.parent_span_id == level.span_id] for level in levels]
    assert calls == [["Query"], ["Query", "Query"]]
    assert {span.trace_id for span in collector.spans} == {request.trace_id}
    assert collector.services == {"heartwood"}


def test_a_trace_continues_that_of_the_client(endpoint, environ, collector):
    environ.setenv("OTEL_SERVICE_NAME", "forest")
    traced(endpoint, FEED, headers={"traceparent": PARENT})
    request = next(span for span in collector.spans if span.name == "graphql Feed")
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == (PARENT.split("-")[1], PARENT.split("-")[2])
    assert collector.services == {"forest"}


@pytest.mark.parametrize("header", ["x", "00-zz-zz-zz", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", PARENT * 50])
def test_a_malformed_parent_is_ignored(endpoint, environ, collector, header):
    traced(endpoint, "{ __typename }", headers={"traceparent": header})
    (request,) = collector.spans
    assert request.parent_span_id == b""


def test_what_is_not_sampled_is_not_sent(endpoint, environ, collector):
    environ.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    environ.setenv("OTEL_TRACES_SAMPLER_ARG", "0")
    traced(endpoint, FEED, "{ __typename }")
    assert collector.spans == []


def test_failed_calls_are_marked(endpoint, environ, collector):
    with a_table(endpoint) as table_name, serving(endpoint, table_name) as server:
        server.services.table.name = "no-such-table"
        server.services.shared_reads._table.name = "no-such-table"
        server.post(FEED)
    failed = [span for span in collector.spans if attributes(span).get("error.type")]
    assert [attributes(span)["error.type"] for span in failed] == ["TableMissing"]
    assert {span.status.code for span in failed} == {2}


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({}, False),
        ({"OTEL_SERVICE_NAME": "x"}, False),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, False),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, True),
        ({"OTEL_TRACES_EXPORTER": "console"}, True),
    ],
)
def test_traces_are_wanted_if_an_exporter_or_its_endpoint_is_named(variables, wanted):
    assert tracing.is_wanted(variables) is wanted


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER: 'zipkin' is not supported; write otlp"),
        (
            {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' is not supported; write http/protobuf",
        ),
    ],
)
def test_what_is_not_supported_is_named(variables, message):
    with pytest.raises(tracing.CannotTrace, match=message):
        tracing.tracing(variables)


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    with pytest.raises(tracing.CannotTrace, match=r"pip install 'heartwood\[otel\]'"):
        tracing.tracing({"OTEL_TRACES_EXPORTER": "otlp"})


def test_a_collector_that_does_not_answer_holds_nobody() -> None:
    exporting, answers = threading.Event(), threading.Event()

    class Silent(SpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            exporting.set()
            answers.wait()
            return SpanExportResult.FAILURE

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(Silent()))
    traces = tracing.Tracing(provider, tracing._ids())
    trace = traces.begin({"type": "http", "method": "POST", "path": "/graphql", "headers": []})
    assert trace is not None
    trace.end(200, {})
    traces.close(within=0.1)
    assert exporting.wait(60)
    assert not answers.is_set()
    answers.set()


def test_opentelemetry_is_not_loaded_unless_it_is_wanted():
    code = "import sys, schema.http.app; sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, timeout=120).returncode == 0
