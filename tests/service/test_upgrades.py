"""A client that offers another protocol gets its answer in this one, and its body is read."""

from __future__ import annotations

import socket

import pytest

from ameles.service.slow_clients import TimedRequests
from tests.service.test_unread_bodies import LIMIT, Gated, served

BODY = b"Upgrade: me\r\nUpgrade: too"
OFFERS = {  # as Java sends it, and as browsers do
    "h2c": b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n",
    "websocket": b"connection: upgrade\r\nupgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
}


@pytest.mark.parametrize("unread", [False, True])
def test_an_offer_is_ignored_and_the_body_is_read(unread: bool) -> None:
    app = Gated()
    app.go.set()
    with (
        served(app, None if unread else TimedRequests) as port,
        socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as client,
    ):
        for offer in OFFERS.values():  # one after another, over one connection
            head = b"POST /sealed HTTP/1.1\r\nHost: here\r\n%bContent-Length: %d\r\n\r\n"
            client.sendall(head % (offer, len(BODY)) + BODY)
            answer = b""
            while not answer.endswith(b"%d\r\n0\r\n\r\n" % len(BODY)):
                answer += client.recv(1 << 16)
            assert answer.startswith(b"HTTP/1.1 200")
    assert app.begun == ["/sealed"] * len(OFFERS)
