"""A store in one SQLite file.

Published means durable, so every commit is synced (``synchronous = FULL``).  The journal is a
write-ahead log: a commit is one sync, a reader (a dashboard, a long export) never delays a release,
and a commit survives a power cut, which the rollback journal promises only with ``EXTRA``.  The
price: while the store is in use it is up to three files, and a copy of the first file alone is an
older store.  The last process to close it merges them into one.  The log does not work on network
file systems; there the store is refused.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TypeVar

from ameles.core.exceptions import StoreRefused
from ameles.store import migration
from ameles.store.pool import Pool
from ameles.store.sqlite.connection import PAGES, StoreConnection
from ameles.store.sqlite.database_file import prepare, real_path, temporary_files_in
from ameles.store.sqlite.lock_files import held, is_held
from ameles.store.sqlite.log_merging import LONGEST, LogMerging
from ameles.store.sqlite.problems import locked, refusal
from ameles.store.sqlite.session import SqliteSession
from ameles.store.sqlite.turns import Turns
from ameles.store.store import Store
from ameles.store.transaction import Transaction

OLDEST = (3, 37, 0)  # has STRICT tables

# Set on every connection, then read back: a setting that did not take effect is a refusal.
SETTINGS: tuple[tuple[str, str, object], ...] = (
    ("journal_mode", "WAL", "wal"),
    ("synchronous", "FULL", 2),
    ("fullfsync", "ON", 1),  # on macOS a plain sync leaves the data in the disk's cache
    ("checkpoint_fullfsync", "ON", 1),
    ("foreign_keys", "ON", 1),
    ("recursive_triggers", "ON", 1),  # else INSERT OR REPLACE would pass by those on DELETE
    ("secure_delete", "ON", 1),
    ("temp_store", "MEMORY", 2),  # no secret in a temporary file
    ("trusted_schema", "OFF", 0),
    ("journal_size_limit", str(1 << 26), 1 << 26),  # a long replay leaves no huge log behind
    ("cache_size", "-16384", -16384),  # KiB
)

_creating = threading.Lock()
T = TypeVar("T")


class SqliteStore(Store):
    """Connections to one file, each used by one transaction at a time."""

    writable = True

    def __init__(
        self, path: Path, *, create: bool = True, patience: float = 10.0, migrating: bool = True
    ) -> None:
        if sqlite3.sqlite_version_info < OLDEST:
            raise StoreRefused(
                f"This Python comes with SQLite {sqlite3.sqlite_version}; a store needs 3.37.",
                tip="a newer Python",
            )
        self.path = real_path(path)
        self._where = str(path)
        self._patience = patience
        self._migrating = migrating
        self._turns = Turns()
        self._commits = 0
        self._merging = 0  # how many have asked for a thread that merges the log
        self._pool = Pool(
            self._where, connect=lambda: self._patiently(self._connect), discard=_discard
        )
        # Closing a second handle of a file drops SQLite's locks on it in the whole process, so no
        # other thread may open the store while this handle exists.
        with _creating:
            prepare(self.path, create=create, writable=self.writable)
        self._pool.put_back(self._patiently(self._first))

    def __repr__(self) -> str:
        return f"<SqliteStore '{self._where}'>"

    def writing(self) -> AbstractContextManager[Transaction]:
        return self._transaction("BEGIN IMMEDIATE", writable=True)

    def reading(self) -> AbstractContextManager[Transaction]:
        return self._transaction("BEGIN", writable=False)

    def holding(self, name: str) -> AbstractContextManager[None]:
        return held(self.path, name)

    def held(self, name: str) -> bool:
        return is_held(self.path, name)

    def check(self) -> None:
        with self._session("BEGIN", writable=False) as session:
            for question in ("PRAGMA integrity_check", "PRAGMA foreign_key_check"):
                if session.rows(question) not in ([], [("ok",)]):
                    raise StoreRefused(
                        f"The store '{self._where}' is damaged.",
                        why="its tables contradict each other",
                        tip="a backup of the store",
                    )

    def copy_into(self, path: Path) -> None:
        with self._session("BEGIN", writable=False) as session:
            session.copy_into(path)

    def shrink(self) -> None:
        with self._alone() as connection:
            # The old and the new file at once may not fit into memory.  SQLite makes a temporary
            # file for its owner alone and removes its name at once.
            connection.execute("PRAGMA temp_store = FILE")
            with temporary_files_in(self.path.parent):
                connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def scrub(self) -> str:
        with self._alone() as connection:
            busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        kept = (
            "a process that reads the store keeps its log: stop it, and do this again"
            if busy
            else "old blocks of its log stay on the disk until they are used again"
        )
        return f"best effort: overwritten in '{self._where}'; {kept}"

    def close(self) -> None:
        self._pool.close()

    @contextmanager
    def merging_aside(self) -> Iterator[None]:
        with self._alone() as connection:
            self._merging += 1
            merging = LogMerging(connection, lambda: self._commits, self._turn)
            try:
                yield
            finally:
                merging.stop()
                self._merging -= 1

    @contextmanager
    def _alone(self) -> Iterator[StoreConnection]:
        """A connection for what cannot be done in a transaction; it is not used again."""
        self._pool.check()
        connection = self._patiently(self._connect)
        try:
            yield connection
        except sqlite3.Error as problem:
            raise refusal(problem, self._where) from None
        finally:
            _discard(connection)

    @contextmanager
    def _transaction(self, begin: str, *, writable: bool) -> Iterator[Transaction]:
        with self._session(begin, writable=writable) as session:
            yield Transaction(session)

    @contextmanager
    def _session(self, begin: str, *, writable: bool) -> Iterator[SqliteSession]:
        self._pool.check()  # first: in a forked process nobody ends a turn
        with self._turn() if writable else nullcontext():
            connection, _ = self._pool.take(lambda one: one.suits(writable=writable))
            session = SqliteSession(connection, self._where, writable=writable)
            try:
                if writable:
                    connection.merge_log_at(LONGEST if self._merging else PAGES)
                self._patiently(lambda: session.begin(begin))
                yield session
                session.commit()
                self._commits += writable  # it is this thread's turn
            finally:
                # What was not committed is rolled back; a connection that cannot roll back is not
                # used again.
                self._pool.put_back(connection, fit=session.end())

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Lets the writers of this process wait for each other in order."""
        if not self._turns.take(self._patience):
            raise locked(self._where)
        try:
            yield
        finally:
            self._turns.give_back()

    def _first(self) -> StoreConnection:
        connection = self._connect()
        try:
            if self._migrating:
                migration.migrate(connection, self._where)
            else:
                migration.check_readable(migration.version_of(connection), self._where)
        except BaseException:
            _discard(connection)
            raise
        return connection

    def _connect(self) -> StoreConnection:
        # mode=rw: SQLite must not create the file, because its mode would depend on the umask.
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode=rw",
            uri=True,
            timeout=self._patience,
            isolation_level=None,
            check_same_thread=False,
            factory=StoreConnection,
        )
        try:
            for name, value, expected in SETTINGS:
                connection.execute(f"PRAGMA {name} = {value}").fetchall()
                if connection.execute(f"PRAGMA {name}").fetchone() != (expected,):
                    raise StoreRefused(
                        f"The store '{self._where}' cannot be used safely: {name} = {value} is "
                        "not possible there.",
                        why="a release could be lost or drawn again after a power cut",
                        tip="a folder on a local disk",
                    )
        except BaseException:
            _discard(connection)
            raise
        return connection

    def _patiently(self, task: Callable[[], T]) -> T:
        """Retries while the database is busy in ways for which SQLite does not wait by itself, such
        as when another process merges its files."""
        deadline = time.monotonic() + self._patience
        while True:
            try:
                return task()
            except (sqlite3.Error, UnicodeEncodeError) as problem:
                code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
                if code != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                    raise refusal(problem, self._where) from None
            time.sleep(0.005)


def _discard(connection: StoreConnection) -> None:
    # Its transaction has ended or will never be committed, so nothing is lost.
    with suppress(sqlite3.Error):
        connection.close()
