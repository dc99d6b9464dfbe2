"""Connections to Postgres that are used again, since tests open thousands of stores.

A new one takes 20 milliseconds of processor time, in the program and in the server.

A store that closes a connection gives it back without its locks, settings and temporary tables, as
a pooler does, and finds it closed.  The next store gets it with settings of its own, which it reads
back.  A connection that is broken or in a transaction is closed in earnest.  What is about
connections themselves has new ones (``tests/store``), and so has every process that a test starts.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import Any

import psycopg

from ameles.core.exceptions import StoreRefused
from ameles.store.postgres import connection as earnest
from ameles.store.postgres.address import Address
from ameles.store.postgres.connection import Wire

PLACE = "ameles.store.postgres.store.connect"  # what ``connect`` stands in for
MOST = 8  # idle ones
_idle: dict[tuple[int, str], list[Any]] = {}


class Lent:
    """A connection as its store sees it, until the store closes it."""

    def __init__(self, connection: Any, idle: list[Any]) -> None:
        self._connection = connection
        self._idle = idle
        self._returned = False

    def __getattr__(self, name: str) -> Any:
        if self._returned:
            raise psycopg.OperationalError("the connection is closed")
        return getattr(self._connection, name)

    @property
    def closed(self) -> bool:
        return self._returned or bool(self._connection.closed)

    def close(self) -> None:
        if self._returned:
            return
        self._returned = True
        status = self._connection.info.transaction_status
        if status == psycopg.pq.TransactionStatus.IDLE and len(self._idle) < MOST:
            with suppress(psycopg.Error):
                self._connection.execute("DISCARD ALL")
                self._idle.append(self._connection)
                return
        self._connection.close()


def connect(address: Address, patience: float) -> Wire:
    """A connection for a store: one that another has given back, or a new one."""
    server = re.sub(r"[&?]options=[^&]*", "", address.url)  # where the schema is
    idle = _idle.setdefault((os.getpid(), server), [])
    while idle:
        lent = Lent(idle.pop(), idle)
        try:
            return earnest._prepared(lent, address, patience)
        except (psycopg.Error, StoreRefused):  # its server is another by now; a new one can tell
            lent._connection.close()
    wire = earnest.connect(address, patience)
    return Wire(Lent(wire.connection, idle), wire.mark)


def disconnect() -> None:
    """Closes what this process has kept."""
    for (process, _), idle in _idle.items():
        if process == os.getpid():
            for connection in idle:
                connection.close()
    _idle.clear()
