"""`heartwood top`."""

import io

import pytest
from rich.console import Console

from schema.http.operation_counts import OWN_AFTER
from schema.http.top_command import Watched, view
from tests.support.command_line import heartwood
from tests.support.serving import Served, nobody, serving


def drawn(*watched: Watched) -> str:
    out = io.StringIO()
    Console(file=out, width=140).print(view(watched))
    return out.getvalue()


def test_it_shows_what_happened_between_two_readings(server: Served) -> None:
    watched = Watched(f"{server.url}/metrics")
    for _ in range(OWN_AFTER):
        server.post("query Names { users(first: 1) { nodes { username } } }")
    watched.read()
    for _ in range(3):
        server.post("query Names { users(first: 1) { nodes { username } } }")
    watched.read()
    shown = drawn(watched)
    (line,) = [line for line in shown.splitlines() if "Names" in line]
    rate = float(line.split("│")[2])
    assert rate == pytest.approx(3 / watched.seconds, abs=0.06)
    assert line.split("│")[6].strip() == "1.0"  # one call for each
    assert server.url.removeprefix("http://") in shown


def test_a_server_that_cannot_be_reached_is_shown_as_such(server: Served) -> None:
    with nobody() as address:
        dead, alive = Watched(f"http://{address}/metrics"), Watched(f"{server.url}/metrics")
        dead.read()
        alive.read()
    assert "Connection refused" in drawn(dead, alive)
    assert alive.problem is None


def test_the_command_draws_as_often_as_told(server: Served) -> None:
    done = heartwood("top", server.url, "--times", "2", "--every", "0.1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Operations, by time" in done.stdout


def test_without_any_server_it_fails_and_says_why() -> None:
    with nobody() as address:
        done = heartwood("top", address, "--times", "1")
    assert done.returncode == 1
    assert "refused" in done.stdout


def test_metrics_that_are_off_are_explained(endpoint: str, table_name: str) -> None:
    with serving(endpoint, table_name, metrics=False) as server:
        done = heartwood("top", server.url, "--times", "1")
    assert done.returncode == 1
    assert "METRICS=false" in done.stdout


@pytest.mark.parametrize("arguments", [["ftp://x"], ["http://127.0.0.1:1", "--every", "0"]])
def test_wrong_arguments_are_explained(arguments: list[str]) -> None:
    done = heartwood("top", *arguments, "--times", "1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "write" in done.stderr
