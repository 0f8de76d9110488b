"""Our signatures equal botocore's."""

from datetime import UTC, datetime, timedelta

import botocore.auth
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from datastore.client.signing import Signer

REGION = "eu-central-1"
HOST = "dynamodb.eu-central-1.amazonaws.com"
NOON = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
WITHOUT_TOKEN = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
WITH_TOKEN = Credentials("ASIAEXAMPLE", "another secret", "a//session+token==")


def signed_by_botocore(credentials, operation, body, at, *, region=REGION, host=HOST, path="/"):
    request = AWSRequest(
        method="POST",
        url=f"https://{host}{path}",
        data=body,
        headers={"X-Amz-Target": f"DynamoDB_20120810.{operation}"},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.auth, "get_current_datetime", lambda: at)
        SigV4Auth(credentials, "dynamodb", region).add_auth(request)
    # DynamoDB requires the content type, but it need not be signed.
    return dict(request.headers) | {"Content-Type": "application/x-amz-json-1.0"}


@pytest.mark.parametrize("credentials", [WITHOUT_TOKEN, WITH_TOKEN], ids=["without a token", "with a token"])
@pytest.mark.parametrize("operation", ["GetItem", "TransactWriteItems"])
@pytest.mark.parametrize(
    "body", [b"", b"{}", '{"Key":{"PK":{"S":"USER#žofie"}}}'.encode()], ids=["none", "{}", "utf-8"]
)
def test_headers_equal_those_of_botocore(credentials, operation, body):
    headers = Signer(credentials, REGION, HOST).headers(operation, body, at=NOON.timestamp())
    assert headers == signed_by_botocore(credentials, operation, body, NOON)


@pytest.mark.parametrize(
    ("region", "host"),
    [("us-east-1", "dynamodb.us-east-1.amazonaws.com"), ("us-east-1", "127.0.0.1:8123"), ("local", "localhost:8000")],
)
def test_headers_equal_those_of_botocore_wherever_the_table_is(region, host):
    headers = Signer(WITHOUT_TOKEN, region, host).headers("Query", b"{}", at=NOON.timestamp())
    assert headers == signed_by_botocore(WITHOUT_TOKEN, "Query", b"{}", NOON, region=region, host=host)


@given(
    body=st.binary(max_size=200), at=st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
)
def test_headers_equal_those_of_botocore_at_any_time(body, at):
    headers = Signer(WITH_TOKEN, REGION, HOST).headers("PutItem", body, at=at.timestamp())
    assert headers == signed_by_botocore(WITH_TOKEN, "PutItem", body, at)


def test_one_signer_goes_on_after_midnight():
    signer = Signer(WITHOUT_TOKEN, REGION, HOST)
    last_second = datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC)
    for at in (last_second, last_second + timedelta(seconds=1), last_second, last_second + timedelta(days=365)):
        headers = signer.headers("GetItem", b"{}", at=at.timestamp())
        assert headers == signed_by_botocore(WITHOUT_TOKEN, "GetItem", b"{}", at)


@pytest.mark.parametrize("path", ["/", "/path", "/path/", "/a/b%20c/~d", "//a/./b/../c", "/žofie"])
def test_the_path_of_an_endpoint_is_signed(path):
    headers = Signer(WITHOUT_TOKEN, REGION, HOST, path).headers("GetItem", b"{}", at=NOON.timestamp())
    assert headers == signed_by_botocore(WITHOUT_TOKEN, "GetItem", b"{}", NOON, path=path)


def test_the_offset_of_the_clock_is_added():
    signer = Signer(WITHOUT_TOKEN, REGION, HOST)
    signer.clock_offset = timedelta(days=1000).total_seconds()
    before = datetime.now(UTC).replace(microsecond=0)
    stamp = signer.headers("GetItem", b"{}")["X-Amz-Date"]
    signed_at = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC) - timedelta(days=1000)
    assert before <= signed_at <= datetime.now(UTC)


def test_a_new_token_is_used_even_if_the_secret_stays():
    credentials = Credentials("AKIDEXAMPLE", "secret", "old token")
    signer = Signer(credentials, REGION, HOST)
    signer.headers("GetItem", b"{}", at=NOON.timestamp())
    credentials.token = "new token"
    headers = signer.headers("GetItem", b"{}", at=NOON.timestamp())
    assert headers == signed_by_botocore(Credentials("AKIDEXAMPLE", "secret", "new token"), "GetItem", b"{}", NOON)


def test_without_a_time_it_is_now():
    before = datetime.now(UTC).replace(microsecond=0)
    stamp = Signer(WITHOUT_TOKEN, REGION, HOST).headers("GetItem", b"{}")["X-Amz-Date"]
    signed_at = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    assert before <= signed_at <= datetime.now(UTC)
