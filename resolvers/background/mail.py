"""Sends email through an SMTP server, or writes it to the log on a local server."""

import asyncio
import logging
import re
import smtplib
import ssl
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid
from urllib.parse import unquote, urlsplit

from resolvers.core.problems import ProblemCode, Refused, refused

log = logging.getLogger("heartwood.mail")

_plain_address = re.compile(
    r"[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.ASCII | re.IGNORECASE
).fullmatch

PORTS = {"smtp": 587, "smtps": 465}


@dataclass(frozen=True)
class MailServer:
    """The SMTP server."""

    host: str
    port: int
    encrypted: bool
    user: str
    password: str = field(repr=False)

    @classmethod
    def at(cls, url: str) -> "MailServer":
        """Parses a URL. Raises ValueError without the URL, which may contain a password."""
        try:
            parts, port = urlsplit(url), urlsplit(url).port
        except ValueError:
            raise _bad_url() from None
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        plain = (user + password).isascii() and (user + password).isprintable() and bool(user) == bool(password)
        if parts.scheme not in PORTS or not parts.hostname or port == 0 or not plain:
            raise _bad_url()
        if parts.path.strip("/") or parts.query or parts.fragment:
            raise _bad_url()
        return cls(parts.hostname, port or PORTS[parts.scheme], parts.scheme == "smtps", user, password)


def _bad_url() -> ValueError:
    return ValueError(
        "write it as smtp://user:password@host:587 or smtps://user:password@host:465, or without user and password; "
        "in these, / is %2F, ? is %3F, # is %23 and @ is %40"
    )


@dataclass(frozen=True)
class MailSettings:
    """Email settings. Without a server, email is logged or disabled."""

    server: MailServer | None = None
    sender: str = ""
    timeout: float = 5.0
    into_log: bool = False


class Mail:
    """Sends email with smtplib in a few threads, one instance per process. Email is rare, so threads suffice."""

    def __init__(self, settings: MailSettings, threads: int = 4) -> None:
        self._settings = settings
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="mail")

    @property
    def can_send(self) -> bool:
        return self._settings.server is not None or self._settings.into_log

    async def send(self, to: str, subject: str, text: str) -> None:
        """Sends an email. Raises Refused if the server does not accept it."""
        if not self.can_send:
            raise refused(ProblemCode.FORBIDDEN, "this server does not send email")
        recipient = _recipient(to)
        server = self._settings.server
        if server is None:
            log.info("MAIL_URL is not set; email to %s: %s\n%s", to, subject, text)
        else:
            await self._deliver(server, _message(address_of(self._settings.sender), recipient, subject, text))

    async def _deliver(self, server: MailServer, message: EmailMessage) -> None:
        loop, timeout = asyncio.get_running_loop(), self._settings.timeout
        try:
            # smtplib's own timeout applies to each step; this one to all of them.
            async with asyncio.timeout(timeout):
                await loop.run_in_executor(self._threads, _hand_over, server, message, timeout)
        except (smtplib.SMTPException, OSError, ValueError) as error:
            log.warning("an email was not sent: %s: %s", type(error).__name__, error)
            raise _not_sent(error) from error

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def address_of(text: str) -> Address:
    """Parses one address, with or without a display name."""
    header = SMTP.header_factory("From", text)
    if not text.isprintable() or header.defects or len(header.addresses) != 1:
        raise ValueError("write one address, like mail@example.org or Heartwood <mail@example.org>")
    address: Address = header.addresses[0]
    return address


def _recipient(email: str) -> Address:
    """Returns the address, or refuses one that could be parsed as several or as another one."""
    if not _plain_address(email):
        raise _bad_address()
    return Address(addr_spec=email)


def _message(sender: Address, to: Address, subject: str, text: str) -> EmailMessage:
    """Builds the message. EmailMessage rejects line breaks in headers."""
    message = EmailMessage(policy=SMTP)
    message["From"], message["To"], message["Subject"] = sender, to, subject
    message["Date"], message["Message-ID"] = formatdate(), make_msgid(domain=sender.domain)
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text)
    return message


def _hand_over(server: MailServer, message: EmailMessage, timeout: float) -> None:
    with _connection(server, timeout) as smtp:
        if not server.encrypted:
            _encrypt(smtp, server)
        if server.user:
            smtp.login(server.user, server.password)
        smtp.send_message(message)


def _connection(server: MailServer, timeout: float) -> smtplib.SMTP:
    if server.encrypted:
        return smtplib.SMTP_SSL(server.host, server.port, timeout=timeout, context=ssl.create_default_context())
    return smtplib.SMTP(server.host, server.port, timeout=timeout)


def _encrypt(smtp: smtplib.SMTP, server: MailServer) -> None:
    """Starts TLS if offered. Raises if a password would be sent without it."""
    smtp.ehlo()
    if smtp.has_extn("starttls"):
        smtp.starttls(context=ssl.create_default_context())
    elif server.user:
        raise smtplib.SMTPNotSupportedError("the server does not offer TLS; the password is not sent without it")


def _not_sent(error: Exception) -> Refused:
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        replies = [code for code, _ in error.recipients.values()]
        if all(code >= 500 for code in replies):
            return _bad_address()
    return refused(ProblemCode.UNAVAILABLE, "the email could not be sent; try again later")


def _bad_address() -> Refused:
    return refused(ProblemCode.INVALID, "this address cannot receive email; set another one with `changeEmail`")
