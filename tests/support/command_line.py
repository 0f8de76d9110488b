"""`heartwood` run in the test's own process: starting a process takes seconds."""

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import server
from tests.support.serving import environment


class Done(NamedTuple):
    """The exit status of a command, and its output."""

    returncode: int
    stdout: str
    stderr: str


def heartwood(*arguments: str | Path, answer: str = "", **variables: str) -> Done:
    """Runs a command with these environment variables and no others of Heartwood; `answer` is its standard input."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        patch.dict(os.environ, environment(**variables), clear=True),
        patch.object(sys, "stdin", io.StringIO(answer)),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            code = server.main([*map(str, arguments)])
        except SystemExit as stopped:
            code = int(stopped.code or 0)
    return Done(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))  # type: ignore[attr-defined]
