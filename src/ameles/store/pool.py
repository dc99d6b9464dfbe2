"""A connection pool: idle connections for the next transaction, in the process that opened them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from ameles.core.exceptions import StoreRefused

C = TypeVar("C")


class Pool(Generic[C]):
    """The idle connections of a store; each is used by one transaction at a time."""

    def __init__(
        self, where: str, *, connect: Callable[[], C], discard: Callable[[C], None]
    ) -> None:
        self._where = where
        self._connect = connect
        self._discard = discard
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._idle: list[C] = []
        self._closed = False

    @property
    def forked(self) -> bool:
        """Whether the connections belong to the process that this one was forked from."""
        return os.getpid() != self._process

    def take(self, suits: Callable[[C], bool] = lambda _: True) -> tuple[C, bool]:
        """A connection, and whether it was used before; an idle one only if it ``suits``."""
        self.check()
        with self._lock:
            for place in reversed(range(len(self._idle))):
                if suits(self._idle[place]):
                    return self._idle.pop(place), True
        return self._connect(), False

    def check(self) -> None:
        """Refuses a pool that is closed, or that belongs to another process."""
        if self.forked:
            raise StoreRefused(
                f"The store '{self._where}' was opened by the process that this one was forked "
                "from.",
                why="two processes that share a connection damage a database",
                tip="open_store(...) in each process",
            )
        if self._closed:
            raise StoreRefused(f"The store '{self._where}' was closed.")

    def put_back(self, connection: C, *, fit: bool = True) -> None:
        """Returns a connection after its transaction; a broken one is not used again."""
        with self._lock:
            if fit and not self._closed:
                self._idle.append(connection)
                return
        self._discard(connection)

    def close(self) -> None:
        """Discards the idle connections now, and the others when they are returned."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        if not self.forked:
            for connection in idle:
                self._discard(connection)
