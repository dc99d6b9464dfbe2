"""A store in Postgres that stands in for a file: tests that open a path get it, and cannot tell.

The file at the path says which schema it stands for, and has a copy of the tables as they were when
the store was last closed.  So it can be what tests make of a file: looked for, searched, removed,
copied, or put back from a backup.  A file that is not the newest of its schema (a copy, a backup)
becomes a schema of its own when it is opened.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import psycopg

from ameles.core.own_file import OWNER_ONLY
from ameles.store import migration, opening
from ameles.store.postgres.store import PostgresStore
from ameles.store.sqlite.database_file import prepare
from ameles.store.sqlite.store import SqliteStore
from ameles.store.transaction import Transaction
from tests import kept_connections, kept_schemas

SERVER = "AMELES_TEST_SERVER"  # in the environment: the address of the server, for processes too
PLACE = "ameles.store.opening.SqliteStore"  # what it stands in for
Bare: TypeAlias = psycopg.Connection[tuple[Any, ...]]
_kept: dict[tuple[int, str], Bare] = {}
_turn = threading.Lock()


class StandIn(PostgresStore):
    """A schema of the tests' server, found by the path of a file."""

    __module__ = PostgresStore.__module__  # for tests that search the program's own objects

    def __init__(
        self, path: Path, *, create: bool = True, patience: float = 10.0, migrating: bool = True
    ) -> None:
        self.path = Path(os.path.realpath(path))
        self._wrote = False
        prepare(self.path, create=create)
        with _alone(self.path) as bare:
            note = _read(self.path)
            fits = note is not None and _token(bare, note["schema"]) == note["token"]
            schema = note["schema"] if note is not None and fits else _new_schema(bare)
            super().__init__(url_of(schema), patience=patience, migrating=True)
            if not fits:
                _fill(bare, schema, note)
                _write(bare, self.path, schema)
        self._schema = schema

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        self._wrote = True
        with super().writing() as transaction:
            yield transaction

    def close(self) -> None:
        ours = self._wrote and not self._pool.forked
        super().close()
        # A server that is away now has everything when it is back.
        with suppress(psycopg.Error):
            if ours and self.path.exists():
                with _alone(self.path) as bare:
                    _write(bare, self.path, self._schema)


def url_of(schema: str) -> str:
    """The address of a schema of the server."""
    return f"{os.environ[SERVER]}&options={quote(f'-c search_path={schema}')}"


def schema_of(path: Path) -> str:
    """The schema that a file stands for."""
    note = _read(path)
    assert note is not None
    schema: str = note["schema"]
    return schema


@contextmanager
def _alone(path: Path) -> Iterator[Bare]:
    """No other process or thread opens or closes the same file meanwhile."""
    number = int.from_bytes(hashlib.sha256(os.fsencode(path)).digest()[:8], "big", signed=True)
    with _turn:
        bare = _connected()
        bare.execute("SELECT pg_advisory_lock(%s)", (number,))
        try:
            yield bare
        finally:
            with suppress(psycopg.Error):
                bare.execute("SELECT pg_advisory_unlock(%s)", (number,))


def _connected() -> Bare:
    """A connection of this process, kept because tests open very many stores."""
    place = os.getpid(), os.environ[SERVER]
    with suppress(KeyError, psycopg.OperationalError):
        _kept[place].execute("SELECT 1")
        return _kept[place]
    _kept[place] = psycopg.connect(os.environ[SERVER], autocommit=True)
    return _kept[place]


def disconnect() -> None:
    """Closes what this process has kept."""
    for (process, _), bare in _kept.items():
        if process == os.getpid():
            bare.close()
    _kept.clear()
    kept_connections.disconnect()
    kept_schemas.disconnect()


def _unused(bare: Bare) -> str:
    """A name that nothing has.  From the server: tests may have made Python's repeat themselves."""
    row = bare.execute("SELECT replace(gen_random_uuid()::text, '-', '')").fetchone()
    assert row is not None
    name: str = row[0]
    return name


def _new_schema(bare: Bare) -> str:
    """A name for a store; often of one that is there, empty, from a test that is over."""
    url, schema = os.environ[SERVER], f"p{_unused(bare)[:16]}"
    if not kept_schemas.take(url, schema):
        for left in _left(bare):
            kept_schemas.give_back(url, left)
        kept_schemas.take(url, schema)
    return schema


def _left(bare: Bare) -> list[str]:
    """Schemas that stood for files whose folders are gone."""
    rows = bare.execute(
        "SELECT nspname, obj_description(oid, 'pg_namespace') FROM pg_namespace "
        "WHERE obj_description(oid, 'pg_namespace') LIKE %s",
        ("% /%",),
    ).fetchall()
    return [name for name, note in rows if not Path(note.partition(" ")[2]).parent.exists()]


def _token(bare: Bare, schema: str) -> str | None:
    row = bare.execute(
        "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = %s",
        (schema,),
    ).fetchone()
    return row[0].partition(" ")[0] if row and row[0] else None


def _read(path: Path) -> dict[str, Any] | None:
    """What a file says, with its tables; None if it is new."""
    written = path.read_bytes()
    if not written:
        return None
    head, _, rest = written.partition(b"\n")
    if not re.match(rb'\{"schema"', head):
        migration.check(-1, 1, str(path))
    note: dict[str, Any] = json.loads(head)
    copies = {}
    for table, size in note["tables"].items():
        copies[table], rest = rest[:size], rest[size:]
    return note | {"copies": copies}


def _tables(bare: Bare, schema: str) -> list[str]:
    """In the order in which they were made: those that others refer to come first."""
    rows = bare.execute(
        "SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
        "WHERE nspname = %s AND relkind = 'r' ORDER BY pg_class.oid",
        (schema,),
    )
    return [name for (name,) in rows]


def _filled(bare: Bare, schema: str) -> list[str]:
    """Those of the tables that have rows."""
    tables = _tables(bare, schema)
    asked = ", ".join(f"EXISTS (SELECT FROM {schema}.{table})" for table in tables)
    row = bare.execute(f"SELECT {asked}".encode()).fetchone()
    assert row is not None
    return [table for table, some in zip(tables, row, strict=True) if some]


def _write(bare: Bare, path: Path, schema: str) -> None:
    token = _unused(bare)
    copies = {}
    for table in _filled(bare, schema):
        with bare.cursor().copy(
            f"COPY {schema}.{table} TO STDOUT (FORMAT BINARY)".encode()
        ) as copy:
            copies[table] = b"".join(bytes(part) for part in copy)
    sizes = {table: len(content) for table, content in copies.items()}
    note = {"schema": schema, "token": token, "tables": sizes}
    new = path.with_name(f".{path.name}.new")
    with open(os.open(new, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, OWNER_ONLY), "wb") as file:
        file.write(json.dumps(note).encode() + b"\n" + b"".join(copies.values()))
    new.replace(path)
    said = f"{token} {path}".replace("'", "''")  # the path tells when nobody needs it any more
    bare.execute(f"COMMENT ON SCHEMA {schema} IS '{said}'".encode())


def _fill(bare: Bare, schema: str, note: dict[str, Any] | None) -> None:
    if note is None:
        return
    bare.execute(f"DELETE FROM {schema}.meta".encode())
    for table, content in note["copies"].items():
        with bare.cursor().copy(
            f"COPY {schema}.{table} FROM STDIN (FORMAT BINARY)".encode()
        ) as copy:
            copy.write(content)


def install(server: str) -> None:
    """Lets paths mean stores in the server at an address, if there is one, in this process."""
    if server:
        os.environ[SERVER] = server
        vars(opening)["SqliteStore"] = StandIn


@contextmanager
def bare_store(path: Path) -> Iterator[Any]:
    """A connection past the store to its database, wherever that is."""
    if vars(opening)["SqliteStore"] is SqliteStore:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            yield connection
    else:
        with psycopg.connect(url_of(schema_of(path)), autocommit=True) as bare:
            yield bare


def lock_store(bare: Any) -> None:
    """Lets writers wait until the connection is closed."""
    if isinstance(bare, sqlite3.Connection):
        bare.execute("BEGIN IMMEDIATE")
    else:
        bare.execute("BEGIN")
        bare.execute("LOCK TABLE meta IN SHARE ROW EXCLUSIVE MODE")


def drop_triggers(bare: Any) -> None:
    """What guards the tables goes, so that they can be damaged."""
    if isinstance(bare, sqlite3.Connection):
        for (name,) in bare.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            bare.execute(f"DROP TRIGGER {name}")
    else:
        for table in _tables(bare, bare.execute("SELECT current_schema()").fetchone()[0]):
            bare.execute(f'ALTER TABLE "{table}" DISABLE TRIGGER USER')
