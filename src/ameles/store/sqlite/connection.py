"""A connection that remembers two of its settings.

SQLite prepares all statements of a connection anew after a setting is set, even to the same value.

>>> connection = sqlite3.connect(":memory:", factory=StoreConnection)
>>> connection.only_read(True)
>>> connection.execute("CREATE TABLE t (x)")
Traceback (most recent call last):
...
sqlite3.OperationalError: attempt to write a readonly database
>>> connection.close()
"""

from __future__ import annotations

import sqlite3

PAGES = 1000  # of a log that a commit merges, unless something else does


class StoreConnection(sqlite3.Connection):
    """A connection to a store."""

    _only_reads: bool | None = None
    _pages = PAGES

    def suits(self, *, writable: bool) -> bool:
        """Whether it can be used like this without another setting."""
        return self._only_reads is not writable

    def only_read(self, only: bool) -> None:
        """Refuses all changes from now on, or no more."""
        if self._only_reads is not only:
            self.execute(f"PRAGMA query_only = {'ON' if only else 'OFF'}")
            self._only_reads = only

    def merge_log_at(self, pages: int) -> None:
        """Makes a commit merge the log when it has so many pages."""
        if self._pages != pages:
            self.execute(f"PRAGMA wal_autocheckpoint = {pages}").fetchall()
            self._pages = pages
