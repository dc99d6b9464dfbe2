"""A store that can be read and not written: a read-only disk, folder or file.

SQLite needs to write in order to read a store with a write-ahead log: it keeps an index of the log
in a file beside the store.  Where it cannot, there are two cases.

No log       The last process that used the store has merged its log into it.  Then the file itself
             is everything, and is read as one that does not change (``immutable``).  SQLite takes
             no locks then.  So the file is compared after each transaction: if a process that may
             write it, from another mount or another machine, has changed it, the transaction is
             refused.
A log        A process uses the store, or died while it did.  SQLite then reads the log and its
             index as they are, with its usual locks; without the index, the store is refused.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from ameles.core.exceptions import StoreRefused
from ameles.store import migration
from ameles.store.sqlite.connection import StoreConnection
from ameles.store.sqlite.session import SqliteSession
from ameles.store.sqlite.store import SETTINGS, SqliteStore
from ameles.store.transaction import Transaction

_FOR_READING = ("temp_store", "trusted_schema", "cache_size")


def can_write(path: Path) -> bool:
    """Whether this user may write a store: the file, and new files beside it."""
    path = Path(os.path.realpath(path))
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return True  # opening it says what is wrong
    return bool(mode & stat.S_IWUSR) and all(os.access(at, os.W_OK) for at in (path, path.parent))


class ReadOnlyStore(SqliteStore):
    """The store at a path, as it is; it changes nothing there, and holds nothing."""

    writable = False

    def writing(self) -> AbstractContextManager[Transaction]:
        raise self._cannot("be written")

    def shrink(self) -> None:
        raise self._cannot("be written")

    def scrub(self) -> str:
        raise self._cannot("be written")

    def holding(self, name: str) -> AbstractContextManager[None]:
        raise self._cannot("be written")

    def _first(self) -> StoreConnection:
        # The file is looked at before its log: while it stays the same, it is what it was when
        # there was no log.
        self._looked_at = self._now()
        log, index = (Path(f"{self.path}-{end}") for end in ("wal", "shm"))
        self._immutable = not log.exists() or not (index.exists() or log.stat().st_size)
        if not self._immutable and not index.exists():
            raise StoreRefused(
                f"The store '{self._where}' cannot be read there.",
                why="its newest changes are in the file beside it that ends in -wal, and reading "
                "them needs a folder in which this user may write",
                tip=f"copy '{self._where}' and '{self._where}-wal' to such a folder, and read "
                "them there; never run a stream from a copy",
            )
        connection = self._connect()
        try:
            version, newest = migration.version_of(connection), len(migration.scripts())
            migration.check(version, newest, self._where)
            if version != newest and self._migrating:
                raise self._cannot(f"be updated from version {version} to {newest}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self) -> StoreConnection:
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode=ro{'&immutable=1' if self._immutable else ''}",
            uri=True,
            timeout=self._patience,
            isolation_level=None,
            check_same_thread=False,
            factory=StoreConnection,
        )
        for name, value, _ in SETTINGS:
            if name in _FOR_READING:
                connection.execute(f"PRAGMA {name} = {value}")
        return connection

    @contextmanager
    def _session(self, begin: str, *, writable: bool) -> Iterator[SqliteSession]:
        with super()._session(begin, writable=writable) as session:
            yield session
            if self._immutable and self._now() != self._looked_at:
                raise StoreRefused(
                    f"The store '{self._where}' was changed while it was being read.",
                    why="another process writes it, and it is read-only here",
                    tip="run again",
                )

    def _now(self) -> tuple[int, ...]:
        status = os.stat(self.path)
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

    def _cannot(self, what: str) -> StoreRefused:
        return StoreRefused(
            f"The store '{self._where}' cannot {what}.",
            why="the file, its folder or its disk is read-only",
            tip="a folder in which this user may write",
        )
