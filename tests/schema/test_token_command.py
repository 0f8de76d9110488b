"""`heartwood token`: tokens for administrators and programs."""

import time
from pathlib import Path

import jwt
import pytest

from datastore.client.errors import Denied, InvalidKey
from schema.http.settings import Settings
from schema.http.token_command import token_for
from tests.conftest import SECRET
from tests.support.command_line import Done, heartwood
from tests.support.serving import Served, a_table, launched, serving

PROVIDER = {
    "AUTH_JWKS_URL": "https://login.example.org/keys",
    "AUTH_ISSUER": "https://login.example.org/",
    "AUTH_AUDIENCE": "heartwood",
}


def token(*arguments: str, **variables: str) -> Done:
    return heartwood("token", *arguments, **variables)


def test_a_token_of_the_operators_has_its_roles_at_the_server(endpoint: str) -> None:
    # Before the server runs in this process: its log goes to the same output.
    printed = token("auditor-1", "--role", "admin", AUTH_SECRET=SECRET).stdout
    plain = token("auditor-1", AUTH_SECRET=SECRET).stdout
    with a_table(endpoint) as table_name, serving(endpoint, table_name) as served:
        sign_up(served)

        assert seen_by(served, printed) == {"user": {"email": "tove@example.org"}}
        assert seen_by(served, plain) == {"user": {"email": None}}


def sign_up(served: Served) -> None:
    served.post("""mutation {
        signUp(input: {username: "tove", email: "tove@example.org", password: "a long secret"}) { token }
    }""")


def seen_by(served: Served, printed: str) -> object:
    bearer = {"authorization": f"Bearer {printed.strip()}"}
    return served.post('{ user(by: {username: "tove"}) { email } }', bearer).json()["data"]


def test_the_token_alone_is_printed_and_says_what_it_was_told() -> None:
    made = token("builder-1", "--role", "builder", "--role", "admin", "--days", "90", AUTH_SECRET=SECRET)

    assert (made.returncode, made.stderr) == (0, "")
    (line,) = made.stdout.splitlines()
    claims = jwt.decode(line, SECRET, ["HS256"])
    assert (claims["sub"], claims["roles"]) == ("builder-1", ["admin", "builder"])
    assert claims["exp"] - claims["iat"] == 90 * 24 * 3600
    assert abs(claims["iat"] - time.time()) < 60


def test_without_days_it_is_valid_as_long_as_any_other() -> None:
    settings = Settings(auth_secret=SECRET, auth_token_lifetime=600, auth_issuer="us", auth_audience="them")

    claims = jwt.decode(token_for(settings, "ada", [], None), SECRET, ["HS256"], audience="them", issuer="us")

    assert claims["exp"] - claims["iat"] == 600
    assert "roles" not in claims


def test_at_home_it_is_signed_with_the_secret_of_the_server_that_runs(
    endpoint: str, table_name: str, tmp_path: Path
) -> None:
    with launched(DATA_DIR=str(tmp_path), DYNAMODB_ENDPOINT=endpoint, TABLE_NAME=table_name, LOG_LEVEL="ERROR") as home:
        # The server is running and has locked its engine.
        printed = token("auditor-1", "--role", "admin", DATA_DIR=str(tmp_path)).stdout
        asked = home.ask('{ user(by: {username: "maya"}) { email } }', {"authorization": f"Bearer {printed.strip()}"})

    assert asked["user"]["email"] is not None


def test_where_an_identity_provider_issues_tokens_there_is_none() -> None:
    refused = token("builder-1", "--role", "builder", AUTH_SECRET=SECRET, **PROVIDER)

    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == (
        "tokens come from the identity provider (AUTH_JWKS_URL): give roles there, in the claim `roles`\n"
    )


def test_away_from_home_the_secret_is_asked_for_and_none_is_made(tmp_path: Path) -> None:
    settings = Settings(aws_region="eu-central-1", data_dir=tmp_path)

    with pytest.raises(Denied, match="set AUTH_SECRET"):
        token_for(settings, "builder-1", [], None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("subject", ["", "a#b", "a\nb", "\0", "x" * 3000])
def test_a_subject_is_what_a_user_id_can_be(subject: str) -> None:
    with pytest.raises(InvalidKey):
        token_for(Settings(auth_secret=SECRET), subject, [], None)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "the following arguments are required: subject"),
        (["ada", "--role", "king"], "invalid choice: 'king'"),
        (["ada", "--days", "0"], "'0' is not a number of days from 1 to 3650"),
        (["ada", "--days", "3651"], "'3651' is not a number of days"),
        (["ada", "--days", "003650000"], "'003650000' is not a number of days"),
        (["ada", "--days", "1e3"], "'1e3' is not a number of days"),
        (["ada", "--days", "²"], "'²' is not a number of days"),
    ],
)
def test_bad_arguments_are_explained(arguments: list[str], reason: str) -> None:
    refused = token(*arguments)

    assert (refused.returncode, refused.stdout) == (2, "")
    assert reason in refused.stderr
