"""Leaves the body of a request in its socket until somebody asks for it.

A server reads whatever has come, and that is usually the head of a request with its body.  If the
state of a stream may be seized, its raw events must not lie in the server's buffers while they wait
for their turn.  So the server looks at what has come without taking it, reads up to the end of the
head, and stops there; the body follows when the application receives it.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from ameles.service.slow_clients import END_OF_HEAD, TimedRequests

SIZE = 1 << 16


class _Buffers:
    """What has come is looked at here and read here; both are wiped after each use."""

    def __init__(self) -> None:
        self.seen = bytearray(SIZE)
        self.read = bytearray(SIZE)


def with_unread_bodies(paths: frozenset[str]) -> type[TimedRequests]:
    """A protocol for a server of one thread; bodies that go to these paths wait."""
    buffers = _Buffers()

    class UnreadBodies(TimedRequests, asyncio.BufferedProtocol):
        """Reads heads, and bodies when they are asked for."""

        _peeking: socket.socket | None = None
        _left = 0  # bytes of the body that has begun
        _before = b""  # the last bytes of a head that has begun: its end may come in two pieces

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if transport.is_closing():  # it is one too many
                return
            # the transport shows its socket, but does not let us look into it
            self._peeking = socket.socket(fileno=_duplicate(transport.get_extra_info("socket")))

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            if self._peeking is not None:
                self._peeking.close()

        def get_buffer(self, sizehint: int) -> memoryview:
            """As much room as the bytes that may be read now; there are some."""
            if self._left:  # not beyond it: the next request may be there already
                return memoryview(buffers.read)[: min(SIZE, self._left)]
            count = 0
            if self._peeking is not None:
                try:
                    count = self._peeking.recv_into(buffers.seen, SIZE, socket.MSG_PEEK)
                except OSError:
                    count = 0  # the reader will find out
            size = _up_to_end(self._before, buffers.seen, count)
            buffers.seen[:count] = bytes(count)
            return memoryview(buffers.read)[: size or 1]

        def buffer_updated(self, nbytes: int) -> None:
            """Passes on what was read."""
            data = bytes(memoryview(buffers.read)[:nbytes])
            buffers.read[:nbytes] = bytes(nbytes)
            self._before = b"" if self._left else _beginning(self._before + data)
            self.data_received(data)

        def on_headers_complete(self) -> None:
            super().on_headers_complete()
            self._left = _length(self.headers)
            if self.scope["path"] in paths:
                self.flow.pause_reading()  # until the application receives

        def on_body(self, body: bytes) -> None:
            self._left -= min(self._left, len(body))
            super().on_body(body)

    return UnreadBodies


def _up_to_end(before: bytes, seen: bytearray, count: int) -> int:
    r"""How many of the bytes that were seen belong to a head that begins with those before.

    >>> _up_to_end(b"", bytearray(b"Host: here\r\n\r\nbody"), 18)
    14
    >>> _up_to_end(b"re\r\n", bytearray(b"\r\nbody"), 6)
    2
    """
    for cut in reversed(range(1, len(END_OF_HEAD))):
        rest = END_OF_HEAD[cut:]
        if before.endswith(END_OF_HEAD[:cut]) and seen.startswith(rest, 0, count):
            return len(rest)
    end = seen.find(END_OF_HEAD, 0, count)
    return count if end < 0 else end + len(END_OF_HEAD)


def _beginning(read: bytes) -> bytes:
    r"""The bytes at the end of what was read with which an end of a head may begin.

    >>> _beginning(b"Host: here\r\n"), _beginning(b"Host: here\r\n\r\n")
    (b'e\r\n', b'')
    """
    return b"" if read.endswith(END_OF_HEAD) else read[1 - len(END_OF_HEAD) :]


def _length(headers: list[tuple[bytes, bytes]]) -> int:
    """How long a body says that it is; 0 if it does not say it."""
    return next((int(value) for name, value in headers if name == b"content-length"), 0)


def _duplicate(shown: Any) -> int:
    duplicate: socket.socket = shown.dup()
    return duplicate.detach()
