"""The server process: what stops it."""

from pathlib import Path

import pytest

import resolvers
from resolvers.accounts.passwords import Passwords
from schema.http.process import Server
from schema.http.services import Services
from schema.http.settings import Settings
from tests.conftest import SECRET
from tests.support.tables import the_engine_at

TYPO = """\
from datastore.accounts import User
from datastore.client.writes import Update

def rename(user: User): return Update(user.own_key, set={"usrname": "ada"})
"""


async def test_a_write_to_an_unknown_field_stops_the_server(
    endpoint: str, table_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "typo.py").write_text(TYPO)
    monkeypatch.setattr(resolvers, "__path__", [str(tmp_path)])
    settings = Settings(dynamodb_endpoint=endpoint, table_name=table_name, auth_secret=SECRET, port=0)
    server = Server(Services.at(the_engine_at(endpoint), settings, SECRET, Passwords(rounds=4)), grace=1)

    await server.serve()

    assert str(server.mistakes).endswith("typo.py:4: User has no field usrname: did you mean username?")
