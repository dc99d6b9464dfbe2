"""Drops clients who begin a request and do not finish it, so that they hold nothing for long.

The protocol notes by when the head, and then the body, must have come.  The server looks at all
connections once a second.  Whoever is late is answered with 408, unless there was an answer
before, and disconnected.  While the server itself does not read, nobody is late.  A head has a
longest length, too: the parser would keep one that never ends.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any, ClassVar, Self

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ameles.service.proxies import limited_as

SECONDS_FOR_HEAD = 10.0  # from the connection, or from the first byte of a further request
SECONDS_FOR_BODY = 30.0  # from the end of the head
LONGEST_HEAD = 1 << 16
now = time.monotonic
END_OF_HEAD = b"\r\n\r\n"
_OFFER = re.compile(rb"(?<=\r\n)upgrade(?=:)", re.IGNORECASE)


def _answer(status: bytes, what: bytes, tip: bytes, more: bytes = b"") -> bytes:
    said = b'{"what":"%s","why":"","tip":"%s"}' % (what, tip)
    head = (
        b"content-type: application/json\r\ncache-control: no-store\r\nconnection: close\r\n" + more
    )
    length = b"content-length: %d\r\n\r\n" % len(said)
    return b"HTTP/1.1 %s\r\n%s%s%s" % (status, head, length, said)


TOO_SLOW = _answer(b"408 Request Timeout", b"The request came too slowly.", b"a smaller batch")
TOO_LONG = _answer(
    b"431 Request Header Fields Too Large",
    b"The head of the request is too long.",
    b"fewer headers",
)
TOO_MANY = _answer(
    b"503 Service Unavailable",
    b"There are too many connections.",
    b"again later; one connection for many requests",
    b"retry-after: 1\r\n",
)
BROKEN = _answer(b"400 Bad Request", b"This is no request of HTTP/1.1.", b"another client or proxy")


class TimedRequests(HttpToolsProtocol):
    """A connection that knows by when the part of a request that it waits for must have come.

    It is refused if there are as many as uvicorn's ``limit_concurrency`` says, or more than half as
    many of its address.  Uvicorn itself looks at that when a request has come, and keeps idle ones.
    """

    addresses: ClassVar[Counter[str]] = Counter()  # how many connections each has

    _until: float | None = None  # None: it waits for nothing
    _in_head = True
    _refusal = BROKEN  # of what the parser does not take
    _head = 0  # bytes of a head that have come
    _tail = b""  # the last of them: its end may come in two pieces

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._until = now() + SECONDS_FOR_HEAD
        self._address = limited_as(self.client[0]) if self.client else ""
        self.addresses[self._address] += 1
        most, own = self.limit_concurrency, self.addresses[self._address]
        if most and (len(self.connections) >= most or 2 * own > most):
            self._end(TOO_MANY)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.addresses[self._address] -= 1
        if not self.addresses[self._address]:
            del self.addresses[self._address]

    @classmethod
    def of_one_server(cls) -> type[Self]:
        """The same protocol, for the connections of one server."""
        return type(cls.__name__, (cls,), {"addresses": Counter()})

    def data_received(self, data: bytes) -> None:
        if self._in_head or self._until is None:  # a head begins, or goes on
            if self._is_too_long(data):
                self._in_head = True  # the parser has not seen its beginning
                self._end(TOO_LONG)
                return
            data = without_upgrade(data)
        super().data_received(data)

    def _is_too_long(self, data: bytes) -> bool:
        """Whether more has come of a head than it may have."""
        read = self._tail + (data if self._head else data.lstrip(b"\r\n"))
        end = read.find(END_OF_HEAD)
        self._head += (len(read) if end < 0 else end + len(END_OF_HEAD)) - len(self._tail)
        self._tail = read[1 - len(END_OF_HEAD) :]
        return self._head > LONGEST_HEAD

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        if self._until is None:
            self._until = now() + SECONDS_FOR_HEAD

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._until = now() + SECONDS_FOR_BODY
        # a head that began behind another request, in the same piece, was not counted from there
        lines = sum(len(name) + len(value) + len(b": \r\n") for name, value in self.headers)
        begin = len(self.parser.get_method()) + len(self.url) + len(b"  HTTP/1.1\r\n\r\n")
        if begin + lines > LONGEST_HEAD:
            self._refusal = TOO_LONG
            raise ValueError("too long")  # the parser stops, and the server refuses what it has
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._until, self._head, self._tail = None, 0, b""
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """What the server calls for bytes that its parser refuses."""
        self._end(self._refusal)

    def drop_if_late(self) -> None:
        """Ends the connection if what it waits for should have come."""
        if self._until is None or now() < self._until or self.transport.is_closing():
            return
        if self.flow.read_paused:
            self._until = now() + SECONDS_FOR_BODY
            return
        self._end(TOO_SLOW)

    def _end(self, said: bytes) -> None:
        if not self._answering():
            self.transport.write(said)
        self.transport.close()

    def _answering(self) -> bool:
        """Whether an answer to this request has begun, or one to the request before goes on."""
        if self.cycle is None:
            return False
        if self._in_head:
            return not self.cycle.response_complete
        return self.cycle.response_started


def drop_late(connections: Iterable[Any]) -> None:
    """Ends those of the connections whose requests come too slowly."""
    for connection in list(connections):
        if isinstance(connection, TimedRequests):
            connection.drop_if_late()


def without_upgrade(read: bytes) -> bytes:
    r"""Bytes that begin with a head, or a part of one, whose offer of another protocol is renamed.

    Some clients offer HTTP/2 with every request that they send without TLS, those of Java by
    default.  A server may ignore that, but the parser would take what follows the head for the
    other protocol, and the body would be lost.

    >>> without_upgrade(b"POST / HTTP/1.1\r\nupgrade: h2c\r\n\r\nUpgrade: 1")
    b'POST / HTTP/1.1\r\nnot-upgraded: h2c\r\n\r\nUpgrade: 1'
    """
    end = read.find(END_OF_HEAD)
    head = read if end < 0 else read[:end]
    if _OFFER.search(head) is None:
        return read
    return _OFFER.sub(b"not-upgraded", head) + read[len(head) :]
