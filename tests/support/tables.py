"""Creates and deletes tables over one connection, at a tenth of boto3's CPU."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import orjson

from datastore.client.local_credentials import LOCAL
from datastore.client.signing import Signer
from datastore.local import provision
from datastore.local.endpoint import LOCAL_REGION, Place

CREDENTIALS = LOCAL


def the_engine_at(endpoint: str) -> Place:
    return Place(endpoint, LOCAL_REGION, keeps_data=False, has_own_engine=True)


class Tables:
    def __init__(self, endpoint: str) -> None:
        host = urlsplit(endpoint).netloc
        self._connection = HTTPConnection(host)
        self._signer = Signer(CREDENTIALS, LOCAL_REGION, host)

    @contextmanager
    def a_table(self) -> Iterator[str]:
        name = f"heartwood-{uuid4().hex[:12]}"
        self._call("CreateTable", provision.definition(name, stream=False))
        yield name
        self._call("DeleteTable", {"TableName": name})

    def close(self) -> None:
        self._connection.close()

    def _call(self, operation: str, request: dict[str, Any]) -> None:
        body = orjson.dumps(request)
        try:
            status, answer = self._send(operation, body)
        except (HTTPException, ConnectionError):
            # DynamoDB Local ends a connection that is idle for a while.
            self._connection.close()
            status, answer = self._send(operation, body)
        assert status == 200, answer

    def _send(self, operation: str, body: bytes) -> tuple[int, bytes]:
        self._connection.request("POST", "/", body, self._signer.headers(operation, body))
        response = self._connection.getresponse()
        return response.status, response.read()
