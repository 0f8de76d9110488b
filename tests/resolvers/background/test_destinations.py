"""URLs and addresses that webhooks may send to."""

import pytest

from resolvers.background.destinations import BadDestination, Destination, check_address


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "192.0.0.192",
        "192.168.1.1",
        "198.18.0.1",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::10.0.0.1",
        "64:ff9b::169.254.169.254",
        "64:ff9b:1::8.8.8.8",
        "2001::1",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
    ],
)
def test_an_address_inside_of_the_network_is_refused(address):
    with pytest.raises(BadDestination, match="is not public"):
        check_address(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"])
def test_a_public_address_is_allowed(address):
    check_address(address)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://example.org/", "begins with https://"),
        ("ftp://example.org/", "begins with https://"),
        ("//example.org/", "begins with https://"),
        ("https://example.org:8443/", "the port must be 443, not 8443"),
        ("https://ada:secret@example.org/", "user name or password"),
        ("https://@example.org/", "user name or password"),
        ("https://example.org/#top", "without spaces"),
        ("https://example.org/a b", "without spaces"),
        ("https://example.org/\r\nX-Evil: 1", "without spaces"),
        ("https://example.org\\@127.0.0.1/", "backslashes"),
        ("https://exämple.org/", "xn--"),
        ("https://example.org/café", "percent-encode"),
        ("https://127.1/", "no valid host name"),
        ("https://0x7f.0.0.1/", "no valid host name"),
        ("https://192.168.0x1/", "no valid host name"),
        ("https://a..org/", "no valid host name"),
        ("https://" + "a" * 1_000 + ".org", "at most 1,000"),
        ("https:///hooks", "no valid host name"),
        ("https://exa_mple.org/", "no valid host name"),
        ("https://[::1/", "not a URL"),
        ("https://example.org:port/", "not a URL"),
        ("https://localhost/", "inside of a network"),
        ("https://LOCALHOST/", "inside of a network"),
        ("https://localhost./", "no valid host name"),
        ("https://metadata.google.internal/", "inside of a network"),
        ("https://printer.local/", "inside of a network"),
        ("https://database/", "inside of a network"),
        ("https://2130706433/", "no valid host name"),
        ("https://127.0.0.1/", "is not public"),
        ("https://[::1]/", "is not public"),
        ("https://[::ffff:10.0.0.1]/", "is not public"),
    ],
)
def test_a_url_that_is_not_public_is_refused(url, message):
    with pytest.raises(BadDestination, match=message):
        Destination.of(url)


def test_a_public_url_is_taken_apart():
    assert Destination.of("https://Example.org/hooks?a=1") == Destination(True, "example.org", 443, "/hooks?a=1")
    assert Destination.of("https://example.org") == Destination(True, "example.org", 443, "/")


def test_a_private_url_is_allowed_on_request():
    found = Destination.of("http://localhost:3000/hooks", allow_private=True)

    assert found == Destination(False, "localhost", 3000, "/hooks")
    assert found.authority == "localhost:3000"
    assert Destination.of("http://[::1]:3000/", allow_private=True).authority == "[::1]:3000"
