"""Log lines: bounded in length, and with nothing that could be taken for another line."""

from typing import Any

import pytest

from schema.http.logs import LONGEST, bounded


def shown(**line: Any) -> dict[str, Any]:
    result: dict[str, Any] = bounded(None, "", line)
    return result


def test_a_long_field_is_cut() -> None:
    line = shown(user_agent="x" * 60_000, status=200, calls={"Query": 1})

    assert line == {"user_agent": f"{'x' * LONGEST}… (60000 characters)", "status": 200, "calls": {"Query": 1}}


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("/a\nINFO forged", "/a\\nINFO forged"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\u2028\u202e", "\\u2028\\u202e"),
        ("\ud800", "\\ud800"),
        ("grüße 你好 🙂", "grüße 你好 🙂"),
    ],
)
def test_control_characters_are_escaped(text: str, plain: str) -> None:
    assert shown(path=text) == {"path": plain}


def test_a_traceback_keeps_its_lines_and_has_a_limit() -> None:
    line = shown(event="failed", exception="line\n" * 10_000)

    assert line["exception"].startswith("line\nline\n")
    assert len(line["exception"]) < 10_100
    assert line["event"] == "failed"
