"""Sends to receivers that are slow, broken or hostile."""

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator

import pytest

from resolvers.background.webhook_sender import AT_ONCE_PER_LANE, Answer, Busy, WebhookSender
from tests.support.mailbox import certificate
from tests.support.receiver import Receiver, a_receiver, answer


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with a_receiver() as receiver:
        yield receiver


async def sent(sender: WebhookSender, url: str) -> tuple[int | None, str | None]:
    """Returns the outcome, without its duration."""
    try:
        outcome = await sender.post("ada", url, {"X-Test": "1"}, b"{}")
        return outcome.status, outcome.error
    finally:
        sender.close()


def at_home(**settings) -> WebhookSender:
    return WebhookSender(allow_private=True, **settings)


class Resolver:
    """Answers names with these addresses, one list for each call."""

    def __init__(self, *answers: list[tuple[str, int]]) -> None:
        self.answers = [*answers]
        self.asked: list[str] = []

    def __call__(self, host, port, family, kind):
        self.asked.append(host)
        return [
            (socket.AF_INET6 if ":" in address else socket.AF_INET, kind, 0, "", (address, at))
            for address, at in self.answers.pop(0)
        ]


async def test_a_request_is_complete(receiver):
    assert await sent(at_home(), receiver.url) == (204, None)

    (request,) = receiver.received
    assert request.line == "POST /hooks?x=1 HTTP/1.1"
    assert request.headers == {
        "host": f"127.0.0.1:{receiver.port}",
        "x-test": "1",
        "content-length": "2",
        "connection": "close",
    }
    assert request.body == b"{}"


async def test_a_refusal_is_an_error(receiver):
    receiver.answers = [answer(500)]

    assert await sent(at_home(), receiver.url) == (500, "the receiver answered 500")


async def test_a_redirect_is_not_followed(receiver):
    async with a_receiver() as other:
        receiver.answers = [answer(307, f"Location: {other.url}")]

        assert await sent(at_home(), receiver.url) == (
            307,
            "the receiver answered 307; redirects are not followed, so change the URL",
        )
        assert other.received == []


async def test_a_receiver_that_does_not_answer_is_given_up(receiver):
    receiver.answers = [None]

    assert await sent(at_home(timeout=0.2), receiver.url) == (None, "the receiver did not answer in time")


async def test_a_slow_head_is_given_up(receiver):
    receiver.answers = [b"HTTP/1.1 200 OK\r\nX: "]
    receiver.hangs = True

    assert await sent(at_home(timeout=0.2), receiver.url) == (None, "the receiver did not answer in time")


async def test_the_body_of_a_response_is_not_read(receiver):
    """It could be endless, or come one byte at a time."""
    receiver.answers = [b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\nx"]
    receiver.hangs = True

    assert await sent(at_home(timeout=20), receiver.url) == (200, None)


async def test_an_endless_head_is_refused(receiver):
    receiver.answers = [b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000]

    assert await sent(at_home(), receiver.url) == (None, "the head of the response is over 16384 bytes")


@pytest.mark.parametrize("text", [b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"\x00\r\n\r\n"])
async def test_another_protocol_is_refused(receiver, text):
    receiver.answers = [text]

    assert await sent(at_home(), receiver.url) == (None, "the response is not HTTP")


async def test_a_closed_connection_is_an_error(receiver):
    receiver.answers = [b""]

    outcome = await sent(at_home(), receiver.url)

    assert outcome in [
        (None, "the receiver closed the connection without a response"),
        (None, "the connection failed: Connection reset by peer"),
    ]


async def test_informational_responses_are_skipped(receiver):
    receiver.answers = [b"HTTP/1.1 103 Early Hints\r\n\r\n" + answer(201)]

    assert await sent(at_home(), receiver.url) == (201, None)


async def test_endless_informational_responses_are_refused(receiver):
    receiver.answers = [b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100]

    assert await sent(at_home(), receiver.url) == (None, "the receiver sends only informational responses")


async def test_a_port_without_a_server_is_an_error(receiver):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"

        status, error = await sent(at_home(), url)

    assert (status, error) == (None, "the connection failed: Connection refused")


@pytest.mark.parametrize("private", ["127.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1", "100.64.0.9"])
async def test_a_name_with_a_private_address_is_refused(private):
    resolver = Resolver([("8.8.8.8", 443), (private, 443)])

    assert await sent(WebhookSender(resolve=resolver), "https://evil.example.org/") == (
        None,
        f"the address {private} is not public; use a host that the whole internet can reach",
    )


async def test_a_name_is_resolved_once_and_the_connection_goes_to_the_checked_address(receiver, monkeypatch):
    """A second answer with a private address (DNS rebinding) is never asked for."""
    resolver = Resolver([("8.8.8.8", 443)], [("127.0.0.1", receiver.port)])
    connected = []

    async def sock_connect(_, connecting, address):
        connected.append(address)
        raise ConnectionRefusedError(errno.ECONNREFUSED, "refused by the test")

    monkeypatch.setattr(type(asyncio.get_running_loop()), "sock_connect", sock_connect)

    assert await sent(WebhookSender(resolve=resolver), "https://evil.example.org/") == (
        None,
        "the connection failed: Connection refused",
    )
    assert resolver.asked == ["evil.example.org"]
    assert connected == [("8.8.8.8", 443)]
    assert receiver.received == []


async def test_a_private_url_is_refused_before_its_name_is_resolved():
    resolver = Resolver()

    assert await sent(WebhookSender(resolve=resolver), "http://localhost/") == (None, "a URL begins with https://")
    assert resolver.asked == []


@pytest.mark.parametrize("host", ["nowhere.invalid", f"{'a' * 64}.example.org"])
async def test_a_name_that_does_not_exist_is_an_error(host):
    assert await sent(WebhookSender(), f"https://{host}/") == (None, "the host name cannot be resolved")


async def test_proxies_of_the_environment_are_not_used(receiver, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    assert await sent(at_home(), receiver.url) == (204, None)


async def test_the_certificate_is_verified_for_the_name(tmp_path):
    shown, context = certificate(tmp_path)
    trusted = ssl.create_default_context(cafile=str(shown))
    async with a_receiver(context) as receiver:
        resolver = Resolver(*[[("127.0.0.1", receiver.port)]] * 3)
        url = "https://{}/".format
        at = {"allow_private": True, "resolve": resolver}

        assert await sent(WebhookSender(trusted=trusted, **at), url("127.0.0.1")) == (204, None)
        assert await sent(WebhookSender(**at), url("127.0.0.1")) == (None, "TLS failed: CERTIFICATE_VERIFY_FAILED")
        assert await sent(WebhookSender(trusted=trusted, **at), url("example.org")) == (
            None,
            "TLS failed: CERTIFICATE_VERIFY_FAILED",
        )


async def test_a_slow_receiver_has_few_connections_and_delays_no_other(receiver):
    sender = at_home()
    async with a_receiver() as other:
        receiver.answers = [None] * AT_ONCE_PER_LANE
        slow = [asyncio.create_task(sender.post(f"owner {n}", receiver.url, {}, b"")) for n in range(AT_ONCE_PER_LANE)]
        await receiver.has(AT_ONCE_PER_LANE)

        with pytest.raises(Busy):
            await sender.post("another owner", receiver.url, {}, b"")
        assert (await sender.post("another owner", other.url.replace("127.0.0.1", "localhost"), {}, b"")).succeeded

        receiver.release.set()
        assert [(await each).status for each in slow] == [204] * AT_ONCE_PER_LANE
        assert (await sender.post("another owner", receiver.url, {}, b"")).succeeded
    assert receiver.most_at_once == AT_ONCE_PER_LANE
    sender.close()


async def test_an_owner_with_many_hosts_has_few_connections(receiver):
    receiver.answers = [None] * AT_ONCE_PER_LANE
    hosts = [f"127.0.0.{n}" for n in range(1, AT_ONCE_PER_LANE + 2)]
    resolver = Resolver(*[[("127.0.0.1", receiver.port)]] * len(hosts))
    sender = at_home(resolve=resolver)
    *slow, last = [receiver.url.replace("127.0.0.1", host) for host in hosts]
    tasks = [asyncio.create_task(sender.post("ada", url, {}, b"")) for url in slow]
    await receiver.has(AT_ONCE_PER_LANE)

    with pytest.raises(Busy):
        await sender.post("ada", last, {}, b"")

    assert (await sender.post("bob", last, {}, b"")).succeeded
    receiver.release.set()
    assert all(outcome.succeeded for outcome in await asyncio.gather(*tasks))
    sender.close()


async def test_those_that_wait_are_spread_over_time(receiver):
    """Each gets a time of its own, so that it has to come back once only."""
    time = [1_000.0]
    sender = at_home(clock=lambda: time[0])
    receiver.answers = [None] * AT_ONCE_PER_LANE
    slow = [asyncio.create_task(sender.post("ada", receiver.url, {}, b"")) for _ in range(AT_ONCE_PER_LANE)]
    await receiver.has(AT_ONCE_PER_LANE)

    waits = []
    for _ in range(8):
        with pytest.raises(Busy) as busy:
            await sender.post("ada", receiver.url, {}, b"")
        waits.append(busy.value.seconds)

    assert waits == [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0]
    receiver.release.set()
    assert await asyncio.gather(*slow) == [Answer(204, None, 0)] * AT_ONCE_PER_LANE
    sender.close()
