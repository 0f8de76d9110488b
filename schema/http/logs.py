"""Log format of all layers."""

import logging
import sys
from typing import Any

import orjson
import structlog


def set_up_logging(level: str, style: str) -> None:
    """Writes readable lines on a terminal and JSON lines elsewhere, with the `extra` of a record.

    Lines that are written for every request go straight through structlog; the standard library's way to the same
    line costs several times as much.
    """
    as_text = style == "text" or (style == "auto" and sys.stderr.isatty())
    stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)
    merge = structlog.contextvars.merge_contextvars
    render: list[Any] = [structlog.dev.ConsoleRenderer(colors=False, pad_event_to=0)]
    if not as_text:
        render = [structlog.processors.format_exc_info, structlog.processors.EventRenamer("message"), _json]
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


def _json(_: Any, __: str, line: Any) -> str:
    return orjson.dumps(line, default=str).decode()
