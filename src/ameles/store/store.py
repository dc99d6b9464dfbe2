"""What a store is, whatever its database: transactions, one process per stream, and a mark.

A store keeps everything that must survive: budgets, streams, secret state, releases.  Whatever
belongs together is written in one transaction, so a crash leaves all of it or nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from ameles.store.transaction import Transaction


class Store(ABC):
    """Durable state of streams and budgets; safe to use from several threads and processes."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Transaction]:
        """A transaction that is kept as a whole at its end, or not at all on any exception.

        It waits for other writers, so what it reads cannot change under it.  If its end raises
        ``StoreRefused``, runs that were stepped inside must be dropped, never stepped again: the
        store tells what was kept.
        """

    @abstractmethod
    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one moment of the store and refuses to change it."""

    @abstractmethod
    def holding(self, stream: str) -> AbstractContextManager[None]:
        """The right to run a stream, launched or not: one process at a time has it."""

    @abstractmethod
    def held(self, stream: str) -> bool:
        """Whether anybody holds a stream now; the question is in nobody's way."""

    @abstractmethod
    def check(self) -> None:
        """Reads all of the store and refuses it if it is damaged."""

    @abstractmethod
    def close(self) -> None:
        """Ends the use of this object; transactions must have ended."""

    @property
    def genuine(self) -> bool:
        """Whether all noise was the operating system's; a store that saw other noise is marked
        for ever, and sinks refuse it."""
        with self.reading() as transaction:
            return transaction.genuine

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
