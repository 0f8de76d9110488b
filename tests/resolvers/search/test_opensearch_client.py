"""Requests to OpenSearch: what is sent, what is sent again, and what happens when it is away."""

import socket
import threading

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from datastore.client.errors import Denied
from datastore.client.local_credentials import FixedCredentials
from datastore.local.settings import TableSettings
from resolvers.search import opensearch_asking, opensearch_client
from resolvers.search.choosing import signing_for
from resolvers.search.documents import Text, Weight
from resolvers.search.engine import SearchUnavailable
from resolvers.search.opensearch import OpenSearchEngine
from resolvers.search.opensearch_client import AwsSigning, OpenSearchClient, region_of
from resolvers.search.opensearch_writing import NUMBERS, OpenSearchGeneration
from tests.resolvers.search.engines import document, request
from tests.support.graph import id_of
from tests.support.scripted_service import scripted_service

DOMAIN = "https://search-oak-abc.eu-west-1.es.amazonaws.com"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(opensearch_client, "FIRST_PAUSE", 0.001)


class Node:
    """The answers of a node: the state of an index, and the results of updates in turn."""

    def __init__(self, *bulks):
        self.bulks = list(bulks)
        self.sequence = 0

    def __call__(self, asked):
        if asked.path.endswith("/_bulk"):
            answer = self.bulks.pop(0)
            return answer if isinstance(answer, tuple) else (200, {"items": [{"index": each} for each in answer]})
        if "/_doc/state" in asked.path and asked.method == "GET":
            return 404, {"found": False}
        if "/_doc/state" in asked.path:
            self.sequence += 1
            return 200, {"_seq_no": self.sequence, "_primary_term": 1}
        return 200, {}


def bulks(service):
    """Returns the IDs and versions of each bulk request."""
    sent = [asked.lines for asked in service.asked if asked.path.endswith("/_bulk")]
    actions = [[next(iter(line.values())) for line in lines if {"index", "delete"} & line.keys()] for lines in sent]
    return [[(action["_id"], action["version"] - NUMBERS) for action in each] for each in actions]


DONE, BUSY = {"status": 201}, {"status": 429, "error": {"type": "rejected_execution_exception"}}


async def committed(node, *documents, removed=()):
    async with scripted_service(node) as service:
        client = OpenSearchClient(service.url)
        generation = OpenSearchGeneration("oak", client, lambda: True)
        try:
            await generation.update(documents, removed, version=1)
            await generation.commit({0: 7})
        finally:
            await client.close()
    return service, generation


async def test_updates_are_sent_before_they_are_made_visible_and_the_positions_last():
    service, _ = await committed(Node([DONE, DONE]), document("1", "Oak"), removed=["2"])
    assert [(asked.method, asked.path) for asked in service.asked] == [
        ("GET", "/oak/_doc/state"),
        ("PUT", "/oak/_doc/state?op_type=create"),
        ("POST", "/oak/_bulk"),
        ("POST", "/oak/_refresh"),
        ("PUT", "/oak/_doc/state?if_seq_no=1&if_primary_term=1"),
    ]
    assert bulks(service) == [[("2", 1), ("1", 2)]]
    assert service.asked[-1].lines == [{"state": {"term": 1, "positions": {"0": 7}}}]


async def test_texts_are_analyzed_beside_the_event_loop():
    analyzed_in = []

    class Texts(list):
        def __iter__(self):
            analyzed_in.append(threading.current_thread())
            return super().__iter__()

    await committed(Node([DONE]), document("1", "Oak", texts=Texts([Text("title", "Oak", Weight.TITLE)])))
    assert analyzed_in
    assert threading.current_thread() not in analyzed_in


async def test_only_documents_that_were_refused_for_load_are_sent_again():
    service, generation = await committed(
        Node([DONE, BUSY], [BUSY], [DONE]), document("1", "Oak"), document("2", "Elm")
    )
    assert bulks(service) == [[("1", 1), ("2", 2)], [("2", 2)], [("2", 2)]]
    assert generation.rejected == 0


async def test_a_whole_request_that_was_refused_for_load_is_sent_again():
    busy = (429, {"error": "busy"})
    service, _ = await committed(Node(busy, (503, {}), [DONE]), document("1", "Oak"))
    assert bulks(service) == [[("1", 1)]] * 3


async def test_load_that_does_not_end_makes_it_unavailable_without_new_positions():
    node = Node(*[[BUSY]] * opensearch_client.ATTEMPTS)
    with pytest.raises(SearchUnavailable, match="too much to do"):
        await committed(node, document("1", "Oak"))
    assert node.sequence == 1


async def test_a_newer_version_in_the_index_stays():
    service, generation = await committed(Node([{"status": 409, "error": {}}]), document("1", "Oak"))
    assert (len(bulks(service)), generation.rejected) == (1, 0)


async def test_a_document_that_is_not_accepted_does_not_stop_the_others(caplog):
    wrong = {"status": 400, "error": {"type": "mapper_parsing_exception"}}
    _, generation = await committed(Node([wrong, DONE]), document("1", "Oak"), document("2", "Elm"))
    assert generation.rejected == 1
    assert "the document '1' is not in the search index" in caplog.text


async def test_a_request_that_is_too_large_is_sent_in_halves():
    node = Node((413, {}), [DONE], (413, {}))
    service, generation = await committed(node, document("1", "Oak"), document("2", "Elm"))
    assert bulks(service) == [[("1", 1), ("2", 2)], [("1", 1)], [("2", 2)]]
    assert generation.rejected == 1


async def asked(answer):
    async with scripted_service(answer) as service:
        engine = OpenSearchEngine(OpenSearchClient(service.url), "oak", None)
        try:
            return await engine.query(request("oak"))
        finally:
            await engine.close()


async def test_a_slow_query_is_unavailable(monkeypatch):
    monkeypatch.setattr(opensearch_asking, "QUERY_SECONDS", 0.1)
    with pytest.raises(SearchUnavailable, match="does not answer"):
        await asked(lambda _: None)


async def test_a_query_that_the_service_has_stopped_is_unavailable():
    late = {"timed_out": True, "hits": {"total": {"value": 1}, "hits": []}}
    with pytest.raises(SearchUnavailable, match="took too long"):
        await asked(lambda _: (200, {"responses": [late]}))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((503, {}), "too much to do"),
        ((403, {"error": "no permissions"}), "refuses the requests"),
        ((404, {}), "being created"),
        ((200, {"responses": [{"status": 429, "error": {}}]}), "too much to do"),
        ((200, {"responses": [{"status": 404, "error": {}}]}), "being created"),
        ((200, {"responses": [{"status": 400, "error": {"type": "x", "reason": "y"}}]}), "refuses the requests"),
    ],
)
async def test_errors_of_the_service_are_unavailable(answer, message):
    with pytest.raises(SearchUnavailable, match=message):
        await asked(lambda _: answer)


async def test_without_a_service_search_is_unavailable_and_everything_else_goes_on(graph, society):
    ada = await society.person("ada")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        client = OpenSearchClient(f"http://127.0.0.1:{closed.getsockname()[1]}")
        graph.services.search_index.engine = OpenSearchEngine(client, "oak", None)
        text = 'query ($id: ID!) { search(query: "oak") { nodes { __typename } } node(id: $id) { id } }'
        body = (await graph.ask(text, id=id_of(ada))).body
        await client.close()
    assert body["data"] == {"search": None, "node": {"id": id_of(ada)}}
    assert [error["extensions"]["code"] for error in body["errors"]] == ["UNAVAILABLE"]


async def test_a_password_of_the_url_is_sent_and_a_path_kept():
    async with scripted_service(lambda _: (200, {})) as service:
        client = OpenSearchClient(service.url.replace("//", "//ada:p%40ss@") + "/search/")
        await client.ask("GET", "/oak", seconds=5)
        await client.close()
    (sent,) = service.asked
    assert (sent.path, sent.headers["authorization"]) == ("/search/oak", "Basic YWRhOnBAc3M=")
    assert "@" not in sent.headers["host"]


def test_requests_to_aws_are_signed_as_botocore_does():
    credentials = FixedCredentials("key", "secret", "token")
    signed = AwsSigning(credentials, "eu-west-1").headers("POST", f"{DOMAIN}/oak/_bulk", {}, b"{}\n")
    expected = AWSRequest("POST", f"{DOMAIN}/oak/_bulk", data=b"{}\n")
    SigV4Auth(Credentials("key", "secret", "token"), "es", "eu-west-1").add_auth(expected)
    if signed["X-Amz-Date"] == expected.headers["X-Amz-Date"]:
        assert signed["Authorization"] == expected.headers["Authorization"]
    assert "/eu-west-1/es/aws4_request, SignedHeaders=host;x-amz-date;x-amz-security-token" in signed["Authorization"]


@pytest.mark.parametrize(
    ("url", "region"),
    [
        (DOMAIN, "eu-west-1"),
        ("https://vpc-oak-abc.us-east-1.es.amazonaws.com:443", "us-east-1"),
        ("https://search-oak-abc.aos.us-east-2.on.aws", "us-east-2"),
        ("https://amazonaws.com.example.org", None),
        ("http://localhost:9200", None),
    ],
)
def test_domains_of_aws_are_known_by_their_names(url, region):
    assert region_of(url) == region


def test_signing_without_a_region_is_refused():
    settings = TableSettings(opensearch_url="https://oak.example.org", opensearch_aws="on", aws_region=None)
    with pytest.raises(Denied, match="set AWS_REGION"):
        signing_for(settings)
    assert signing_for(settings.model_copy(update={"opensearch_aws": "auto"})) is None
