"""The interface of a store on any database: transactions, locks, and a mark.

A store keeps everything that must survive: budgets, streams, secret state, releases.  Data that
belongs together is written in one transaction, so a crash leaves all of it or nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Self

from ameles.store.transaction import Transaction


class Store(ABC):
    """Durable state of streams and budgets; safe to use from several threads and processes."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Transaction]:
        """A transaction that is committed as a whole at its end; on any exception it is rolled
        back.

        It waits for other writers, so what it reads cannot change under it.  If its end raises
        ``StoreRefused``, runs that were stepped inside must be dropped and never stepped again:
        only the store knows what was kept.
        """

    @abstractmethod
    def reading(self) -> AbstractContextManager[Transaction]:
        """A read-only transaction that sees one snapshot of the store."""

    @abstractmethod
    def holding(self, name: str) -> AbstractContextManager[None]:
        """The lock of a stream, launched or not, or of a question (``question_lock``): only one
        process at a time may run the stream, or compute the answer.

        It is not a transaction: others read and write meanwhile.
        """

    @abstractmethod
    def held(self, name: str) -> bool:
        """Whether any process holds this lock now; asking blocks nobody."""

    @property
    def lost_locks(self) -> bool:
        """Whether locks of this object were lost that somebody still relies on.

        No lock can be taken, and nothing written, until all of them are given up.
        """
        return False

    @abstractmethod
    def check(self) -> None:
        """Reads all of the store and refuses it if it is damaged."""

    @abstractmethod
    def copy_into(self, path: Path) -> None:
        """Writes everything, as it is at one moment, into an empty file, as a SQLite database.

        Others read and write meanwhile.  The copy has the version of this store.
        """

    @abstractmethod
    def shrink(self) -> None:
        """Gives the space of removed rows back to the disk.  Writers wait meanwhile."""

    @abstractmethod
    def scrub(self) -> str:
        """Erases what removed rows have left, as far as the database can; says how far that is."""

    @property
    def away(self) -> bool:
        """Whether it is known that nothing can be read or written now."""
        return False

    def merging_aside(self) -> AbstractContextManager[None]:
        """Inside the block, no commit waits until the store has tidied its own files.

        It is for somebody who commits many times a second.  Most databases do so anyway.
        """
        return nullcontext()

    @abstractmethod
    def close(self) -> None:
        """Closes the store; all transactions must have ended."""

    @property
    def genuine(self) -> bool:
        """Whether all noise came from the operating system; a store that saw other noise is marked
        forever, and sinks refuse it."""
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
