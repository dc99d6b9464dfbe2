"""Bodies stay in their sockets until they are asked for."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ameles.service import unread_bodies
from ameles.service.slow_clients import TimedRequests
from ameles.service.unread_bodies import with_unread_bodies

LIMIT = 60.0


class Gated:
    """An application that receives a body when the test says so, and answers with its length."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go = threading.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        self.begun.append(scope["path"])
        while scope["path"].startswith("/sealed") and not self.go.is_set():
            await asyncio.sleep(0.001)
        size, more = 0, True
        while more:
            message = await receive()
            size, more = size + len(message.get("body", b"")), message.get("more_body", False)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(size).encode()})


@contextmanager
def served(app: Gated, protocol: type[TimedRequests] | None = None) -> Iterator[int]:
    protocol = protocol or with_unread_bodies(frozenset({"/sealed"}))
    config = uvicorn.Config(app, http=protocol, log_config=None, loop="asyncio", lifespan="off")
    server = uvicorn.Server(config)
    opened = socket.socket()
    opened.bind(("127.0.0.1", 0))
    opened.listen()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
    thread.start()
    try:
        yield opened.getsockname()[1]
    finally:
        app.go.set()
        server.should_exit = True
        thread.join(LIMIT)
        opened.close()


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What the server has read."""
    pieces: list[bytes] = []
    known = HttpToolsProtocol.data_received

    def noting(these: HttpToolsProtocol, data: bytes) -> None:
        pieces.append(data)
        known(these, data)

    monkeypatch.setattr(HttpToolsProtocol, "data_received", noting)
    return pieces


def request(path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: here\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def answer(sent: socket.socket) -> int:
    """The length that the application says."""
    sent.settimeout(LIMIT)
    text = b""
    while not text.endswith(b"0\r\n\r\n"):
        text += sent.recv(1 << 16)
    return int(text.split(b"\r\n")[-4])


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port))


def test_a_body_waits_unread_and_is_then_read_whole(received: list[bytes]) -> None:
    app, body = Gated(), b"canary\r\n\r\n" * 30_000
    with served(app) as port, connected(port) as first, connected(port) as second:
        sending = threading.Thread(target=first.sendall, args=(request("/sealed", body),))
        sending.start()
        while app.begun != ["/sealed"]:
            threading.Event().wait(0.001)
        second.sendall(request("/open", b"x" * 5))
        assert answer(second) == 5, "others need not wait"
        assert b"canary" not in b"".join(received)
        app.go.set()
        assert answer(first) == len(body)
        sending.join(LIMIT)
        for size in (0, 1, 70_000):  # the connection goes on
            first.sendall(request("/sealed", b"y" * size))
            assert answer(first) == size
    assert b"canary" in b"".join(received)


def test_a_head_that_comes_in_pieces_is_read_as_it_comes(received: list[bytes]) -> None:
    app = Gated()
    app.go.set()
    whole = request("/sealed", b"z" * 10)
    with served(app) as port, connected(port) as sent:
        for place in range(0, len(whole), 7):
            sent.sendall(whole[place : place + 7])
            threading.Event().wait(0.001)
        assert answer(sent) == 10
        sent.sendall(whole + whole)  # two at once
        assert answer(sent) == 10


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_body_behind_the_second_half_of_an_end_of_head_waits(
    cut: int, received: list[bytes]
) -> None:
    app, whole = Gated(), request("/sealed", b"canary")
    first = whole[: -len(b"canary") - cut]
    with served(app) as port, connected(port) as sent:
        sent.sendall(first)
        while sum(map(len, received)) < len(first):
            threading.Event().wait(0.001)
        sent.sendall(whole[len(first) :])
        while not app.begun:
            threading.Event().wait(0.001)
        assert b"canary" not in b"".join(received)
        app.go.set()
        assert answer(sent) == len(b"canary")


def test_nothing_of_a_body_stays_in_the_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[unread_bodies._Buffers] = []
    buffers = unread_bodies._Buffers

    def made() -> unread_bodies._Buffers:
        kept.append(buffers())
        return kept[-1]

    monkeypatch.setattr(unread_bodies, "_Buffers", made)
    app = Gated()
    app.go.set()
    with served(app) as port, connected(port) as sent:
        sent.sendall(request("/sealed", b"canary" * 1000))
        assert answer(sent) == 6000
    (only,) = kept
    assert not any(only.seen)
    assert not any(only.read)
