"""Who begins a request and does not finish it is dropped, holds nothing, and hinders nobody."""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from ameles.service import slow_clients
from ameles.service.log import Log
from ameles.service.server import listening, run_server
from ameles.service.slow_clients import LONGEST_HEAD, SECONDS_FOR_BODY, SECONDS_FOR_HEAD
from ameles.store import open_store
from tests.service.ingest.test_routes import EVENT, Posts

LIMIT = 100.0
LATER = max(SECONDS_FOR_BODY, SECONDS_FOR_HEAD) + 1


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(slow_clients, "now", made)
    return made


async def length(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers with the length of a body; at once, if nobody asked for it."""
    size, more = 0, scope["type"] == "http" and scope["path"] != "/at-once"
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    if scope["type"] == "http":
        head = [(b"content-length", str(len(str(size))).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": str(size).encode()})


@contextmanager
def served(run: Callable[[socket.socket, threading.Event], object]) -> Iterator[int]:
    """A server in a thread; its port."""
    stop = threading.Event()
    with closing(listening("127.0.0.1:0")) as opened:
        thread = threading.Thread(target=run, args=(opened, stop))
        thread.start()
        try:
            yield opened.getsockname()[1]
        finally:
            stop.set()
            thread.join(LIMIT)


@pytest.fixture(params=[frozenset(), frozenset({"/sealed"})], ids=["plain", "unread bodies"])
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    def run(opened: socket.socket, stop: threading.Event) -> None:
        run_server(length, opened, Log(io.StringIO()), stop, unread=request.param)

    with served(run) as port:
        yield port


def connected(port: int, sent: bytes = b"") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), LIMIT)
    made.sendall(sent)
    return made


def rest(of: socket.socket) -> bytes:
    """All that comes until the server closes the connection."""
    pieces = []
    while piece := of.recv(1 << 16):
        pieces.append(piece)
    return b"".join(pieces)


def status(answer: bytes) -> int:
    return int(answer.split(b" ")[1])


HEAD = b"POST %s HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n\r\n"


def exchanged(of: socket.socket, path: bytes = b"/") -> None:
    """A whole request and its answer."""
    of.sendall(HEAD % path + b"0123456789")
    answer = b""
    while not answer.endswith(b"\r\n\r\n10"):
        answer += of.recv(1 << 16)


def test_a_request_that_stops_is_dropped(port: int, clock: Clock) -> None:
    begun = [b"", b"P", b"POST / HTTP/1.1\r\nHo", HEAD % b"/", HEAD % b"/sealed" + b"01234"]
    with ExitStack() as stack:
        slow = [stack.enter_context(connected(port, sent)) for sent in begun]
        exchanged(stack.enter_context(connected(port)))  # so that the server knows all
        clock.time += LATER
        assert [status(rest(one)) for one in slow] == [408] * len(begun)


def test_what_is_no_request_is_refused_in_words(port: int) -> None:
    with connected(port, b"HELLO\r\n\r\n") as wrong:
        head, _, said = rest(wrong).partition(b"\r\n\r\n")
    assert status(head) == 400
    assert b"content-type: application/json" in head
    assert sorted(json.loads(said)) == ["tip", "what", "why"]


def test_a_later_request_of_a_connection_is_timed_from_its_first_byte(
    port: int, clock: Clock
) -> None:
    with connected(port) as slow:
        exchanged(slow, b"/sealed")
        clock.time += LATER  # nothing was awaited
        exchanged(slow)
        slow.sendall(b"GET / HT")
        with connected(port) as other:
            exchanged(other)
        clock.time += LATER
        assert status(rest(slow)) == 408


def test_a_drop_at_a_time_does_not_help(port: int, clock: Clock) -> None:
    """Each part has one deadline, whatever comes in the meantime."""
    with connected(port, b"G") as slow:
        with connected(port) as other:
            exchanged(other)
        clock.time += SECONDS_FOR_HEAD - 1
        slow.sendall(b"ET / HTTP/1.1\r\n")
        clock.time += 2
        assert status(rest(slow)) == 408


def test_who_was_answered_before_his_body_came_gets_no_second_answer(
    port: int, clock: Clock
) -> None:
    with connected(port, HEAD % b"/at-once" + b"0") as slow:
        answer = b""
        while not answer.endswith(b"\r\n\r\n0"):
            answer += slow.recv(1 << 16)
        clock.time += LATER
        assert rest(slow) == b""


def test_who_waits_for_his_turn_is_not_late(clock: Clock) -> None:
    """As long as the server does not read a body, it cannot come."""
    begun, go = threading.Event(), threading.Event()

    async def later(scope: Any, receive: Any, send: Any) -> None:
        if scope.get("path") == "/sealed":
            begun.set()
            await asyncio.to_thread(go.wait)
        await length(scope, receive, send)

    def run(opened: socket.socket, stop: threading.Event) -> None:
        run_server(later, opened, Log(io.StringIO()), stop, unread=frozenset({"/sealed"}))

    with served(run) as port, connected(port, HEAD % b"/sealed" + b"0123456789") as patient:
        assert begun.wait(LIMIT)
        with connected(port, b"POST") as slow, connected(port) as other:
            exchanged(other)  # so that the server knows both
            clock.time += LATER
            assert status(rest(slow)) == 408
        go.set()
        assert b" 200 OK" in patient.recv(1 << 16)


def test_a_head_without_an_end_is_refused(port: int, clock: Clock) -> None:
    answer = b""
    with connected(port, b"GET / HTTP/1.1\r\n") as endless, suppress(ConnectionError):
        for _ in range(LONGEST_HEAD // 1000 + 500):
            endless.sendall(b"x: " + b"y" * 997 + b"\r\n")
        answer = rest(endless)
    # what was not read when the connection was closed can take the answer with it
    assert not answer or status(answer) == 431


def test_a_head_may_have_so_many_bytes_and_no_more(port: int) -> None:
    """However it comes: whole, in pieces, filled with spaces, or after another request."""
    begin, end = b"POST %s HTTP/1.1\r\nHost: here\r\n", b"Content-Length: 10\r\n\r\n"
    begin += b"Connection: close\r\n"

    def head(size: int, path: bytes, fill: bytes) -> bytes:
        room = size - len(begin % path) - len(end)
        lines, last = divmod(room, 1000)
        some = [b"x: " + fill * (length - 6) + b"y\r\n" for length in lines * [1000] + [last]]
        made = (begin % path) + b"".join(some) + end
        assert len(made) == size
        return made

    for path in (b"/", b"/sealed"):
        for size, expected in ((LONGEST_HEAD, 200), (LONGEST_HEAD + 1, 431)):
            for fill in (b"y", b" "):
                whole = head(size, path, fill)
                for cut in (size, size - 1, size - 3, 100):
                    with connected(port) as one, suppress(ConnectionError):
                        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                        exchanged(one)
                        one.sendall(whole[:cut])
                        one.sendall(whole[cut:] + b"0123456789")
                        assert status(one.recv(1 << 16)) == expected
            behind = HEAD % b"/" + b"0123456789" + head(size, path, b"y") + b"0123456789"
            with connected(port, behind) as one, suppress(ConnectionError):
                answers = rest(one).count(b" 200 OK")
                assert answers == 2 if expected == 200 else answers <= 1


@pytest.fixture
def posts(tmp_path: Path) -> Iterator[Posts]:
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        made = Posts(tmp_path, store, follow=False)
        yield made
        made.client.close()


def post(made: Posts, port: int, stream: str, batch: str) -> int:
    """The status of a batch that is posted whole."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)) as connection:
        connection.request(
            "POST",
            f"/v1/streams/{stream}/events",
            json.dumps([EVENT]),
            {
                "Authorization": f"Bearer {made.tokens[stream, 'ingest']}",
                "Ameles-Batch": batch,
                "Ameles-Step": "1",
                "Content-Type": "application/json",
            },
        )
        return connection.getresponse().status


def test_two_hundred_stalled_connections_hinder_nobody(posts: Posts, clock: Clock) -> None:
    head = (
        "POST /v1/streams/plain/events HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {}\r\n"
        "Ameles-Batch: b{}\r\nAmeles-Step: 1\r\nContent-Type: application/json\r\n"
        "Content-Length: 1000000\r\n\r\n["
    )
    token, bodies = posts.tokens["plain", "ingest"], posts.bodies
    with served(posts.service.run) as port, ExitStack() as stack:
        posts.wait()
        slow = [
            stack.enter_context(connected(port, sent))
            for number in range(50)
            for sent in (
                b"",
                b"POST /v1/streams/plain/events HTTP/1.1\r\nAmeles",
                head.format(token, number).encode(),
                head.format("ameles_unknown", number).encode(),
            )
        ]
        while bodies.total < 50:
            threading.Event().wait(0.001)
        for number in range(10):
            assert post(posts, port, "plain", f"p{number}") == 200
            assert post(posts, port, "sealed", f"s{number}") == 200
        clock.time += LATER
        statuses = [status(rest(one)) for one in slow]
        assert statuses == [408, 408, 408, 401] * 50
        while bodies.total:
            threading.Event().wait(0.001)
        assert post(posts, port, "plain", "last") == 200
    assert posts.stored() == 11, "of the plain stream; the sealed one keeps none in the store"


def test_what_one_sender_leaves_unfinished_is_bounded(
    posts: Posts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posts.bodies, "_most", 15)
    with served(posts.service.run) as port:
        posts.wait()
        with connected(port) as slow:
            token = posts.tokens["plain", "ingest"]
            slow.sendall(
                f"POST /v1/streams/plain/events HTTP/1.1\r\nAuthorization: Bearer {token}\r\n"
                "Ameles-Batch: b\r\nAmeles-Step: 1\r\nContent-Length: 100\r\n\r\n[{}".encode()
            )
            while not posts.bodies.total:
                threading.Event().wait(0.001)
            assert post(posts, port, "plain", "a") == 429, "the same sender must wait"
            monkeypatch.setattr(posts.bodies, "_most", 1 << 20)
            assert post(posts, port, "sealed", "a") == 200
        while posts.bodies.total:
            threading.Event().wait(0.001)
