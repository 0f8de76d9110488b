"""A real SMTP server in the test process, and the email it received."""

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from resolvers.background.mail import Mail, MailServer, MailSettings

SENDER = "Heartwood <mail@heartwood.example>"


@dataclass
class Mailbox:
    """Receives email. `to_recipient` and `to_data` are the replies to RCPT and DATA; `logged_in` lists sign-ins."""

    port: int = 0
    to_recipient: str = "250 OK"
    to_data: str = "250 OK"
    arrived: list[EmailMessage] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)
    logged_in: list[tuple[bytes, bytes]] = field(default_factory=list)

    def mail(self, scheme: str = "smtp", who: str = "", timeout: float = 20.0) -> Mail:
        server = MailServer.at(f"{scheme}://{who}127.0.0.1:{self.port}")
        return Mail(MailSettings(server, SENDER, timeout))

    def text(self) -> str:
        """Returns the text of the only email."""
        (mail,) = self.arrived
        return text_of(mail)

    async def handle_RCPT(  # noqa: N802
        self, _server: SMTP, _session: Any, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if self.to_recipient.startswith("250"):
            envelope.rcpt_tos.append(address)
        return self.to_recipient

    async def handle_DATA(self, _server: SMTP, _session: Any, envelope: Envelope) -> str:  # noqa: N802
        if self.to_data.startswith("250"):
            self.arrived.append(message_from_bytes(envelope.original_content, EmailMessage, policy=default))
            self.recipients.append(envelope.rcpt_tos)
        return self.to_data

    def authenticate(self, _server: SMTP, _session: Any, _envelope: Envelope, _how: str, who: Any) -> AuthResult:
        assert isinstance(who, LoginPassword)
        self.logged_in.append((who.login, who.password))
        return AuthResult(success=who.password == b"p@ss/word", handled=False)


def text_of(mail: EmailMessage) -> str:
    return str(mail.get_content()).replace("\r\n", "\n")


@asynccontextmanager
async def a_mailbox(
    *, starttls: ssl.SSLContext | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Mailbox]:
    mailbox, loop = Mailbox(), asyncio.get_running_loop()

    def connected() -> SMTP:
        return SMTP(
            mailbox,
            loop=loop,
            hostname="localhost",
            tls_context=starttls,
            authenticator=mailbox.authenticate,
            auth_require_tls=tls is None,
        )

    server = await loop.create_server(connected, "127.0.0.1", 0, ssl=tls)
    mailbox.port = server.sockets[0].getsockname()[1]
    try:
        yield mailbox
    finally:
        server.close()
        await server.wait_closed()


def certificate(directory: Path) -> tuple[Path, ssl.SSLContext]:
    """Creates a self-signed certificate for 127.0.0.1: the file to trust, and the server's context."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    shown, secret = directory / "certificate.pem", directory / "key.pem"
    shown.write_bytes(made.public_bytes(Encoding.PEM))
    secret.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(shown, secret)
    return shown, context
