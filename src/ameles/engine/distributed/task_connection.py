"""The connection to DuckDB that a process keeps from one task to the next."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from ameles.connectors.duck import KeptConnection


class _Kept(threading.local):
    """The connections of one thread: two tasks at a time must not share one."""

    def __init__(self) -> None:
        self.connections: dict[tuple[str, int, int | None], KeptConnection] = {}


_KEPT = _Kept()


@contextmanager
def task_connection(
    zone: str, memory: int, readable: tuple[str, ...] = (), *, threads: int | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that may open these files, and nothing else; new after a failure."""
    fresh = KeptConnection(zone=zone, memory=memory, threads=threads)
    connection = _KEPT.connections.setdefault((zone, memory, threads), fresh)
    try:
        yield connection.reading(readable)
    except BaseException:
        connection.close()  # frees DuckDB's buffers
        raise


def close_connections() -> None:
    """Frees what this thread's connections hold."""
    for connection in _KEPT.connections.values():
        connection.close()
    _KEPT.connections.clear()
