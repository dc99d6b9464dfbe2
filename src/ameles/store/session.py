"""The database interface of a transaction: the few calls that the rest of the store uses.

Statements are plain SQL with ``?`` for values, so a store on another database needs only a session
of its own.  Many rows come as columns, because each database has its own fast way to load them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from ameles.core.exceptions import StoreRefused
from ameles.store.columns import Columns

Row: TypeAlias = tuple[Any, ...]
C = TypeVar("C")


class StoreSession(ABC):
    """An open transaction; after its end it refuses every call."""

    @abstractmethod
    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""

    @abstractmethod
    def lookup(self, table: str, keys: Columns, wanted: Sequence[str]) -> list[Row]:
        """The place (from 0) of each key that the table has, and the wanted columns of its row.

        It costs one look-up per key, however large the table is.
        """

    @abstractmethod
    def published(
        self, stream: int, steps: tuple[int, int], series: tuple[int, int]
    ) -> Iterator[list[Row]]:
        """Step, start, end, series, value, low, high and label of the releases in two ranges, of
        steps and of series (first and last); in order of step and series, some thousands at a
        time."""

    @abstractmethod
    def published_column(
        self, stream: int, steps: tuple[int, int], series: tuple[int, int], column: str
    ) -> list[Row]:
        """The value, low, high or label of the same releases alone, in the same order."""

    @abstractmethod
    def write(self, sql: str, values: Sequence[Any] = (), *, double: str = "") -> None:
        """Makes one change; ``double`` is the error text for a second row with the same key.

        After a failed change the transaction cannot be committed any more.
        """

    @abstractmethod
    def append(self, table: str, columns: Columns, *, double: str = "") -> None:
        """Inserts many rows."""

    @abstractmethod
    def replace(self, table: str, columns: Columns, key: Sequence[str]) -> None:
        """Inserts many rows; replaces those with the same key."""

    @abstractmethod
    def tables(self) -> dict[str, tuple[str, ...]]:
        """The tables of a store with their columns, each after those that it refers to.

        A number that may be whole or real is one column, in every database.
        """

    @abstractmethod
    def dump(self, table: str, columns: Sequence[str]) -> Iterator[list[Row]]:
        """All rows of a table, some thousands at a time, in no particular order."""

    @abstractmethod
    def fill(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Inserts rows that ``dump`` gave, of this database or of the other."""

    @abstractmethod
    def empty(self) -> None:
        """Removes all rows of all tables, also those that are permanent otherwise.

        It is for a restore, which puts other rows in their place in the same transaction.
        """

    def row(self, sql: str, values: Sequence[Any] = ()) -> Row | None:
        """The only row of a query, if there is one."""
        rows = self.rows(sql, values)
        return rows[0] if rows else None

    def one(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """The only value of a query that always has one."""
        return self.rows(sql, values)[0][0]


class Connected(StoreSession, Generic[C]):
    """The base of sessions on any connection: a session ends once, and commits all or nothing."""

    failures: tuple[type[Exception], ...]  # what the database and its driver raise

    def __init__(self, connection: C, where: str, *, writable: bool) -> None:
        self._connection: C | None = connection
        self._where = where
        self._writable = writable
        self._failed = False

    @abstractmethod
    def _refusal(self, problem: Exception) -> StoreRefused:
        """The refusal for a failure of the database."""

    @abstractmethod
    def _is_double(self, problem: Exception) -> bool:
        """Whether a row was refused because there is one with the same key."""

    def _open(self) -> C:
        if self._connection is None:
            raise StoreRefused(
                f"This transaction of the store '{self._where}' has ended.",
                why="a read or write now would be outside of any transaction",
                tip="store.reading() or store.writing()",
            )
        return self._connection

    def _changing(self) -> C:
        connection = self._open()
        if not self._writable:
            raise StoreRefused(
                f"This transaction only reads the store '{self._where}'.", tip="store.writing()"
            )
        return connection

    def _broken(self, problem: BaseException, double: str = "") -> BaseException:
        # Rows before the failed one may have been written, so the transaction must not commit.
        self._failed = True
        if not isinstance(problem, self.failures):
            return problem
        if double and self._is_double(problem):
            return twice(double)
        return self._refusal(problem)

    def _check_whole(self) -> None:
        """Refuses to commit after a failed change."""
        if self._failed and self._writable:
            raise StoreRefused(
                f"Nothing was written to the store '{self._where}'.",
                why="a change in this transaction failed, and a transaction is all or nothing",
            )


class TransactionPart:
    """A part of a transaction: methods about one topic, over one session."""

    def __init__(self, session: StoreSession) -> None:
        self._session = session


def twice(what: str) -> StoreRefused:
    """The refusal for a second row with the same key."""
    return StoreRefused(
        what,
        why="what was written once stays forever",
        tip="read what is there",
    )
