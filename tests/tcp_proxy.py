"""Connections that tests can cut: a proxy between a client and a server of this machine."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self


class Proxy:
    """Hands bytes on, until it is cut; after ``mend`` it takes new connections."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.target = ""
        self.cuts = 0
        self._left: int | None = None  # bytes for the client before it is cut; None: no limit
        self._down = False
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self._listener.close()

    def cut(self) -> None:
        """Ends all connections, and takes no more."""
        with self._guard:
            self.cuts += not self._down
            self._down, self._left = True, None
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            self._open.clear()

    def cut_after(self, size: int) -> None:
        """Cuts everything once a client has got this many more bytes."""
        with self._guard:
            self._left = size

    def mend(self) -> None:
        """Takes connections again."""
        with self._guard:
            self._down, self._left = False, None

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                host, _, port = self.target.rpartition(":")
                try:
                    if self._down:
                        raise OSError
                    server = socket.create_connection((host, int(port)))
                except OSError:
                    client.close()
                    continue
                with self._guard:
                    self._open |= {client, server}
                for pair in ((client, server, False), (server, client, True)):
                    threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, one: socket.socket, other: socket.socket, counted: bool) -> None:
        with suppress(OSError), one, other:
            while data := one.recv(1 << 16):
                if counted and self._is_last(len(data)):
                    other.sendall(data[: len(data) // 2])
                    self.cut()
                    return
                other.sendall(data)
        with suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)

    def _is_last(self, size: int) -> bool:
        with self._guard:
            if self._left is None:
                return False
            self._left -= size
            return self._left <= 0
