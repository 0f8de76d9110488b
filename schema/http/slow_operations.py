"""The log of slow operations, with their plans."""

from collections.abc import Mapping
from typing import Any

from schema.declare.context import RequestContext
from schema.execution.plan_outline import outline
from schema.http.structured_log import structlog

LOGGER = "heartwood.slow"
SHOWN = ("operation", "outcome", "cost", "compiled", "calls", "read_units", "write_units", "retries")

log = structlog.get_logger()


def note(context: RequestContext | None, seconds: float, fields: Mapping[str, Any], threshold: float) -> None:
    """Logs an operation that took at least `threshold` seconds; 0 turns that off. Documents and variables stay out."""
    if not threshold or seconds < threshold or context is None:
        return
    shown = {name: fields[name] for name in SHOWN}
    log.warning("slow operation", logger=LOGGER, ms=round(seconds * 1000, 1), plan=outline(context.plan), **shown)
