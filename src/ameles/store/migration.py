"""Numbered migrations: from an empty database, or an older version, to this program's version.

``migrations/0001.sql`` makes version 1, ``0002.sql`` turns version 1 into 2, and so on.  Those for
Postgres are in a folder of their own, with the same numbers.  All steps and the new version number
are one transaction: a crash leaves the old version, whole.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from ameles.core.exceptions import StoreRefused

_TABLE = re.compile(r"^CREATE TABLE (\w+)", re.MULTILINE)


@cache
def scripts(folder_name: str = "migrations") -> tuple[str, ...]:
    """The migrations in order: the first makes version 1."""
    folder = files("ameles.store") / folder_name
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    return tuple((folder / name).read_text(encoding="utf-8") for name in names)


def statements(script: str) -> Iterator[str]:
    """The single statements of a script; each ends at the end of a line.

    >>> list(statements("CREATE TABLE a (x);\\n-- why\\nCREATE TABLE b (x);\\n"))
    ['CREATE TABLE a (x);\\n', '-- why\\nCREATE TABLE b (x);\\n']
    """
    waiting = ""
    for line in script.splitlines(keepends=True):
        waiting += line
        if sqlite3.complete_statement(waiting):
            yield waiting
            waiting = ""


@cache
def table_names() -> tuple[str, ...]:
    """All tables in the order in which migrations make them: what others refer to comes first.

    >>> table_names()[:2]
    ('meta', 'population')
    """
    return tuple(name for script in scripts() for name in _TABLE.findall(script))


def version_of(connection: sqlite3.Connection) -> int:
    """The version of a database; 0 if it is empty, -1 if it is not a store of Ameles."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if not tables:
        return 0
    if "meta" not in tables:
        return -1
    row = connection.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()
    return int(row[0]) if row and str(row[0]).isdecimal() else -1


def check(version: int, newest: int, where: str) -> None:
    """Refuses a database of another program or of a newer version."""
    if version < 0:
        raise StoreRefused(
            f"The store '{where}' is not a store of Ameles.",
            why="it is a database of another program",
            tip="another path",
        )
    if version > newest:
        raise StoreRefused(
            f"The store '{where}' has version {version}; this program reads up to version "
            f"{newest}.",
            why="a newer program wrote it",
            tip="update ameles",
        )


def check_readable(version: int, where: str) -> None:
    """Refuses what cannot be read as it is, without a migration; older versions can."""
    check(version, len(scripts()), where)
    if version == 0:
        raise StoreRefused(f"The store '{where}' is empty.", tip="the path of another store")


def migrate(
    connection: sqlite3.Connection, where: str, migrations: Sequence[str] | None = None
) -> None:
    """Brings the database to the newest version, if it is older."""
    steps = scripts() if migrations is None else migrations
    version = version_of(connection)
    check(version, len(steps), where)
    if version == len(steps):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have migrated it meanwhile.
        version = version_of(connection)
        check(version, len(steps), where)
        for script in steps[version:]:
            for statement in statements(script):
                connection.execute(statement)
        connection.execute(
            "INSERT INTO meta (name, value) VALUES ('version', ?) "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (str(len(steps)),),
        )
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
