"""Log format of all layers."""

import logging
import os
import sys
from typing import Any

import orjson

from schema.http.structured_log import structlog

LONGEST = 300
LONGEST_TEXT = 10_000
SEVERAL_LINES = ("event", "exception")
"""Messages and tracebacks, which the server writes itself."""


def set_up_logging(level: str, style: str, worker: int | None = None) -> None:
    """Writes readable lines on a terminal and JSON lines elsewhere, with the `extra` of a record.

    With the number of a worker, each line has it, and the ID of its process.

    Lines that are written for every request go straight through structlog; the standard library's way to the same
    line costs several times as much.
    """
    as_text = style == "text" or (style == "auto" and sys.stderr.isatty())
    stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)
    merge = _marked(worker) if worker else structlog.contextvars.merge_contextvars
    render: list[Any] = [bounded, structlog.dev.ConsoleRenderer(colors=False, pad_event_to=0)]
    if not as_text:
        render = [structlog.processors.format_exc_info, bounded, structlog.processors.EventRenamer("message"), _json]
    structlog.configure(
        processors=[merge, structlog.processors.add_log_level, stamp, *render],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    add: list[Any] = [structlog.stdlib.add_log_level, structlog.stdlib.add_logger_name, structlog.stdlib.ExtraAdder()]
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[merge, *add, stamp],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render],
        )
    )
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for noisy in ("botocore", "urllib3", "uvicorn.error"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def _marked(worker: int) -> Any:
    fields = {"worker": worker, "pid": os.getpid()}
    return lambda logger, name, line: structlog.contextvars.merge_contextvars(logger, name, line | fields)


def bounded(_: Any, __: str, line: Any) -> Any:
    """Shortens every text of a line, and escapes control characters: clients choose some of them."""
    for name, value in line.items():
        if isinstance(value, str) and (len(value) > LONGEST or not value.isprintable()):
            line[name] = _plain(value, LONGEST_TEXT if name in SEVERAL_LINES else LONGEST, name in SEVERAL_LINES)
    return line


def _plain(text: str, longest: int, has_lines: bool) -> str:
    shown = text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"
    return "".join(c if c.isprintable() or (has_lines and c == "\n") else ascii(c)[1:-1] for c in shown)


def _json(_: Any, __: str, line: Any) -> str:
    return orjson.dumps(line, default=str).decode()
