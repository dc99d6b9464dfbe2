"""A store in one schema of a Postgres database.

It has the same tables and promises as a store in SQLite: what is committed is on disk, writers take
turns, and a reader sees one snapshot and blocks nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from ameles.core.exceptions import StoreRefused
from ameles.store.backup.table_copy import copy_tables
from ameles.store.migration import check_readable
from ameles.store.pool import Pool
from ameles.store.postgres import migration
from ameles.store.postgres.address import address_of
from ameles.store.postgres.advisory_locks import HELD, StreamLocks
from ameles.store.postgres.connection import Wire, connect
from ameles.store.postgres.driver import driver
from ameles.store.postgres.problems import refusal
from ameles.store.postgres.session import PostgresSession
from ameles.store.store import Store
from ameles.store.transaction import Transaction

_TABLES = (
    "SELECT relname FROM pg_class WHERE relkind = 'r' "
    "AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'meta'::regclass)"
)
_STRAY = (
    "SELECT 1 FROM release WHERE NOT EXISTS (SELECT 1 FROM step "
    "WHERE step.stream = release.stream AND step.step = release.step) OR NOT EXISTS (SELECT 1 "
    "FROM series WHERE series.stream = release.stream AND series.number = release.series) LIMIT 1"
)


class PostgresStore(Store):
    """Connections to one schema, each used by one transaction at a time."""

    def __init__(
        self, url: str, *, create: bool = True, patience: float = 10.0, migrating: bool = True
    ) -> None:
        address = address_of(url)
        self._where = address.where
        self._pool: Pool[Wire] = Pool(
            self._where, connect=lambda: connect(address, patience), discard=Wire.close
        )
        self._holds = StreamLocks(address.schema, self._where, self._pool, patience)
        wire, _ = self._pool.take()
        try:
            if migrating:
                migration.migrate(wire, address.schema, self._where, create=create)
            else:
                check_readable(migration.version_of(wire, address.schema), self._where)
            migration.check_private(wire, address.schema, self._where)
        except driver().Error as problem:
            wire.close()
            raise refusal(problem, self._where) from None
        except BaseException:
            wire.close()
            raise
        self._pool.put_back(wire)

    @staticmethod
    def exists(url: str, *, patience: float = 10.0) -> bool:
        """Whether the schema of an address has anything in it."""
        address = address_of(url)
        wire = connect(address, patience)
        try:
            return migration.version_of(wire, address.schema) != 0
        except driver().Error as problem:
            raise refusal(problem, address.where) from None
        finally:
            wire.close()

    def __repr__(self) -> str:
        return f"<PostgresStore '{self._where}'>"

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        with self._holds.writer() as keeper, self._session(True, keeper) as session:
            yield Transaction(session)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        with self._session(False) as session:
            yield Transaction(session)

    def holding(self, name: str) -> AbstractContextManager[None]:
        return self._holds.held(name)

    def held(self, name: str) -> bool:
        with self._session(False) as session:
            return bool(session.rows(HELD, (self._holds.number(name),)))

    @property
    def lost_locks(self) -> bool:
        return self._holds.lost

    def check(self) -> None:
        with self._session(False) as session:
            for (table,) in session.rows(_TABLES):
                # Read in binary, so that every value is read, also large ones that are stored
                # apart.
                session.rows(f'SELECT sum(length(record_send(t))) FROM "{table}" AS t')
            if session.rows(_STRAY):
                raise StoreRefused(
                    f"The store '{self._where}' is damaged.",
                    why="its tables contradict each other",
                    tip="a backup of the database",
                )

    def copy_into(self, path: Path) -> None:
        with self._session(False) as session:
            copy_tables(session, path, self._where)

    def shrink(self) -> None:
        self._rewrite(None)

    def scrub(self) -> str:
        self._rewrite(migration.SECRET)
        return (
            f"best effort: deleted, and the tables of '{self._where}' written anew; the server's "
            "write-ahead log, its replicas and backups may have it for longer"
        )

    def _rewrite(self, names: Sequence[str] | None) -> None:
        """Writes tables anew, without what removed rows have left; None: all tables."""
        with self._session(False) as session:
            tables = [name for name in session.tables() if names is None or name in names]
        wire, _ = self._pool.take()
        try:
            for table in tables:
                wire.execute(f'VACUUM FULL "{table}"')
        except driver().Error as problem:
            wire.close()
            raise refusal(problem, self._where) from None
        self._pool.put_back(wire)

    def close(self) -> None:
        self._pool.close()

    @contextmanager
    def _session(self, writable: bool, keeper: Wire | None = None) -> Iterator[PostgresSession]:
        wire, session = self._begun(writable, keeper)
        try:
            yield session
            session.commit()
        finally:
            self._put_back(wire, session, keeper)

    def _begun(self, writable: bool, keeper: Wire | None) -> tuple[Wire, PostgresSession]:
        """A session that has begun; connections that broke while idle are replaced."""
        while True:
            wire, used = (keeper, False) if keeper is not None else self._pool.take()
            session = PostgresSession(wire, self._where, writable=writable)
            try:
                session.begin()
            except BaseException:
                self._put_back(wire, session, keeper)
                if not (used and wire.broken):
                    raise
            else:
                return wire, session

    def _put_back(self, wire: Wire, session: PostgresSession, keeper: Wire | None) -> None:
        fit = session.end()
        if keeper is None:
            self._pool.put_back(wire, fit=fit)
        elif not fit:
            wire.close()  # its locks are lost too; their holders notice at the next write
