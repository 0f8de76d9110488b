"""Settings: a bad one is named, and a secret is required or created."""

import hashlib
from base64 import b64encode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from schema.http.secret import secret_for
from schema.http.settings import Settings, explained
from tests.support.command_line import heartwood
from tests.support.serving import ROOT

BAD = [
    ("TABLE_NAME", "a"),
    ("TABLE_NAME", "with space"),
    ("DYNAMODB_ENDPOINT", "localhost:8000"),
    ("DYNAMODB_ENDPOINT", "ftp://localhost"),
    ("PORT", "abc"),
    ("PORT", "-1"),
    ("PORT", "65536"),
    ("WORKERS", "0"),
    ("WORKERS", "many"),
    ("TRUSTED_PROXIES", "proxy.example.org"),
    ("TRUSTED_PROXIES", "10.0.0.1/8"),
    ("TRUSTED_PROXIES", "0.0.0.0/0"),
    ("AUTH_SECRET", "too short"),
    ("AUTH_SECRET", "a" * 40),
    ("AUTH_SECRET", "ab1" * 20),
    ("AUTH_SECRET", "0123456789abcdef" * 3),
    ("AUTH_SECRET", "the same sentence, the same sentence, the same "),
    ("AUTH_SECRET", "abcdefghijklmnopqrstuvwxyz0123456789"),
    ("AUTH_SECRET", "a secret for tests, of at least 32 characters"),
    ("AUTH_SECRET", "ChangeMe-9f8a7b6c5d4e3f2a1b0c9d8e7f6a"),
    ("AUTH_JWKS_URL", "login.example.org"),
    ("AUTH_JWKS_URL", "http://login.example.org/keys"),
    ("AUTH_JWKS_URL", "http://127.0.0.1.example.org/keys"),
    ("AUTH_TOKEN_LIFETIME", "1"),
    ("MAIL_URL", "mail.example.org"),
    ("MAIL_FROM", "nobody"),
    ("REQUEST_TIMEOUT", "0"),
    ("REQUEST_TIMEOUT", "nan"),
    ("REQUEST_TIMEOUT", "inf"),
    ("MAX_CONNECTIONS", "0"),
    ("MAX_CONNECTIONS_PER_ADDRESS", "0"),
    ("WRITE_TIMEOUT", "0"),
    ("MAX_REQUESTS_IN_FLIGHT", "1"),
    ("MAX_CALLS_IN_FLIGHT", "0"),
    ("MAX_BODY_BYTES", "10"),
    ("RATE_LIMITS", "perhaps"),
    ("RATE_LIMIT_COST", "0"),
    ("RATE_LIMIT_WRITES", "0"),
    ("RATE_LIMIT_CLIENT_FACTOR", "0"),
    ("RATE_LIMIT_TENANT_FACTOR", "0"),
    ("RATE_LIMIT_COMMANDS", "createPost"),
    ("RATE_LIMIT_COMMANDS", "createPosts=1"),
    ("MAX_QUERY_TOKENS", "1"),
    ("MAX_QUERY_DEPTH", "0"),
    ("MAX_QUERY_DEPTH", "1000"),
    ("MAX_QUERY_COST", "0"),
    ("MAX_JSON_DEPTH", "100000"),
    ("MAX_JSON_VALUES", "0"),
    ("CORS_ORIGINS", "app.example.org"),
    ("CORS_ORIGINS", "https://app.example.org/path"),
    ("CORS_ORIGINS", "{}"),
    ("CORS_ORIGINS", "*"),
    ("CORS_ORIGINS", "https://*"),
    ("CORS_ORIGINS", "https://app.example.org,https://*.example.org"),
    ("GRAPHIQL", "perhaps"),
    ("METRICS", "some"),
    ("LOG_LEVEL", "LOUD"),
    ("LOG_FORMAT", "xml"),
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_bad_setting_is_named_and_nothing_starts(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setattr("datastore.local.endpoint.chosen", lambda _: pytest.fail("it started all the same"))
    provider = {"AUTH_ISSUER": "https://login.example.org/", "AUTH_AUDIENCE": "heartwood"}

    stopped = heartwood("serve", **{name: value}, **provider if name == "AUTH_JWKS_URL" else {})

    assert (stopped.returncode, stopped.stdout) == (2, "")
    (line,) = stopped.stderr.splitlines()
    assert line.startswith(f"{name}: ")


def test_every_bad_setting_is_named_at_once_and_no_secret_is_repeated() -> None:
    stopped = heartwood(
        "serve", PORT="abc", LOG_LEVEL="LOUD", AUTH_SECRET="hunter2hunter2", MAIL_URL="smtp://x:hunter2/@example.org"
    )

    assert stopped.returncode == 2
    names = [line.partition(":")[0] for line in stopped.stderr.splitlines()]
    assert names == ["PORT", "AUTH_SECRET", "MAIL_URL", "LOG_LEVEL"]
    assert "hunter2" not in stopped.stderr + stopped.stdout


@pytest.mark.parametrize("missing", ["auth_issuer", "auth_audience"])
def test_an_identity_provider_needs_an_issuer_and_an_audience(missing: str) -> None:
    whole = {
        "auth_jwks_url": "https://x.example/keys",
        "auth_issuer": "https://x.example/",
        "auth_audience": "heartwood",
    }
    assert Settings(**whole).auth_audience == "heartwood"

    with pytest.raises(ValidationError, match="AUTH_JWKS_URL needs AUTH_ISSUER and AUTH_AUDIENCE"):
        Settings(**{**whole, missing: None})


@pytest.mark.parametrize("secret", ["a" * 40, "a secret for tests, of at least 32 characters"])
def test_a_guessable_secret_is_refused_with_the_command_that_makes_one(secret: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Settings(auth_secret=secret)

    assert explained(refused.value).startswith("AUTH_SECRET: it ")
    assert explained(refused.value).endswith("make one with `openssl rand -base64 48`")
    assert secret not in explained(refused.value)


@given(st.binary().map(lambda seed: b64encode(hashlib.sha384(seed).digest()).decode()))
def test_a_random_secret_is_accepted(secret: str) -> None:
    assert Settings(auth_secret=secret).auth_secret == secret
    assert Settings(auth_secret=hashlib.sha256(secret.encode()).hexdigest()).auth_secret


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1:9000", "[::1]:9000"])
def test_keys_and_origins_on_this_machine_may_be_without_tls(host: str) -> None:
    provider = {"auth_issuer": "us", "auth_audience": "them"}
    chosen = Settings(auth_jwks_url=f"http://{host}/keys", cors_origins=f"http://{host}", aws_region="x", **provider)

    assert (chosen.auth_jwks_url, chosen.cors_origins) == (f"http://{host}/keys", [f"http://{host}"])


@pytest.mark.parametrize("away", [{"aws_region": "eu-central-1"}, {"dynamodb_endpoint": "http://db.example.org"}])
def test_away_from_home_an_origin_without_tls_is_refused(away: dict[str, str]) -> None:
    origin = "http://app.example.org"
    assert Settings(cors_origins=origin).cors_origins == [origin]

    with pytest.raises(ValidationError, match=f"CORS_ORIGINS: write {origin} with https://"):
        Settings(cors_origins=f"https://www.example.org,{origin}", **away)


def test_a_mail_server_needs_a_sender() -> None:
    with pytest.raises(ValidationError, match="MAIL_URL needs MAIL_FROM") as refused:
        Settings(mail_url="smtp://heartwood:hunter2@mail.example.org")

    assert "hunter2" not in explained(refused.value)


def test_an_empty_variable_is_the_same_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DYNAMODB_ENDPOINT", "AWS_REGION", "PORT", "AUTH_SECRET"):
        monkeypatch.setenv(name, "")

    settings = Settings()

    assert (settings.dynamodb_endpoint, settings.aws_region, settings.port, settings.auth_secret) == (
        None,
        None,
        8000,
        None,
    )


@pytest.mark.parametrize("name", [name.upper() for name in Settings.model_fields])
def test_every_setting_is_in_the_readme(name: str) -> None:
    assert f"`{name}`" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize(
    "variables",
    [
        {"DYNAMODB_ENDPOINT": "http://dynamodb.example.org:8000"},
        {"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"},
    ],
)
def test_away_from_home_a_secret_is_asked_for(variables: dict[str, str], tmp_path: Path) -> None:
    stopped = heartwood("serve", DATA_DIR=str(tmp_path), **variables)

    assert (stopped.returncode, stopped.stdout) == (1, "")
    (line,) = stopped.stderr.splitlines()
    assert line.startswith("set AUTH_SECRET (32 characters or more)")
    assert list(tmp_path.iterdir()) == []


def test_at_home_a_secret_is_made_once_and_kept_to_oneself(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "new")

    secret = secret_for(settings)

    assert len(secret) >= 32
    assert secret_for(settings) == secret
    assert (tmp_path / "new/secret").stat().st_mode & 0o777 == 0o600


def test_a_data_directory_that_is_a_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    stopped = heartwood("serve", DATA_DIR=str(tmp_path / "file"))

    assert (stopped.returncode, stopped.stdout) == (1, "")
    assert stopped.stderr == f"[Errno 17] File exists: '{tmp_path / 'file'}'\n"


@pytest.mark.parametrize(
    ("chosen", "local_table", "limited"),
    [
        ({}, True, False),
        ({"host": "localhost"}, True, False),
        ({"host": "127.0.0.2"}, True, False),
        ({"host": "0.0.0.0"}, True, True),
        ({}, False, True),
        ({"trusted_proxies": "127.0.0.1"}, True, True),
        ({"rate_limits": "on"}, True, True),
        ({"rate_limits": "off", "host": "0.0.0.0"}, False, False),
    ],
)
def test_rate_limits_are_off_only_where_nobody_else_can_reach_the_server(chosen, local_table, limited):
    assert Settings(**chosen).limits_rates(local_table=local_table) is limited
