"""The server process: pages, startup, shutdown and the log."""

import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from datastore.local import engine
from datastore.local.endpoint import LOCAL_REGION
from datastore.local.provision import connect
from resolvers.accounts.tokens import Tokens, TokenSettings
from resolvers.demo.people import PEOPLE as DEMO_PEOPLE
from schema.http import graphiql
from tests.conftest import SECRET
from tests.support.mixed.society import opaque
from tests.support.serving import (
    CREATE_TENANT,
    ROOT,
    Process,
    Served,
    a_table,
    command,
    environment,
    free_port,
    launched,
    nobody,
    serving,
    until,
)

USERNAMES = "query Usernames { users(first: 100) { nodes { username } } }"
SIGN_UP = """mutation SignUp {
    signUp(input: {username: "newcomer", email: "newcomer@example.org", password: "a long secret"}) { token }
}"""
needs_engine = pytest.mark.skipif(engine.dynoxide() is None, reason="the local engine is not installed: npm install")
needs_graphiql = pytest.mark.skipif(not graphiql.is_bundled(), reason="GraphiQL is not installed: npm install")


@pytest.fixture(scope="module")
def server(endpoint: str) -> Iterator[Served]:
    with a_table(endpoint) as table_name, serving(endpoint, table_name) as served:
        yield served


@pytest.fixture(scope="module")
def table_of_process(endpoint: str) -> Iterator[str]:
    with a_table(endpoint) as table_name:
        yield table_name


@pytest.fixture(scope="module")
def process(endpoint: str, table_of_process: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A server without demo data, shared by tests, because each start takes seconds."""
    data_dir = str(tmp_path_factory.mktemp("data"))
    place = {"DYNAMODB_ENDPOINT": endpoint, "TABLE_NAME": table_of_process, "DATA_DIR": data_dir}
    with launched("--no-demo", AUTH_SECRET=SECRET, **place) as process:
        yield process


def readiness(server: Served) -> httpx.Response:
    """Returns the answer of /readyz once the table has been checked."""
    until(lambda: "not been checked" not in server.http.get("/readyz").text)
    return server.http.get("/readyz")


def test_it_is_alive_and_ready(server: Served) -> None:
    for answer in (server.http.get("/healthz"), readiness(server)):
        assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_it_is_alive_but_not_ready_without_its_table(endpoint: str) -> None:
    with serving(endpoint, "no-such-table") as server:
        alive, ready = server.http.get("/healthz"), readiness(server)

    assert alive.status_code == 200
    assert (ready.status_code, ready.json()) == (503, {"status": "the table does not exist"})


def test_it_is_alive_but_not_ready_without_its_database(table_name: str) -> None:
    with nobody() as address, serving(f"http://{address}", table_name) as server:
        alive, ready = server.http.get("/healthz"), readiness(server)

    assert alive.status_code == 200
    assert (ready.status_code, ready.json()) == (503, {"status": "the table does not answer"})


def test_a_missing_database_is_a_retryable_error_that_says_nothing_of_where_it_is(table_name: str) -> None:
    with nobody() as address, serving(f"http://{address}", table_name, request_timeout=4) as server:
        answer = server.post("{ users { nodes { id } } }")

    (error,) = answer.json()["errors"]
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert error["extensions"] == {"code": "UNAVAILABLE", "retryable": True, "retryAfter": 5}
    assert address not in answer.text


def test_code_generators_can_take_the_schema_as_text(server: Served) -> None:
    answer = server.http.get("/schema.graphql")

    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text == (ROOT / "schema/schema.graphql").read_text()


@pytest.fixture(scope="module")
def silent(process: Process) -> Iterator[list[socket.socket]]:
    """Opens a connection for each beginning, sends it, and then stays silent."""
    url = urlsplit(str(process.http.base_url))
    beginnings = (b"", b"POST /graphql HTTP/1.1\r\nHost: x\r\n")
    connections = [socket.create_connection((url.hostname, url.port), timeout=120) for _ in beginnings]
    for connection, beginning in zip(connections, beginnings, strict=True):
        connection.sendall(beginning)
    yield connections
    for connection in connections:
        connection.close()


def test_home_is_graphiql(server: Served) -> None:
    answer = server.http.get("/")

    assert (answer.status_code, answer.headers["location"]) == (307, "/graphql")


@needs_graphiql
def test_graphiql_comes_from_this_server_alone(server: Served) -> None:
    page = server.http.get("/graphql", headers={"accept": "text/html"})

    assert "https://" not in page.text
    assert "script-src 'self';" in page.headers["content-security-policy"]
    for name in ("graphiql.js", "graphiql.css", "start.js", "page.css"):
        assert f'"/graphiql/{name}"' in page.text
    for name in (*graphiql.BUNDLED, *graphiql.OWN):
        assert server.http.get(f"/graphiql/{name}").status_code == 200


@pytest.mark.parametrize(
    "name", ["nothing.js", "__init__.py", "..%2Fbuild.py", "..%2f..%2fserver.py", "examples.graphql"]
)
def test_nothing_but_graphiqls_files_is_served(server: Served, name: str) -> None:
    assert server.http.get(f"/graphiql/{name}").status_code == 404


def test_graphiql_can_be_switched_off(endpoint: str, table_name: str) -> None:
    with serving(endpoint, table_name, graphiql=False) as server:
        assert server.http.get("/graphql", headers={"accept": "text/html"}).status_code == 404
        assert server.post("{ __typename }").status_code == 200


@pytest.mark.parametrize("case", ["port in use", "no database"])
def test_a_failed_start_says_why_without_a_traceback(case: str, endpoint: str, table_name: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        variables, reason = {
            "port in use": (
                {"PORT": str(taken.getsockname()[1]), "DYNAMODB_ENDPOINT": endpoint, "TABLE_NAME": table_name},
                "address already in use",
            ),
            "no database": ({"DYNAMODB_ENDPOINT": f"http://127.0.0.1:{free_port()}"}, "Could not connect"),
        }[case]
        chosen = environment(**{"DATA_DIR": str(tmp_path / "data"), "PORT": "0", **variables})
        stopped = subprocess.run(command(), cwd=ROOT, env=chosen, capture_output=True, text=True, timeout=120)

    assert (stopped.returncode, stopped.stdout) == (1, "")
    assert reason in stopped.stderr
    assert "Traceback" not in stopped.stderr


def children(data_dir: Path) -> list[str]:
    """Returns the processes of the engine on this directory."""
    found = subprocess.run(["pgrep", "-f", str(data_dir)], capture_output=True, text=True).stdout
    return found.split()


def usernames(process: Process) -> set[str]:
    return {user["username"] for user in process.ask(USERNAMES)["users"]["nodes"]}


PEOPLE = set(DEMO_PEOPLE)


@needs_engine
def test_a_first_start_has_a_demo_and_what_is_written_survives_even_a_kill(tmp_path: Path) -> None:
    with launched(DATA_DIR=str(tmp_path)) as first:
        assert usernames(first) == PEOPLE
        until(lambda: len(first.printed) == 3)
        maya = {"authorization": "Bearer " + first.printed[2].partition("Bearer ")[2].rstrip('"}\n')}
        assert first.ask("{ viewer { username } }", maya) == {"viewer": {"username": "maya"}}
        page = first.http.get("/", headers={"accept": "text/html"}, follow_redirects=True)
        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "graphiql" in page.text
        bearer = {"authorization": f"Bearer {first.ask(SIGN_UP)['signUp']['token']}"}
        first.stop(signal.SIGKILL)

    with launched(DATA_DIR=str(tmp_path)) as second:
        assert len(second.ask(USERNAMES)["users"]["nodes"]) == len(PEOPLE) + 1
        assert usernames(second) == PEOPLE | {"newcomer"}
        # The secret persists too.
        assert second.ask("{ viewer { username } }", bearer) == {"viewer": {"username": "newcomer"}}
        # A request during the restart of the engine only takes longer.
        for pid in children(tmp_path):
            if Path(f"/proc/{pid}/comm").read_text().strip() == "dynoxide":
                os.kill(int(pid), signal.SIGKILL)
        assert usernames(second) == PEOPLE | {"newcomer"}
        until(lambda: "the local engine died" in str(second.logged_by("heartwood.engine")))
        status = second.stop(signal.SIGTERM)

    until(lambda: children(tmp_path) == [])
    assert status == 0
    assert second.logged_by("heartwood.errors") == []


def test_no_demo_leaves_the_table_empty(process: Process, silent: list[socket.socket]) -> None:
    assert usernames(process) & PEOPLE == set()
    assert "Maya" not in "".join(process.printed)


def away(endpoint: str) -> str:
    """Returns the same address in a form that is not recognized as local: as one number."""
    address = urlsplit(endpoint)
    return f"http://{int(ip_address(str(address.hostname).replace('localhost', '127.0.0.1')))}:{address.port}"


def test_there_is_never_a_demo_away_from_home(endpoint: str, table_name: str, tmp_path: Path) -> None:
    with launched(
        DATA_DIR=str(tmp_path), DYNAMODB_ENDPOINT=away(endpoint), TABLE_NAME=table_name, AUTH_SECRET=SECRET
    ) as process:
        assert usernames(process) == set()
        assert "Maya" not in "".join(process.printed)


@pytest.mark.parametrize(
    ("number", "expected"),
    [pytest.param(signal.SIGTERM, {0}, marks=pytest.mark.slow), (signal.SIGINT, {0, 130, -2})],
)
def test_being_asked_to_stop_is_no_accident(
    number: signal.Signals, expected: set[int], endpoint: str, table_name: str, tmp_path: Path
) -> None:
    with launched(DATA_DIR=str(tmp_path), DYNAMODB_ENDPOINT=endpoint, TABLE_NAME=table_name) as process:
        assert process.http.get("/healthz").status_code == 200
        status = process.stop(number)

    assert [line for line in process.lines if json.loads(line)["level"] != "info"] == []
    assert status in expected


def test_a_request_is_one_line_of_json_in_the_log(engine_name: str, process: Process) -> None:
    answers = [
        process.http.post("/graphql", json={"query": SIGN_UP, "operationName": "SignUp"}),
        process.http.post("/graphql", json={"query": USERNAMES}),
        process.http.post("/graphql", json={"query": "{"}),
    ]
    ids = [answer.headers["x-request-id"] for answer in answers]
    until(lambda: len(requests_logged(process, ids)) == 3)
    lines = requests_logged(process, ids)

    assert [line["request_id"] for line in lines] == ids
    assert [line["operation"] for line in lines] == ["SignUp", "Usernames", None]
    assert [line["calls"] for line in lines] == [{"TransactWriteItems": 1}, {"Query": 1}, {}]
    assert [(line["status"], line["errors"]) for line in lines] == [(200, 0), (200, 0), (200, 1)]
    assert [line["read_units"] > 0 for line in lines] == [False, True, False]
    # moto does not report the capacity of transactions.
    assert [line["write_units"] > 0 for line in lines] == [engine_name != "moto", False, False]
    assert all(line["ms"] > 0 and line["level"] == "info" and line["message"] == "graphql" for line in lines)
    assert "a long secret" not in "".join(process.lines)


def requests_logged(process: Process, ids: list[str]) -> list[dict[str, Any]]:
    return [line for line in process.logged_by("heartwood.server") if line.get("request_id") in ids]


def test_damage_is_in_the_log_and_its_key_is_not_in_the_answer(
    endpoint: str, table_of_process: str, process: Process
) -> None:
    damaged = {"PK": {"S": "USER#damaged"}, "SK": {"S": "PROFILE"}, "entityType": {"S": "Nothing"}}
    connect(endpoint, LOCAL_REGION).put_item(TableName=table_of_process, Item=damaged)
    query = f'{{ user(by: {{id: "{opaque("User#damaged")}"}}) {{ username }} }}'

    answer = process.http.post("/graphql", json={"query": query})

    ids = [answer.headers["x-request-id"]]
    until(lambda: requests_logged(process, ids))
    (error,), (request,) = answer.json()["errors"], requests_logged(process, ids)
    (damage,) = process.logged_by("heartwood.damage")
    assert error["extensions"] == {"code": "DAMAGED"}
    assert "USER#damaged" not in error["message"]
    assert damage["message"] == "the item USER#damaged / PROFILE has the unknown entityType {'S': 'Nothing'}"
    assert damage["level"] == "error"
    assert request["errors"] == 1


def test_every_route_logs_who_asked_for_what(process: Process) -> None:
    answer = process.http.get("/nowhere", headers={"user-agent": "tester " + "x" * 20_000})

    until(lambda: requests_logged(process, [answer.headers["x-request-id"]]))
    (line,) = requests_logged(process, [answer.headers["x-request-id"]])
    assert line.pop("ms") >= 0
    assert line.pop("timestamp")
    assert line == {
        "message": "request",
        "level": "info",
        "logger": "heartwood.server",
        "request_id": answer.headers["x-request-id"],
        "client": "127.0.0.1",
        "method": "GET",
        "path": "/nowhere",
        "status": 404,
        "bytes": len(answer.content),
        "user_agent": f"tester {'x' * 293}… (1000 characters)",
    }


def test_refused_tokens_and_roles_are_security_events(process: Process) -> None:
    token = Tokens(TokenSettings(SECRET)).issue("root", frozenset({"admin"}), tenants={"acme": "editor"})
    headers = [{"authorization": "Bearer x"}, {"authorization": f"Bearer {token}", "x-tenant-id": "acme"}]

    process.ask(CREATE_TENANT, {"authorization": f"Bearer {token}"}, variables={"id": "acme"})
    for each in headers:
        process.http.post("/graphql", json={"query": "{ __typename }"}, headers=each)

    until(lambda: len(process.logged_by("heartwood.security")) >= 3)
    _, refused, used = process.logged_by("heartwood.security")
    assert (refused["message"], refused["level"], refused["client"]) == ("token_refused", "warning", "127.0.0.1")
    assert (used["message"], used["level"], used["viewer"]) == ("role_used", "info", "root")
    assert (used["roles"], used["tenant"], used["tenant_role"]) == (["admin"], "acme", "editor")
    assert all(line["request_id"] for line in (refused, used))
    # They are also in the table, counted by the hour.
    log = "{ securityLog(action: %s) { nodes { actor { databaseId } clientAddress tenantDatabaseId count details } } }"
    by_admin = {"authorization": f"Bearer {token}"}
    until(lambda: len(process.ask(log % '"roleUsed"', by_admin)["securityLog"]["nodes"]) == 3)
    roles = process.ask(log % '"roleUsed"', by_admin)["securityLog"]["nodes"]
    assert {(node["tenantDatabaseId"], *node["details"].items()) for node in roles} == {
        (None, ("role", "admin")),
        ("acme", ("role", "admin")),
        ("acme", ("tenantRole", "editor")),
    }
    (counted,) = process.ask(log % '"tokenRefused"', by_admin)["securityLog"]["nodes"]
    assert counted == {
        "actor": {"databaseId": None},
        "clientAddress": "127.0.0.1",
        "tenantDatabaseId": None,
        "count": 1,
        "details": {"reason": "TOKEN_INVALID"},
    }


@pytest.mark.slow
def test_a_connection_that_keeps_silent_is_closed(silent: list[socket.socket]) -> None:
    """Uses the server as it is deployed: uvicorn itself would wait forever."""
    for connection in silent:
        assert connection.recv(100) == b""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Heartwood without its npm packages."""
    home = tmp_path / "copy"
    home.mkdir()
    shutil.copy(ROOT / "server.py", home)
    for package in ("datastore", "loaders", "resolvers", "schema"):
        shutil.copytree(ROOT / package, home / package)
    return home


def test_without_npm_data_is_in_memory_and_graphiql_comes_from_a_cdn(copy: Path, tmp_path: Path) -> None:
    with launched(cwd=copy, DATA_DIR=str(tmp_path / "data")) as process:
        assert usernames(process) == PEOPLE
        page = process.http.get("/graphql", headers={"accept": "text/html"})
        (warning,) = process.logged_by("heartwood.engine")

    assert warning["level"] == "warning"
    assert warning["message"].startswith("the local engine is not installed (npm install); using moto in memory")
    assert "in memory" in "".join(process.printed)
    loaded = [line for line in page.text.splitlines() if "https://" in line]
    assert len(loaded) == 4
    assert all('integrity="sha384-' in line and 'crossorigin="anonymous"' in line for line in loaded)
    assert "script-src 'self' https://cdn.jsdelivr.net;" in page.headers["content-security-policy"]
