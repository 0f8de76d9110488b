"""`heartwood table`: creates and describes the table, and deletes it only when told twice."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import uuid4

import pytest

from datastore.local import provision
from datastore.local.endpoint import LOCAL_REGION
from datastore.local.provision import definition, describe, differences, ensure
from tests.datastore.test_provision import with_keys_only_in_an_index
from tests.support.command_line import Done, heartwood

pytestmark = pytest.mark.engine_contract


@pytest.fixture(scope="module")
def client(endpoint):
    return provision.connect(endpoint, LOCAL_REGION)


@pytest.fixture
def name(client):
    """A table name; a table that a test creates under it is deleted."""
    name = f"command-{uuid4().hex[:12]}"
    yield name
    if describe(client, name) is not None:
        client.delete_table(TableName=name)


@pytest.fixture
def run(endpoint, name):
    def run(*arguments, answer=""):
        return heartwood("table", *arguments, answer=answer, DYNAMODB_ENDPOINT=endpoint, TABLE_NAME=name)

    return run


def test_the_command_line_creates_and_describes_a_table(run, client, endpoint, name):
    missing = run("describe")
    assert (missing.returncode, missing.stderr) == (1, "")
    assert missing.stdout == f"null\ndiffers: there is no table {name}\n"

    created = run("create")
    assert (created.returncode, created.stdout, created.stderr) == (0, f"{name} at {endpoint}: created\n", "")
    assert differences(client, name, backups=False, stream=False) == []

    again = run("create")
    assert (again.returncode, again.stdout) == (0, f"{name} at {endpoint}: exists and fits\n")

    described = run("describe")
    assert (described.returncode, described.stderr) == (0, "")
    table, _, verdict = described.stdout.rstrip().rpartition("\n")
    assert json.loads(table)["TableName"] == name
    assert verdict == "fits"


def test_the_command_line_says_how_a_table_differs(run, client, name):
    unfit = definition(name, stream=False)
    with_keys_only_in_an_index(unfit)
    client.create_table(**unfit)
    created = run("create")
    assert (created.returncode, created.stdout) == (1, "")
    assert created.stderr == f"table {name} does not fit:\n  - projection of GSI2 is KEYS_ONLY, needs to be ALL\n"
    described = run("describe")
    assert described.returncode == 1
    assert described.stdout.endswith(
        "\ndiffers: projection of GSI2 is KEYS_ONLY, needs to be ALL\n"
        "differs: TTL attribute is None, needs to be expiresAt\n"
    )


def test_wipe_asks_and_a_wrong_answer_deletes_nothing(run, client, endpoint, name):
    ensure(client, name, backups=False, stream=False)
    question = f"Delete {name} at {endpoint} and everything in it? Type its name: "

    wrong = run("wipe", answer="yes\n")
    assert (wrong.returncode, wrong.stdout, wrong.stderr) == (1, f"{question}nothing was deleted\n", "")
    assert describe(client, name) is not None

    right = run("wipe", answer=f"{name}\n")
    assert (right.returncode, right.stdout) == (0, f"{question}{name} at {endpoint} was deleted\n")
    assert describe(client, name) is None


def test_wipe_with_nobody_to_ask_deletes_nothing_and_says_so(run, client, name):
    ensure(client, name, backups=False, stream=False)
    wiped = run("wipe")
    assert describe(client, name) is not None
    assert wiped.returncode == 1
    assert "Traceback" not in wiped.stderr
    assert "nothing was deleted" in wiped.stdout


def test_wipe_does_not_ask_if_told_so(run, client, endpoint, name):
    ensure(client, name, backups=False, stream=False)
    wiped = run("wipe", "--yes")
    assert (wiped.returncode, wiped.stdout, wiped.stderr) == (0, f"{name} at {endpoint} was deleted\n", "")
    assert describe(client, name) is None
    again = run("wipe", "--yes")
    assert (again.returncode, again.stdout) == (0, f"there is no table {name} at {endpoint}\n")


@pytest.fixture
def internet():
    """All that leaves for another machine: a proxy that notes each request and answers that there is no table."""
    seen = []

    class Proxy(BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append((self.path, self.headers["X-Amz-Target"]))
            self.rfile.read(int(self.headers["Content-Length"]))
            body = b'{"__type": "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException", "message": "none"}'
            self.send_response(400)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_CONNECT(self):
            seen.append((self.path, None))
            self.send_error(502)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", seen
        server.shutdown()


def test_wipe_leaves_other_machines_alone_unless_forced(internet):
    proxy, seen = internet
    environment = {
        "DYNAMODB_ENDPOINT": "http://dynamodb.example.org",
        "HTTP_PROXY": proxy,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }
    for arguments in (["wipe"], ["wipe", "--yes"]):
        refused = heartwood("table", *arguments, answer="heartwood\n", **environment)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert refused.stderr == "http://dynamodb.example.org is not on this machine; pass --force to wipe it\n"
    assert seen == []

    forced = heartwood("table", "wipe", "--force", **environment)
    assert (forced.returncode, forced.stdout) == (0, "there is no table heartwood at http://dynamodb.example.org\n")
    assert seen == [("http://dynamodb.example.org/", "DynamoDB_20120810.DescribeTable")]


def test_wipe_leaves_aws_alone_unless_forced(internet):
    proxy, seen = internet
    refused = heartwood("table", "wipe", "--yes", AWS_REGION="eu-central-1", HTTPS_PROXY=proxy, HTTP_PROXY=proxy)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "AWS eu-central-1 is not on this machine; pass --force to wipe it\n"
    assert seen == []


@pytest.mark.parametrize(
    ("variables", "complaint"),
    [
        (
            {"DYNAMODB_ENDPOINT": "localhost:8000"},
            "DYNAMODB_ENDPOINT: write it as http://host:port or https://host (it is 'localhost:8000')\n",
        ),
        (
            {"TABLE_NAME": "a b"},
            "TABLE_NAME: String should match pattern '^[a-zA-Z0-9_.-]{3,255}$' (it is 'a b')\n",
        ),
    ],
)
def test_bad_settings_are_explained(variables, complaint):
    assert heartwood("table", "describe", **variables) == Done(2, "", complaint)
