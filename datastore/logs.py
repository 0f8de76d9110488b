"""Log lines: how every layer's messages are written."""

import logging
import sys
from typing import Any

import orjson
import structlog


def set_up_logging(level: str, style: str) -> None:
    """Readable lines on a terminal, JSON lines elsewhere; what a record carries as `extra` is part of the line."""
    as_text = style == "text" or (style == "auto" and sys.stderr.isatty())
    steps: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last: list[Any] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if as_text:
        last += [structlog.dev.ConsoleRenderer(colors=False, pad_event_to=0)]
    else:
        last += [
            structlog.processors.format_exc_info,
            structlog.processors.EventRenamer("message"),
            structlog.processors.JSONRenderer(lambda line, **_: orjson.dumps(line, default=str).decode()),
        ]
    handler = logging.StreamHandler()
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=steps, processors=last))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for noisy in ("botocore", "urllib3", "uvicorn.error"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
