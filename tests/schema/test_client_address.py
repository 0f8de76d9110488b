"""The client's address: X-Forwarded-For from trusted proxies only."""

import pytest

from schema.http.client_address import address_in, networks, subject

PROXIES = networks("10.0.0.0/8,192.0.2.7,2001:db8:f::/48")


def address(peer: str, *forwarded: str) -> str:
    headers = [(b"x-forwarded-for", value.encode("latin-1")) for value in forwarded]
    return address_in({"type": "http", "client": (peer, 4711), "headers": headers}, PROXIES)


@pytest.mark.parametrize("peer", ["203.0.113.9", "127.0.0.1", "::1", "192.0.2.8"])
def test_a_stranger_cannot_choose_its_address(peer: str) -> None:
    assert address(peer, "198.51.100.1") == peer


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        (("198.51.100.1",), "198.51.100.1"),
        (("1.1.1.1, 198.51.100.1",), "198.51.100.1"),
        (("198.51.100.1, 192.0.2.7, 10.9.9.9",), "198.51.100.1"),
        (("198.51.100.1", "192.0.2.7"), "198.51.100.1"),
        (("198.51.100.1:4711",), "198.51.100.1"),
        (("[2001:db8::1]:4711",), "2001:db8::1"),
        (("2001:DB8:0:0::1",), "2001:db8::1"),
        (("::ffff:198.51.100.1",), "198.51.100.1"),
        (("10.1.1.1, 10.2.2.2",), "10.1.1.1"),
    ],
)
def test_the_last_address_that_is_not_a_proxy_is_the_client(forwarded: tuple[str, ...], client: str) -> None:
    assert address("10.0.0.1", *forwarded) == client


@pytest.mark.parametrize("garbage", ["", " , ,", "unknown", "198.51.100.1.2", "\xff\x00", "1" * 60_000, "a," * 30_000])
def test_garbage_is_not_an_address(garbage: str) -> None:
    assert address("10.0.0.1", garbage) == "10.0.0.1"
    assert address("10.0.0.1", f"198.51.100.1, {garbage}x, 10.0.0.2") == "10.0.0.2"


def test_a_mapped_peer_is_the_proxy_it_is() -> None:
    assert address("::ffff:10.0.0.1", "198.51.100.1") == "198.51.100.1"
    assert address("2001:db8:f::1", "198.51.100.1") == "198.51.100.1"


def test_a_socket_without_an_address_has_none() -> None:
    assert address_in({"type": "http", "client": None, "headers": [(b"x-forwarded-for", b"1.1.1.1")]}, PROXIES) == ""


def test_rate_limits_count_ipv6_by_64() -> None:
    assert subject("198.51.100.1") == subject("::ffff:198.51.100.1") == "198.51.100.1"
    assert subject("2001:db8:1:2::1") == subject("2001:db8:1:2:ffff::2") == "2001:db8:1:2::/64"
    assert subject("2001:db8:1:3::1") == "2001:db8:1:3::/64"
    assert subject("fe80::1%eth0") == "fe80::/64"
    assert subject("") == ""


def test_nobody_is_trusted_by_default() -> None:
    assert networks("") == networks(" , ") == []
