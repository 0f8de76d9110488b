"""OpenTelemetry traces: a span for each request, level of a plan and DynamoDB call.

The standard environment variables configure them. Without these variables, nothing of OpenTelemetry is loaded.
"""

import os
import random
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.types import Scope

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, Tracer

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
MISSING = "OTEL_TRACES_EXPORTER needs a package that is not installed: pip install 'heartwood[otel]'"
PARENT = frozenset({b"traceparent", b"tracestate"})
CLOSE_WITHIN = 5.0
"""Seconds. A collector that does not answer holds an export for 10 seconds, and several may wait."""
UNTRACED = frozenset({"/healthz", "/readyz", "/metrics"})


class CannotTrace(OSError):
    """Traces are wanted, and the settings or packages do not allow them."""


def is_wanted(variables: Mapping[str, str]) -> bool:
    """Returns True if an exporter, or the endpoint of one, is named."""
    if variables.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    exporter = variables.get("OTEL_TRACES_EXPORTER")
    return exporter != "none" if exporter else any(variables.get(name) for name in ENDPOINTS)


def tracing(variables: Mapping[str, str] | None = None) -> "Tracing | None":
    """Returns the tracing of this process, or None if it is not wanted. Raises CannotTrace."""
    variables = os.environ if variables is None else variables
    if not is_wanted(variables):
        return None
    try:
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        exporter = _exporter(variables)
    except ImportError as error:
        raise CannotTrace(MISSING) from error
    named = Resource({SERVICE_NAME: variables.get("OTEL_SERVICE_NAME", "heartwood")})
    # Resource.create and the provider read OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER and the limits of spans.
    ids = _ids()
    # The application closes it; nothing else may hold the end of the process.
    resource = Resource.create().merge(named)
    provider = TracerProvider(resource=resource, id_generator=ids, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return Tracing(provider, ids)


def _ids() -> Any:
    """Returns a generator whose next trace ID can be set."""
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

    class Ids(RandomIdGenerator):
        drawn: int | None = None

        def generate_trace_id(self) -> int:
            drawn, self.drawn = self.drawn, None
            return drawn or super().generate_trace_id()

    return Ids()


def _exporter(variables: Mapping[str, str]) -> "SpanExporter":
    name = variables.get("OTEL_TRACES_EXPORTER") or "otlp"
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter()
    if name != "otlp":
        raise CannotTrace(f"OTEL_TRACES_EXPORTER: {name!r} is not supported; write otlp, console or none")
    protocol = next((variables[each] for each in PROTOCOLS if variables.get(each)), "http/protobuf")
    if protocol != "http/protobuf":
        raise CannotTrace(f"OTEL_EXPORTER_OTLP_PROTOCOL: {protocol!r} is not supported; write http/protobuf")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


class Tracing:
    """Begins the traces of requests. Sends spans from a thread of its own."""

    def __init__(self, provider: "TracerProvider", ids: Any) -> None:
        from opentelemetry.sdk.trace.sampling import Decision
        from opentelemetry.trace import SpanKind, set_span_in_context
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = provider
        self._ids = ids
        self._drop = Decision.DROP
        self._should_sample = provider.sampler.should_sample
        self._tracer = provider.get_tracer("heartwood")
        self._server = SpanKind.SERVER
        self._client = SpanKind.CLIENT
        self._inside = set_span_in_context
        self._extract = TraceContextTextMapPropagator().extract

    def begin(self, scope: Scope) -> "RequestTrace | None":
        """Returns the trace of a request, or None if it is not sampled."""
        if scope["path"] in UNTRACED:
            return None
        given = {name: value for name, value in scope["headers"] if name in PARENT}
        parent = None
        if given:
            parent = self._extract({name.decode(): value.decode("latin-1") for name, value in given.items()})
        else:
            # Most requests are not sampled. To ask the sampler costs a tenth of a span that is thrown away.
            drawn = random.getrandbits(128) or 1
            if self._should_sample(None, drawn, scope["method"], self._server).decision is self._drop:
                return None
            self._ids.drawn = drawn
        span = self._tracer.start_span(scope["method"], parent, self._server)
        if not span.is_recording():
            return None
        span.set_attributes({"http.request.method": scope["method"], "url.path": scope["path"][:200]})
        return RequestTrace(self._tracer, span, self._inside, self._client)

    def close(self, within: float = CLOSE_WITHIN) -> None:
        """Sends what is left. Blocks for a few seconds at most: then the rest is lost."""
        closing = threading.Thread(target=self._provider.shutdown, name="end of traces", daemon=True)
        closing.start()
        closing.join(within)


class RequestTrace:
    """The spans of one request."""

    def __init__(self, tracer: "Tracer", span: "Span", inside: Any, client: Any) -> None:
        self._tracer = tracer
        self._span = span
        self._inside = inside
        self._client = client
        self._whole = inside(span)
        self._level: OpenSpan | None = None

    @property
    def trace_id(self) -> str:
        return f"{self._span.get_span_context().trace_id:032x}"

    def level(self, reads: str, keys: int) -> "OpenSpan":
        span = self._tracer.start_span(f"read {reads}", self._whole, attributes={"heartwood.keys": keys})
        self._level = OpenSpan(span, self._ended)
        return self._level

    def _ended(self, level: "OpenSpan") -> None:
        if self._level is level:
            self._level = None

    def call(self, operation: str) -> "OpenSpan":
        parent = self._inside(self._level.span) if self._level else self._whole
        attributes = {"db.system.name": "aws.dynamodb", "db.operation.name": operation}
        return OpenSpan(self._tracer.start_span(operation, parent, self._client, attributes))

    def end(self, status: int, fields: Mapping[str, Any]) -> None:
        """Ends the request with the fields of its log line."""
        span = self._span
        operation = fields.get("operation")
        if "outcome" in fields:
            span.update_name(f"graphql {operation}" if operation else "graphql")
            span.set_attributes(
                {
                    "graphql.operation.name": operation or "",
                    "heartwood.outcome": fields["outcome"],
                    "heartwood.cost": fields["cost"],
                    "heartwood.compiled": fields["compiled"],
                    "heartwood.read_units": fields["read_units"],
                    "heartwood.write_units": fields["write_units"],
                    "heartwood.retries": fields["retries"],
                }
            )
        span.set_attribute("http.response.status_code", status)
        if status >= 500 or fields.get("outcome") == "failed":
            _fail(span, f"{status}")
        span.end()


class OpenSpan:
    """A span that has not ended."""

    __slots__ = ("_ended", "span")

    def __init__(self, span: "Span", ended: Any = None) -> None:
        self.span = span
        self._ended = ended

    def end(self, **attributes: Any) -> None:
        if error := attributes.pop("error", None):
            self.span.set_attribute("error.type", error)
            _fail(self.span, error)
        self.span.set_attributes({f"heartwood.{name}": value for name, value in attributes.items()})
        self.span.end()
        if self._ended:
            self._ended(self)


def _fail(span: "Span", description: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_status(Status(StatusCode.ERROR, description))
