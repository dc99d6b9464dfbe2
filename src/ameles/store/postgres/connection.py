"""One connection to Postgres with the settings that a store needs; each setting is read back.

Published means durable: ``synchronous_commit`` is on whatever the server's default is, and a server
without ``fsync`` is refused.  A transaction may take as long as its work does (reading a large
file, for example), so only waiting for other writers has a timeout.  Every query of a store uses
primary keys.  The planner has no statistics of a table that has just grown, so the settings keep it
from scanning the whole table instead.
"""

from __future__ import annotations

import math
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import uuid4

from ameles.core.exceptions import StoreRefused
from ameles.store.postgres.address import Address
from ameles.store.postgres.binary_arrays import BigInts, Blobs
from ameles.store.postgres.driver import driver
from ameles.store.postgres.problems import (
    READ_ONLY,
    connection_refusal,
    passing,
    refusal,
    sentence,
)

OLDEST = 140000
NAME = "ameles"
MARK = "ameles.connection"  # our own setting, which identifies the session

SETTINGS = {
    "synchronous_commit": "on",
    "statement_timeout": "0",  # a timeout would also end a commit that waits for a standby
    "idle_in_transaction_session_timeout": "0",
    "idle_session_timeout": "0",  # a stream that is held may be idle for long
    "log_parameter_max_length_on_error": "0",  # parameters are secret
    "tcp_keepalives_idle": "30",  # about how long a vanished machine keeps its locks
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_sort": "off",  # rows come in order from the index
    "jit": "off",
}

LATER_VERSION = 170000
LATER = {"transaction_timeout": "0"}  # a long replay is one transaction

# Settings that must have these values, whoever set them, and why.
DEMANDS = {
    "synchronous_commit": ("on", "a release could be lost or drawn again after a power cut"),
    "fsync": ("on", "a release could be lost or drawn again after a power cut"),
    "server_encoding": ("UTF8", "names and keys are any Unicode"),
}


@dataclass(frozen=True, slots=True)
class Wire:
    """A connection, and the mark of its server session.

    Behind a pooler, a connection may switch to other sessions, which others use in between.
    """

    connection: Any
    mark: str

    def execute(self, sql: str, values: Any = None) -> Any:
        """A cursor with the result; values are written as ``%s``."""
        return self.connection.execute(sql, values)

    def ask(self, sql: str, values: Any = None) -> Any:
        """The same for one query, with the result in binary: as text, a state of more than half a
        gigabyte could be written but never read again."""
        return self.connection.execute(sql, values, binary=True)

    @property
    def broken(self) -> bool:
        """Whether the connection is broken or closed."""
        return bool(self.connection.closed)

    def close(self) -> None:
        """Closes it; its transaction has ended or will never be committed."""
        with suppress(driver().Error, OSError):
            self.connection.close()


def connect(address: Address, patience: float) -> Wire:
    """A new connection."""
    psycopg = driver()
    name = {} if address.named else {"application_name": f"{NAME} {os.getpid()}"}
    deadline = time.monotonic() + patience
    while True:
        try:
            connection = psycopg.connect(
                address.url,
                autocommit=True,  # BEGIN and COMMIT are sent as statements
                prepare_threshold=None,
                connect_timeout=max(2, math.ceil(patience)),
                client_encoding="UTF8",
                **name,
            )
            break
        except (psycopg.Error, UnicodeEncodeError) as problem:
            if not passing(problem) or time.monotonic() >= deadline:
                raise connection_refusal(problem, address.where) from None
        time.sleep(0.1)
    try:
        for kind in (BigInts, Blobs):
            connection.adapters.register_dumper(kind, _dumper(kind))
        return _prepared(connection, address, patience)
    except BaseException as problem:
        connection.close()
        if isinstance(problem, psycopg.Error):
            raise refusal(problem, address.where) from None
        raise


def _prepared(connection: Any, address: Address, patience: float) -> Wire:
    where = address.where
    if connection.info.server_version < OLDEST:
        raise StoreRefused(
            f"The store '{where}' is on a server that is older than Postgres {OLDEST // 10000}.",
            tip="a newer server",
        )
    mark = uuid4().hex
    wanted = {
        **SETTINGS,
        **(LATER if connection.info.server_version >= LATER_VERSION else {}),
        MARK: mark,
        "lock_timeout": f"{max(1, round(1000 * patience))}ms",
        "search_path": f'"{address.schema}", pg_temp',
    }
    sets = ", ".join("set_config(%s, %s, false)" for _ in wanted)
    connection.execute(f"SELECT {sets}", [word for pair in wanted.items() for word in pair])
    asked = ", ".join(f"current_setting('{name}')" for name in DEMANDS)
    replica, *values = connection.execute(f"SELECT pg_is_in_recovery(), {asked}").fetchone()
    for (name, (expected, why)), value in zip(DEMANDS.items(), values, strict=True):
        if value != expected:
            raise unsafe(where, name, expected, why)
    if replica:
        raise sentence(READ_ONLY, where)
    return Wire(connection, mark)


@cache
def _dumper(kind: type[BigInts] | type[Blobs]) -> type[Any]:
    """A psycopg dumper for an array that is already encoded."""
    psycopg = driver()

    def dump(self: Any, ready: bytes) -> bytes:
        return bytes(ready)

    words = {"oid": kind.array_kind, "format": psycopg.pq.Format.BINARY, "dump": dump}
    return type("Dumper", (psycopg.adapt.Dumper,), words)


def unsafe(where: str, name: str, expected: str, why: str) -> StoreRefused:
    """The refusal for a setting with the wrong value."""
    return StoreRefused(
        f"The store '{where}' cannot be used safely: {name} is not {expected} there.",
        why=why,
        tip=f"{name} = {expected} on the server",
    )
