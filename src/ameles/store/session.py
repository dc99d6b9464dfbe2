"""One transaction's way to its database: the few calls that the rest of the store is written in.

The statements are plain SQL with ``?`` for values, so that a store on another database needs a
session of its own and nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from ameles.core.exceptions import StoreRefused

Row: TypeAlias = tuple[Any, ...]


class Session(ABC):
    """An open transaction; after its end, everything is refused."""

    @abstractmethod
    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of a question."""

    @abstractmethod
    def chunks(self, sql: str, values: Sequence[Any] = ()) -> Iterator[list[Row]]:
        """The rows of a long question, some thousands at a time."""

    @abstractmethod
    def write(self, sql: str, values: Sequence[Any] = (), *, double: str = "") -> None:
        """One change; ``double`` says what a second row with the same key means.

        After a failed change the transaction cannot be committed any more.
        """

    @abstractmethod
    def write_many(self, sql: str, rows: Iterable[Sequence[Any]], *, double: str = "") -> None:
        """The same change with many values."""

    @abstractmethod
    def scratch(self, table: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        """Fills a table that only this transaction sees; it also works while reading."""

    def row(self, sql: str, values: Sequence[Any] = ()) -> Row | None:
        """The only row of a question, if there is one."""
        found = self.rows(sql, values)
        return found[0] if found else None

    def one(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """The only value of a question that always has one."""
        return self.rows(sql, values)[0][0]


class Part:
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
