"""Rate limits on a running server."""

import asyncio
from contextlib import contextmanager

import pytest

from resolvers.core.allowance import RequestLimits
from schema.http.schema_text import printed
from tests.support.serving import serving

VIEWER = "{ viewer { username } }"
FORWARDED = "x-forwarded-for"


@pytest.fixture
def serve(endpoint, table_name):
    """Serves with limits so small that a handful of requests uses them up, while no time passes."""

    @contextmanager
    def start(**settings):
        small = {"rate_limits": "on", "rate_limit_cost": 1_000, "rate_limit_writes": 4, **settings}
        with serving(endpoint, table_name, **small) as server:
            assert server.services.request_limits
            server.services.request_limits = RequestLimits(server.services.settings.rates, clock=lambda: 1_000.0)
            yield server

    return start


def test_every_answer_has_the_headers(serve):
    with serve() as server:
        answers = [server.post(VIEWER), server.post("{ nothing }"), server.post("{")]

    policy = '"anonymous-cost";q=1000;w=60'
    assert [answer.headers["ratelimit-policy"] for answer in answers] == [policy] * 3
    assert [answer.headers["ratelimit"] for answer in answers] == [
        '"anonymous-cost";r=997;t=1',
        '"anonymous-cost";r=897;t=7',
        '"anonymous-cost";r=797;t=13',
    ]


@pytest.mark.parametrize("accept", ["application/json", "application/graphql-response+json"])
def test_over_the_limit_is_429_with_the_time_to_wait(serve, accept):
    with serve() as server:
        for _ in range(10):
            server.post("{", {"accept": accept})
        answer = server.post(VIEWER, {"accept": accept})
        health = server.http.get("/healthz")

    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "1"
    assert answer.json() == {
        "errors": [
            {
                "message": "the rate limit 'anonymous-cost' of 1,000 in 60 seconds is used up; try again in 1 seconds",
                "extensions": {"code": "RATE_LIMITED", "retryable": True, "retryAfter": 1},
            }
        ]
    }
    assert answer.headers["ratelimit"] == '"anonymous-cost";r=0;t=60'
    assert health.status_code == 200


def test_the_cost_is_charged_before_anything_is_read(serve):
    with serve() as server:
        query = "{ users(first: 100) { nodes { username } } feed(first: 100) { nodes { caption } } }"
        statuses = [server.post(query).status_code for _ in range(8)]

    assert statuses == [200] * 4 + [429] * 4


def test_each_field_of_a_mutation_is_a_write(serve):
    field = 'verifyEmail(input: {code: "x"}) { problems { code } }'
    with serve() as server:
        first = server.post(f"mutation {{ a: {field} b: {field} ...More }} fragment More on Mutation {{ c: {field} }}")
        second = server.post(f"mutation {{ a: {field} b: {field} }}")
        third = server.post(f"mutation {{ a: {field} a: {field} }}")

    assert [first.status_code, second.status_code, third.status_code] == [200, 429, 200]
    assert first.headers["ratelimit"].startswith('"anonymous-writes";r=1;t=45')
    assert "'anonymous-writes' of 4 in 60 seconds" in second.json()["errors"][0]["message"]


def test_a_valid_document_that_is_refused_is_paid_for_and_leaves_queries_possible(serve):
    field = 'verifyEmail(input: {code: "x"}) { problems { code } }'
    many = f"mutation {{ {' '.join(f'a{number}: {field}' for number in range(4))} }}"
    with serve() as server:
        before = server.post(many)
        refused = [server.post(many) for _ in range(3)]
        query = server.post(VIEWER)

    def remaining(answer):
        return int(answer.headers["ratelimit"].partition("r=")[2].partition(";")[0])

    assert [before.status_code, *(answer.status_code for answer in refused), query.status_code] == [200] + [429] * 3 + [
        200
    ]
    assert remaining(query) == 1_000 - 49 - 3 * 100 - 3


def test_signed_in_viewers_have_their_own_quota(serve):
    with serve() as server:
        headers = {"authorization": f"Bearer {server.services.tokens.issue('ada')}"}
        for _ in range(10):
            server.post("{")
        anonymous, signed_in = server.post(VIEWER), server.post(VIEWER, headers)

    assert [anonymous.status_code, signed_in.status_code] == [429, 200]
    assert signed_in.headers["ratelimit-policy"] == '"viewer-cost";q=1000;w=60, "client-cost";q=20000;w=60'


def test_forwarded_addresses_count_only_from_a_trusted_proxy(serve):
    with serve() as direct:
        spoofed = [direct.post("{", {FORWARDED: f"203.0.113.{number}"}) for number in range(12)]
    with serve(trusted_proxies="127.0.0.1") as proxied:
        forwarded = [proxied.post("{", {FORWARDED: f"203.0.113.{number}"}) for number in range(12)]
        one_network = [proxied.post("{", {FORWARDED: f"2001:db8:1:1::{number}"}) for number in range(12)]
        another = proxied.post("{", {FORWARDED: "2001:db8:1:2::1"})

    def codes(answers):
        return [answer.status_code for answer in answers]

    assert codes(spoofed) == codes(one_network) == [400] * 10 + [429] * 2
    assert codes(forwarded) == [400] * 12
    assert another.status_code == 400


def test_tenants_have_a_quota_of_their_own(serve):
    with serve(rate_limit_tenant_factor=1, trusted_proxies="127.0.0.1") as server:
        server.add_tenant("acme")
        server.add_tenant("other")
        for number in range(10):
            server.post("{", {FORWARDED: f"203.0.113.{number}", "x-tenant-id": "acme"})
        acme, other = (server.post(VIEWER, {FORWARDED: "203.0.113.99", "x-tenant-id": it}) for it in ("acme", "other"))

    assert [acme.status_code, other.status_code] == [429, 200]


def test_charts_draw_from_the_same_quota(serve):
    with serve() as server:
        first, second = server.http.get("/trees/none.svg"), server.http.get("/trees/none.svg")
        query = server.post(VIEWER)

    assert [first.status_code, second.status_code, query.status_code] == [404, 429, 429]
    assert second.headers["retry-after"] == "60"


def test_the_schema_as_text_draws_from_the_same_quota(serve):
    with serve() as server:
        first, second = server.http.get("/schema.graphql"), server.http.get("/schema.graphql")

    assert [first.status_code, second.status_code] == [200, 429]
    assert second.headers["retry-after"] == "60"


def test_a_client_that_has_the_schema_pays_next_to_nothing(serve):
    with serve() as server:
        known = {"if-none-match": asyncio.run(printed().etag())}
        statuses = [server.http.get("/schema.graphql", headers=known).status_code for _ in range(10)]

    assert statuses == [304] * 10


def test_a_local_server_has_no_limits_unless_told(endpoint, table_name):
    with serving(endpoint, table_name) as server:
        answer = server.post(VIEWER)

    assert answer.status_code == 200
    assert "ratelimit" not in answer.headers
