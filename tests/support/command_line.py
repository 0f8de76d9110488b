"""Runs a command line in the test process, because starting a process takes seconds."""

import io
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import pytest

INHERITED = ("PATH", "HOME", "LANG", "TMPDIR", "PYTHONPATH")


@dataclass(frozen=True)
class Done:
    """The exit status and the output."""

    returncode: int
    output: bytes
    errors: bytes

    @property
    def stdout(self) -> str:
        return self.output.decode()

    @property
    def stderr(self) -> str:
        return self.errors.decode()


def run(main: Callable[[], int], *arguments: str, answer: str = "", **variables: str) -> Done:
    """Runs `main` like a shell with these variables; an empty answer means no terminal."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    with pytest.MonkeyPatch.context() as patch:
        for name in set(os.environ) - set(INHERITED):
            patch.delenv(name)
        for name, value in {"AWS_EC2_METADATA_DISABLED": "true", **variables}.items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", ["heartwood", *arguments])
        patch.setattr(sys, "stdin", io.StringIO(answer))
        with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
            try:
                code = main()
            except SystemExit as stopped:
                code = int(stopped.code or 0)
    for stream in streams:
        stream.flush()
    return Done(code, *(stream.buffer.getvalue() for stream in streams))  # type: ignore[attr-defined]
