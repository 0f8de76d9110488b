"""A server that is killed has lost no audit entry of a command that it has acknowledged."""

import signal
from pathlib import Path

from resolvers.accounts.tokens import Tokens, TokenSettings
from tests.conftest import SECRET
from tests.support.serving import CREATE_TENANT, launched, serving


def test_a_kill_after_thirty_commands_leaves_thirty_audit_entries(
    endpoint: str, table_name: str, tmp_path: Path
) -> None:
    place = {"DYNAMODB_ENDPOINT": endpoint, "TABLE_NAME": table_name, "DATA_DIR": str(tmp_path)}
    token = Tokens(TokenSettings(SECRET)).issue("root", frozenset({"admin"}), tenants={"kept": "admin"})
    headers = {"authorization": f"Bearer {token}", "x-tenant-id": "kept"}
    create = "mutation ($title: String!) { createContent(input: {title: $title}) { problems { code } } }"
    log = '{ auditLog(first: 100, action: "createContent") { nodes { target { title } } } }'
    titles = [f"Page {number}" for number in range(30)]
    with launched("--no-demo", AUTH_SECRET=SECRET, **place) as first:
        first.ask(CREATE_TENANT, {"authorization": f"Bearer {token}"}, variables={"id": "kept"})
        for title in titles:
            made = first.ask(create, headers, variables={"title": title})
            assert made == {"createContent": {"problems": []}}
        first.stop(signal.SIGKILL)

    with serving(endpoint, table_name) as second:
        nodes = second.post(log, headers).json()["data"]["auditLog"]["nodes"]

    assert [node["target"]["title"] for node in reversed(nodes)] == titles
