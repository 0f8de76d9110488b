"""Plain http is refused in production."""

import pytest

from schema.http.client_address import networks
from schema.http.https_only import REFUSED, HttpsOnly
from tests.conftest import SECRET
from tests.support.serving import Served, serving

PROXIES = networks("10.0.0.0/8,127.0.0.1")
HTTPS = {"x-forwarded-proto": "https"}


def scope(client: str | None, *protos: str) -> dict[str, object]:
    headers = [(b"x-forwarded-proto", proto.encode()) for proto in protos]
    return {"type": "http", "client": (client, 1) if client else None, "headers": headers}


@pytest.mark.parametrize(
    ("client", "protos", "allowed"),
    [
        ("10.0.0.1", ["https"], True),
        ("10.0.0.1", ["HTTPS"], True),
        ("10.0.0.1", ["wss"], True),
        ("10.0.0.1", ["http"], False),
        ("10.0.0.1", [], False),
        ("10.0.0.1", ["https, http"], False),
        ("10.0.0.1", ["http, https"], True),
        ("10.0.0.1", ["https", "http"], False),
        ("10.0.0.1", ["https;http"], False),
        ("::ffff:10.0.0.1", ["https"], True),
        ("192.0.2.1", ["https"], False),
        ("::1", [], True),
        ("::1", ["http"], False),
        ("127.0.0.2", ["https"], True),
        (None, [], True),
    ],
)
def test_only_a_trusted_proxy_is_believed(client, protos, allowed):
    assert HttpsOnly(PROXIES).allows(scope(client, *protos)) is allowed


@pytest.mark.parametrize("header", [b"x-forwarded-for", b"forwarded", b"via"])
def test_a_proxy_of_this_machine_that_was_not_named_has_to_confirm_https(header):
    forwarded = {"type": "http", "client": ("127.0.0.1", 1), "headers": [(header, b"192.0.2.1")]}
    assert HttpsOnly([]).allows(forwarded) is False
    forwarded["headers"].append((b"x-forwarded-proto", b"https"))
    assert HttpsOnly([]).allows(forwarded) is True


@pytest.fixture
def served(endpoint, table_name):
    settings = {"environment": "production", "auth_secret": SECRET, "trusted_proxies": "127.0.0.1"}
    with serving(endpoint, table_name, **settings) as server:
        yield server


def test_a_plain_forward_is_refused_and_a_secure_one_answered(served: Served) -> None:
    refused = served.post("{ __typename }", {"x-forwarded-proto": "http"})
    assert (refused.status_code, refused.json()["errors"][0]["message"]) == (403, REFUSED)
    answered = served.post("{ __typename }", HTTPS)
    assert answered.json() == {"data": {"__typename": "Query"}}
    assert answered.headers["strict-transport-security"] == "max-age=31536000"


def test_health_checks_of_the_load_balancer_need_no_https(served: Served) -> None:
    assert served.http.get("/healthz").status_code == 200
    assert served.http.get("/metrics").status_code == 200
    assert served.http.get("/schema.graphql").status_code == 403


def test_development_has_no_such_header(server: Served) -> None:
    assert "strict-transport-security" not in server.post("{ __typename }").headers
