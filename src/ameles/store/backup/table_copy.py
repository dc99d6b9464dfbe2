"""A copy of a store, table by table, as a SQLite database: for a store that is not one itself."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from ameles.store import migration
from ameles.store.session import StoreSession
from ameles.store.sqlite import whole_tables


def copy_tables(session: StoreSession, path: Path, where: str) -> None:
    """Writes all tables that a transaction sees into an empty file."""
    version = int(session.one("SELECT value FROM meta WHERE name = 'version'"))
    try:
        with closing(whole_tables.raw(path)) as copy:
            migration.migrate(copy, where, migration.scripts()[:version])
            copy.execute("DELETE FROM meta")  # the rows of the store come in their place
            copy.execute("BEGIN")
            for table, columns in session.tables().items():
                for rows in session.dump(table, columns):
                    whole_tables.fill(copy, table, columns, rows)
            copy.execute("COMMIT")
    except sqlite3.Error as problem:
        raise whole_tables.of_file(problem) from None
