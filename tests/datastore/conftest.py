"""Fixtures of the datastore's tests: their entities, registered while they run, and what leaves for DynamoDB."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from datastore.model.entity import REGISTRY
from tests.datastore.library import LIBRARY, Entry, entry
from tests.datastore.things import THINGS


@pytest.fixture(scope="module")
def library_registered():
    """Registers the entities of the library only while the tests of a module run."""
    REGISTRY.update(LIBRARY)
    yield
    for name in LIBRARY:
        del REGISTRY[name]


@pytest.fixture
def sent(table, monkeypatch):
    """Records every request of the table client."""
    requests = []
    call = table.transport.call

    async def recorded(operation, request, usage):
        requests.append((operation, orjson.loads(orjson.dumps(request))))
        return await call(operation, request, usage)

    monkeypatch.setattr(table.transport, "call", recorded)
    return requests


@pytest.fixture
async def book(table) -> list[Entry]:
    """Nine entries, in order."""
    entries = [entry(number) for number in range(1, 10)]
    await table.batch_write(puts=reversed(entries))
    table.usage.calls.clear()
    return entries


@pytest.fixture(scope="module")
def things_registered():
    """Registers the entities of tests.datastore.things only while the tests of a module run."""
    REGISTRY.update(THINGS)
    yield
    for name in THINGS:
        del REGISTRY[name]


@pytest.fixture
def registry():
    """For tests that declare entities: unregisters them."""
    before = dict(REGISTRY)
    yield REGISTRY
    REGISTRY.clear()
    REGISTRY.update(before)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-signed certificate for localhost, with its key in the same file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = Encoding.PEM
    path = tmp_path / "localhost.pem"
    path.write_bytes(certificate.public_bytes(pem) + key.private_bytes(pem, PrivateFormat.PKCS8, NoEncryption()))
    return path


@pytest.fixture
def server_tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    return context
