"""Email at a real SMTP server, and the problems if it cannot be sent."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from resolvers.background.mail import Mail, MailServer, MailSettings, address_of
from resolvers.core.problems import Problem, ProblemCode, Refused
from tests.support.mailbox import SENDER, Mailbox, a_mailbox, certificate
from tests.support.serving import free_port

FAILED = Problem(ProblemCode.UNAVAILABLE, "the email could not be sent; try again later")
BAD_ADDRESS = Problem(ProblemCode.INVALID, "this address cannot receive email; set another one with `changeEmail`")


@pytest.fixture
async def mailbox() -> AsyncIterator[Mailbox]:
    async with a_mailbox() as mailbox:
        yield mailbox


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """A server context with a trusted certificate."""
    trusted, context = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    return context


async def refusal(mail: Mail, to: str = "ada@example.org") -> Problem:
    with pytest.raises(Refused) as refused:
        await mail.send(to, "A subject", "A text.")
    (problem,) = refused.value.problems
    return problem


async def test_a_mail_arrives_as_it_was_written(mailbox: Mailbox) -> None:
    text = f"Grüße, Ada!\n\n.\n.hidden\n{'x' * 500}\n"

    await mailbox.mail().send("ada@example.org", "Ein Gruß", text)

    (mail,) = mailbox.arrived
    assert (mail["From"], mail["To"], mail["Subject"]) == (SENDER, "ada@example.org", "Ein Gruß")
    assert mail["Message-ID"].endswith("@heartwood.example>")
    assert mail["Date"].datetime is not None
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mailbox.text() == text
    assert mailbox.recipients == [["ada@example.org"]]


async def test_a_password_goes_through_starttls(shown: ssl.SSLContext) -> None:
    async with a_mailbox(starttls=shown) as mailbox:
        await mailbox.mail(who="heartwood:p%40ss%2Fword@").send("ada@example.org", "A subject", "A text.")

    assert mailbox.text() == "A text.\n"
    assert mailbox.logged_in == [(b"heartwood", b"p@ss/word")]


async def test_smtps_is_encrypted_from_the_start(shown: ssl.SSLContext) -> None:
    async with a_mailbox(tls=shown) as mailbox:
        await mailbox.mail("smtps", "heartwood:p%40ss%2Fword@").send("ada@example.org", "A subject", "A text.")

    assert mailbox.text() == "A text.\n"
    assert mailbox.logged_in == [(b"heartwood", b"p@ss/word")]


async def test_a_password_goes_nowhere_without_tls(mailbox: Mailbox) -> None:
    assert await refusal(mailbox.mail(who="heartwood:p%40ss%2Fword@")) == FAILED
    assert (mailbox.arrived, mailbox.logged_in) == ([], [])


async def test_a_wrong_password_is_said_and_not_logged(shown: ssl.SSLContext, caplog: pytest.LogCaptureFixture) -> None:
    async with a_mailbox(starttls=shown) as mailbox:
        assert await refusal(mailbox.mail(who="heartwood:hunter2@")) == FAILED

    assert mailbox.arrived == []
    assert "SMTPAuthenticationError" in caplog.text
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
async def test_a_server_that_cannot_say_who_it_is_gets_no_mail(tmp_path: Path, scheme: str) -> None:
    _, unknown = certificate(tmp_path)
    encrypted = {"smtp": {"starttls": unknown}, "smtps": {"tls": unknown}}[scheme]
    async with a_mailbox(**encrypted) as mailbox:
        assert await refusal(mailbox.mail(scheme)) == FAILED

    assert mailbox.arrived == []


@pytest.mark.parametrize(
    ("to_recipient", "to_data", "expected"),
    [
        ("550 no such user", "250 OK", BAD_ADDRESS),
        ("450 come back later", "250 OK", FAILED),
        ("250 OK", "554 this looks like spam", FAILED),
        ("250 OK", "451 the disk is full", FAILED),
        ("421 going down", "250 OK", FAILED),
    ],
)
async def test_a_server_that_refuses_is_said(
    mailbox: Mailbox, to_recipient: str, to_data: str, expected: Problem
) -> None:
    mailbox.to_recipient, mailbox.to_data = to_recipient, to_data

    assert await refusal(mailbox.mail()) == expected


@pytest.mark.parametrize("greeting", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff" * 5000, b"554 no\r\n"])
async def test_something_else_that_listens_is_said(greeting: bytes) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting)
        writer.close()
        over.set()

    over = asyncio.Event()
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        elsewhere = Mailbox(port=server.sockets[0].getsockname()[1])
        assert await refusal(elsewhere.mail()) == FAILED
        await over.wait()


async def test_a_server_that_keeps_silent_is_given_up() -> None:
    async def keep_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        over.set()

    over = asyncio.Event()
    async with await asyncio.start_server(keep_silent, "127.0.0.1", 0) as server:
        elsewhere = Mailbox(port=server.sockets[0].getsockname()[1])
        assert await refusal(elsewhere.mail(timeout=0.2)) == FAILED
        await over.wait()


async def test_a_server_that_is_not_there_is_said() -> None:
    assert await refusal(Mailbox(port=free_port()).mail()) == FAILED


@pytest.mark.parametrize(
    "to",
    [
        "ada@example.org\r\nBcc: eve@example.org",
        "ada@example.org\nBcc: eve@example.org",
        "ada@example.org>\r\nRCPT TO:<eve@example.org",
        "ada@example.org, eve@example.org",
        "ada,eve@example.org",
        "ada>,<eve@example.org",
        "Ada <ada@example.org>",
        "ada(a comment)@example.org",
        "friends:ada@example.org",
        "ada;eve@example.org",
        '"@example.org',
        "ada\0@example.org",
        "ädä@example.org",
        "ada@exämple.org",
        "ada@example.org ",
        "ada",
        "@",
        "",
    ],
)
async def test_what_is_not_one_plain_address_gets_no_mail(mailbox: Mailbox, to: str) -> None:
    assert await refusal(mailbox.mail(), to) == BAD_ADDRESS
    assert mailbox.arrived == []


async def test_no_header_can_be_smuggled_in_by_a_subject(mailbox: Mailbox) -> None:
    with pytest.raises(ValueError, match="linefeed"):
        await mailbox.mail().send("ada@example.org", "Hello\r\nBcc: eve@example.org", "A text.")

    assert mailbox.arrived == []


async def test_at_home_a_mail_is_written_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    await Mail(MailSettings(into_log=True)).send("ada@example.org", "A subject", "A text.")

    assert caplog.messages == ["MAIL_URL is not set; email to ada@example.org: A subject\nA text."]


async def test_elsewhere_there_is_no_mail_without_a_server(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    mail = Mail(MailSettings())

    assert not mail.can_send
    assert await refusal(mail) == Problem(ProblemCode.FORBIDDEN, "this server does not send email")
    assert "A text." not in caplog.text


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("smtp://mail.example.org", ("mail.example.org", 587, False, "", "")),
        ("smtp://mail.example.org:25/", ("mail.example.org", 25, False, "", "")),
        ("smtps://mail.example.org", ("mail.example.org", 465, True, "", "")),
        ("smtp://a%40b:c%3Ad%2F@mail.example.org", ("mail.example.org", 587, False, "a@b", "c:d/")),
        ("smtps://[::1]:2525", ("::1", 2525, True, "", "")),
    ],
)
def test_the_url_of_a_mail_server(url: str, expected: tuple[str, int, bool, str, str]) -> None:
    server = MailServer.at(url)

    assert (server.host, server.port, server.encrypted, server.user, server.password) == expected
    assert "c:d/" not in repr(server)


@pytest.mark.parametrize(
    "url",
    [
        "mail.example.org",
        "http://mail.example.org",
        "smtp://",
        "smtp://:587",
        "smtp://user:hunter2/x@mail.example.org",
        "smtp://user:hunter2#x@mail.example.org",
        "smtp://user:hunter2?x@mail.example.org",
        "smtp://user:hunter2@mail.example.org:port",
        "smtp://user:hunter2@mail.example.org:0",
        "smtp://user:hunter2@mail.example.org:99999",
        "smtp://user:hunter2@mail.example.org/inbox",
        "smtp://user:hunter2@[mail",
        "smtp://user:hunter2%0d%0aDATA@mail.example.org",
        "smtp://user:hunter2%C3%BC@mail.example.org",
        "smtp://user@mail.example.org",
        "smtp://:hunter2@mail.example.org",
    ],
)
def test_a_bad_url_is_not_repeated(url: str) -> None:
    with pytest.raises(ValueError, match="write it as smtp://user:password@host:587") as refused:
        MailServer.at(url)

    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("sender", ["", "x", "a@x.org, b@x.org", "A\r\nBcc: b@x.org <a@x.org>", "a@x.org b"])
def test_a_sender_is_one_address(sender: str) -> None:
    with pytest.raises(ValueError, match="write one address"):
        address_of(sender)
