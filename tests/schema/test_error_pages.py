"""Paths and methods that do not exist: a page for browsers, JSON for others."""

import re

import pytest

from tests.support.serving import Served, a_table, serving

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
NOT_FOUND = "There is nothing at this path; the API is at /graphql"


@pytest.mark.parametrize("path", ["/nowhere", "/graphiql/nothing.js", "/<script>alert(1)</script>"])
def test_a_browser_gets_a_page_for_an_unknown_path(server: Served, path: str) -> None:
    answer = server.http.get(path, headers=BROWSER)

    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert f"<h1>Not Found</h1>\n    <p>{NOT_FOUND}.</p>" in answer.text
    assert re.findall('href="(.+?)"', answer.text) == ["/graphql", "/schema.graphql"]
    assert "script" not in answer.text


def test_the_page_loads_nothing(server: Served) -> None:
    answer = server.http.get("/nowhere", headers=BROWSER)

    policy = answer.headers["content-security-policy"]
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; "
        r"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        policy,
    )
    assert "src=" not in answer.text
    assert "http" not in answer.text


def test_a_browser_gets_a_page_for_a_method_that_does_not_exist(server: Served) -> None:
    answer = server.http.delete("/schema.graphql", headers=BROWSER)

    assert (answer.status_code, answer.headers["content-type"]) == (405, "text/html; charset=utf-8")
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}
    assert "<h1>Method Not Allowed</h1>" in answer.text


@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/graphql-response+json"])
def test_other_clients_get_json(server: Served, accept: str) -> None:
    unknown = server.http.get("/nowhere", headers={"accept": accept})
    method = server.http.patch("/graphql", headers={"accept": accept})

    assert (unknown.status_code, method.status_code) == (404, 405)
    assert unknown.json() == {"errors": [{"message": NOT_FOUND, "extensions": {"code": "NOT_FOUND"}}]}
    assert method.json()["errors"][0]["extensions"] == {"code": "METHOD_NOT_ALLOWED"}
    assert set(method.headers["allow"].split(", ")) == {"DELETE", "GET", "HEAD", "POST", "PUT"}


def test_without_graphiql_a_browser_gets_the_page(endpoint: str) -> None:
    with a_table(endpoint) as table_name, serving(endpoint, table_name, graphiql=False) as server:
        answer = server.http.get("/graphql", headers=BROWSER)

    assert answer.status_code == 404
    assert NOT_FOUND in answer.text
