"""Connections that a table uses again: opening one takes longer than answering a small question."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import duckdb

from ameles.connectors.duck import connect


class Connections:
    """Lends a connection to one question at a time; concurrent questions each get their own.

    A connection is locked to the files that it may open, so it is lent again only for the same
    files.  It is not kept after a failure, nor lent in a forked process, where its threads are
    missing.
    """

    def __init__(self, *, zone: str, memory: int) -> None:
        self._zone, self._memory = zone, memory
        self._lock = Lock()
        self._idle: tuple[int, tuple[str, ...], duckdb.DuckDBPyConnection] | None = None
        self._out: set[int] = set()  # the identities of connections that are lent now

    def lends(self, duck: duckdb.DuckDBPyConnection) -> bool:
        """Whether a connection is lent from here now, and may be lent again."""
        return id(duck) in self._out

    @contextmanager
    def lent(self, paths: tuple[str, ...]) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection that may open these files, until the end of the ``with`` block."""
        duck = self._taken(paths) or connect(zone=self._zone, memory=self._memory, readable=paths)
        self._out.add(id(duck))
        try:
            yield duck
        except BaseException:
            duck.close()
            raise
        finally:
            self._out.discard(id(duck))
        self._keep(paths, duck)

    def _taken(self, paths: tuple[str, ...]) -> duckdb.DuckDBPyConnection | None:
        with self._lock:
            if self._idle is None or self._idle[:2] != (os.getpid(), paths):
                return None
            (_, _, duck), self._idle = self._idle, None
            return duck

    def _keep(self, paths: tuple[str, ...], duck: duckdb.DuckDBPyConnection) -> None:
        with self._lock:
            before = self._idle
            if before is None or before[0] == os.getpid():
                self._idle = os.getpid(), paths, duck
        if before is not None:
            (before[2] if before[0] == os.getpid() else duck).close()
