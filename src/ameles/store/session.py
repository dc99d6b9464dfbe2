"""One transaction's way to its database: the few calls that the rest of the store is written in.

The statements are plain SQL with ``?`` for values, so that a store on another database needs a
session of its own and nothing else.  Many rows come as columns: each database has its own quick
way to take them in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from ameles.core.exceptions import StoreRefused
from ameles.store.columns import Columns

Row: TypeAlias = tuple[Any, ...]
C = TypeVar("C")


class Session(ABC):
    """An open transaction; after its end, everything is refused."""

    @abstractmethod
    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of a question."""

    @abstractmethod
    def lookup(self, table: str, keys: Columns, wanted: Sequence[str]) -> list[Row]:
        """The place of each key that a table has, counted from 0, and these columns of its row.

        The cost is that of so many look-ups, however large the table is.
        """

    @abstractmethod
    def published(
        self, stream: int, steps: tuple[int, int], series: tuple[int, int]
    ) -> Iterator[list[Row]]:
        """Step, start, end, series, value, low, high and label of releases from the first to the
        last of each pair, by step and series, some thousands at a time."""

    @abstractmethod
    def write(self, sql: str, values: Sequence[Any] = (), *, double: str = "") -> None:
        """One change; ``double`` says what a second row with the same key means.

        After a failed change the transaction cannot be committed any more.
        """

    @abstractmethod
    def append(self, table: str, columns: Columns, *, double: str = "") -> None:
        """Many new rows."""

    @abstractmethod
    def replace(self, table: str, columns: Columns, key: Sequence[str]) -> None:
        """Many rows, instead of those that have the same key."""

    def row(self, sql: str, values: Sequence[Any] = ()) -> Row | None:
        """The only row of a question, if there is one."""
        found = self.rows(sql, values)
        return found[0] if found else None

    def one(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """The only value of a question that always has one."""
        return self.rows(sql, values)[0][0]


class Connected(Session, Generic[C]):
    """What sessions on any connection share: one end, and all or nothing."""

    failures: tuple[type[Exception], ...]  # what the database and its driver raise

    def __init__(self, connection: C, where: str, *, writable: bool) -> None:
        self._connection: C | None = connection
        self._where = where
        self._writable = writable
        self._failed = False

    @abstractmethod
    def _refusal(self, problem: Exception) -> StoreRefused:
        """A failure of the database as a sentence."""

    @abstractmethod
    def _is_double(self, problem: Exception) -> bool:
        """Whether a row was refused because there is one with the same key."""

    def _open(self) -> C:
        if self._connection is None:
            raise StoreRefused(
                f"This transaction of the store '{self._where}' has ended.",
                why="what it would read or write now belongs to no moment",
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
        # Rows before the one that failed may be there: now it is all or nothing.
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
                why="a change inside this transaction had failed, and it is all or nothing",
            )


class TransactionPart:
    """What a transaction is put together from: methods about one topic, over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session


def twice(what: str) -> StoreRefused:
    """The refusal for a second row with the same key."""
    return StoreRefused(
        what,
        why="what was written once stays, for ever",
        tip="read what is there",
    )
