"""Sockets of several processes on one port."""

import socket

import pytest

from schema.http.listening import SHARES_PORTS, CannotListen, listeners


def test_every_process_has_sockets_on_the_same_port() -> None:
    sets = listeners("127.0.0.1", 0, 3)

    ports = {each.getsockname()[1] for sockets in sets for each in sockets}
    assert ([len(sockets) for sockets in sets], len(ports)) == ([1, 1, 1], 1)
    for sockets in sets:
        sockets[0].close()


@pytest.mark.skipif(not SHARES_PORTS, reason="connections go to whoever accepts them first")
def test_connections_are_spread_over_the_processes() -> None:
    (first,), (second,) = listeners("127.0.0.1", 0, 2)
    for each in (first, second):
        each.listen(100)
        each.setblocking(False)
    clients = [socket.create_connection(first.getsockname()) for _ in range(50)]

    assert len([accepted(first), accepted(second)]) == 2
    for each in (first, second, *clients):
        each.close()


def accepted(listener: socket.socket) -> socket.socket:
    connection, _ = listener.accept()
    connection.close()
    return connection


@pytest.mark.parametrize("count", [1, 2])
def test_a_port_in_use_is_refused_even_if_its_owner_shares_it(count: int) -> None:
    owned = listeners("127.0.0.1", 0, 2)
    port = owned[0][0].getsockname()[1]
    for (each,) in owned:
        each.listen()

    with pytest.raises(CannotListen) as refused:
        listeners("127.0.0.1", port, count)

    assert str(refused.value) == f"cannot listen on 127.0.0.1:{port}: Address already in use"
    for (each,) in owned:
        each.close()


def test_an_unknown_host_is_refused() -> None:
    with pytest.raises(CannotListen, match=r"^cannot listen on nowhere\.invalid:0: "):
        listeners("nowhere.invalid", 0, 2)
