"""The code for receivers in docs/webhooks.md verifies what the server signs, and nothing else."""

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from datastore.webhooks import WebhookEvent
from resolvers.webhooks.events import RULES
from resolvers.webhooks.processors import DOMAINS
from resolvers.webhooks.signatures import headers, new_secret
from tests.support.documents import blocks_of
from tests.support.serving import ROOT

PAGE = ROOT / "docs/webhooks.md"
CODE = {block.language: block.text for block in blocks_of(PAGE)}
SECRET, BODY = new_secret(), '{"type":"post.created","data":{"caption":"Füße"}}'.encode()

Verify = Callable[[str, dict[str, str], bytes], bool]


def in_python(secret: str, given: dict[str, str], body: bytes) -> bool:
    names: dict[str, Any] = {}
    exec(CODE["python"], names)
    return bool(names["verified"](secret, given, body))


@pytest.fixture(params=["python", "javascript"])
def verified(request: pytest.FixtureRequest, tmp_path: Path) -> Verify:
    if request.param == "python":
        return in_python
    (tmp_path / "receiver.mjs").write_text(CODE["javascript"])
    (tmp_path / "run.mjs").write_text(
        'import { verified } from "./receiver.mjs";\n'
        "const [secret, headers, body] = JSON.parse(process.argv[2]);\n"
        'console.log(verified(secret, headers, Buffer.from(body, "utf8")));\n'
    )

    def in_node(secret: str, given: dict[str, str], body: bytes) -> bool:
        arguments = json.dumps([secret, given, body.decode()])
        done = subprocess.run(["node", tmp_path / "run.mjs", arguments], capture_output=True, text=True, check=True)
        return bool(json.loads(done.stdout))

    return in_node


def sent(*secrets: str, at: float = 0.0) -> dict[str, str]:
    made = headers([*secrets], "msg_1", int(time.time() + at), BODY)
    return {name.lower(): value for name, value in made.items()}


def test_what_the_server_signs_is_verified(verified):
    assert verified(SECRET, sent(SECRET), BODY)


def test_both_secrets_are_verified_after_a_rotation(verified):
    assert verified(SECRET, sent(new_secret(), SECRET), BODY)


@pytest.mark.parametrize("change", ["secret", "body", "id", "time", "old", "future"])
def test_anything_else_is_refused(verified, change):
    secret, given, body = SECRET, sent(SECRET), BODY
    if change == "secret":
        secret = new_secret()
    elif change == "body":
        body += b" "
    elif change == "id":
        given["webhook-id"] = "msg_2"
    elif change == "time":
        given["webhook-timestamp"] = str(int(given["webhook-timestamp"]) + 1)
    else:
        given = sent(SECRET, at=-400 if change == "old" else 400)

    assert not verified(secret, given, body)


def test_every_event_is_in_the_table():
    assert DOMAINS
    rows = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    shown = {(row[0].strip("| `"), row[1].strip("`")) for row in rows}
    assert shown == {(event.name, event.value) for event in WebhookEvent}
    fields = {row[0].strip("| `"): set(row[3].strip(" |").replace("`", "").split(", ")) for row in rows}
    for rule in (rule for rules in RULES.values() for rule in rules):
        if fields[rule.event.name] != {"the same"}:
            assert fields[rule.event.name] == rule.names
