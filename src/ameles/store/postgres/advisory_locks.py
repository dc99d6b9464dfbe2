"""One process per stream: an advisory lock of the server, which ends with the connection that took
it.

One connection holds the locks of all streams of a store object, and while it holds any, all writes
go through it.  So a process that lost its lock (because the server was restarted, or an
administrator ended its session) cannot write any more: the lock and the right to write end at the
same moment.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ameles.core.exceptions import StoreRefused
from ameles.store.lock_names import in_use
from ameles.store.pool import Pool
from ameles.store.postgres.connection import NAME, Wire
from ameles.store.postgres.driver import driver
from ameles.store.postgres.problems import LOCKED, refusal, sentence
from ameles.store.unavailable import StoreAway

_LOCK = (
    "locktype = 'advisory' AND granted AND objsubid = 1 "
    "AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    "AND (classid::bigint << 32) | objid::bigint = "
)
_HOLDER = f"SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE {_LOCK}%s"
HELD = f"SELECT 1 FROM pg_locks WHERE {_LOCK}?"


def key(schema: str, name: str | None = None) -> int:
    """The number of a lock in the database, for a stream or for the store itself."""
    words = f"ameles\0{schema}" if name is None else f"ameles\0{schema}\0{name}"
    digest = hashlib.sha256(words.encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


class StreamLocks:
    """The streams that a store object has locked, and the one connection that holds the locks."""

    def __init__(self, schema: str, where: str, pool: Pool[Wire], patience: float) -> None:
        self._schema = schema
        self._where = where
        self._pool = pool
        self._patience = patience
        self._busy = threading.Lock()  # the connection is in use
        self._held: set[str] = set()
        self._keeper: Wire | None = None

    def number(self, name: str) -> int:
        """The number of a stream's lock."""
        return key(self._schema, name)

    @property
    def lost(self) -> bool:
        """Whether the connection has ended that held the locks of streams, which still run."""
        keeper = self._keeper
        return keeper is not None and keeper.broken

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Locks a stream; refused while another process, or this one, holds the lock."""
        with self._in_turn():
            self._take(name)
        try:
            yield
        finally:
            if not self._pool.forked:  # otherwise the lock belongs to the parent, and stays
                with self._busy:
                    self._give(name)

    @contextmanager
    def writer(self) -> Iterator[Wire | None]:
        """The connection to write through, or None while nothing is held."""
        if not self._held:
            yield None
            return
        with self._in_turn():
            if self._keeper is not None and self._keeper.broken:
                raise self._lost()
            yield self._keeper

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        self._pool.check()
        if not self._busy.acquire(timeout=self._patience):
            raise sentence(LOCKED, self._where)
        try:
            yield
        finally:
            self._busy.release()

    def _take(self, name: str) -> None:
        if name in self._held:
            raise in_use(name, "")
        if self._keeper is None:
            self._keeper = self._fresh()
        keeper, number = self._keeper, key(self._schema, name)
        if keeper.broken:
            raise self._lost()
        try:
            (taken,) = keeper.execute("SELECT pg_try_advisory_lock(%s)", (number,)).fetchone()
            if not taken:
                raise in_use(name, _holder(keeper, number))
            self._held.add(name)
        except StoreRefused:
            raise
        except BaseException as problem:
            keeper.close()  # closing it makes sure that it does not hold the lock
            if isinstance(problem, driver().Error):
                raise refusal(problem, self._where) from None
            raise
        finally:
            self._let_go()

    def _give(self, name: str) -> None:
        self._held.discard(name)
        if self._keeper is not None and not self._keeper.broken:
            try:
                self._keeper.execute("SELECT pg_advisory_unlock(%s)", (key(self._schema, name),))
            except driver().Error:
                self._keeper.close()  # then the server frees the lock
        self._let_go()

    def _let_go(self) -> None:
        """Returns the connection to the pool when it holds no lock."""
        if not self._held and self._keeper is not None:
            keeper, self._keeper = self._keeper, None
            self._pool.put_back(keeper, fit=not keeper.broken)

    def _fresh(self) -> Wire:
        """A connection that answers; idle ones may have died since."""
        while True:
            wire, used = self._pool.take()
            try:
                wire.execute("SELECT 1")
            except driver().Error as problem:
                wire.close()
                if not used:
                    raise refusal(problem, self._where) from None
            else:
                return wire

    def _lost(self) -> StoreAway:
        return StoreAway(
            f"The store '{self._where}' no longer holds the streams of this process.",
            why="the connection that held them was ended, so another process may run them now",
            tip="run again: what is not released yet is released then",
        )


def _holder(wire: Wire, number: int) -> str:
    """The process that holds a lock, if the server tells."""
    row = wire.execute(_HOLDER, (number,)).fetchone()
    match = re.fullmatch(rf"{NAME} (\d+)", (row and row[0]) or "")
    return f" ({match[1]})" if match else ""
