"""Sinks on other machines, which may be slow or away for days.

Such a sink gets batches, one after the other, each with an id that never changes.  The engine sends
them from a thread of its own (``engine/running/remote_delivery.py``), so that no step waits for
another machine.  The store records a step once its last batch was accepted.  After a crash in
between the batch is sent again, with the same id and the same content.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ameles.connectors.sink import Row, Sink
from ameles.core.exceptions import AmelesError


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingBatch:
    """One message: all or a part of what is sent about a step."""

    id: str  # the same whenever it is sent
    body: bytes
    step: int
    last: bool  # whether it is the last one of its step


class Undelivered(AmelesError):
    """A batch that was not accepted.

    ``wait`` is how many seconds the other side asks to be left alone; ``final`` means that it wants
    nothing more.
    """

    def __init__(
        self, what: str, *, why: str, tip: str, wait: float = 0.0, final: bool = False
    ) -> None:
        super().__init__(what, why=why, tip=tip)
        self.wait = wait
        self.final = final


class RemoteSink(Sink):
    """A sink on another machine; the store remembers what it has accepted."""

    of_files = False
    knows = False
    has = 0  # the last step that the other side has, as far as it said so
    _sent = 0

    @classmethod
    def feeds(cls, target: str, source: str) -> bool:
        """Whether what is written to it would be read from a source of a plan."""
        return False

    def last(self) -> int:
        """0: it is not known without asking the other side."""
        return 0

    def reached(self) -> int | None:
        """The last step that the other side has, even in part; None if it cannot tell.

        Raises ``Undelivered`` if it cannot be asked now, and another refusal if it is not fit.
        """
        return None

    @abstractmethod
    def batches(self, rows: Iterable[Row], sent: int) -> Iterator[OutgoingBatch]:
        """The batches of the steps after ``sent``, in order; ``rows`` begin at
        ``first_needed(sent)``."""

    @abstractmethod
    def send(self, batch: OutgoingBatch) -> None:
        """Sends a batch, in one attempt; raises ``Undelivered`` unless it was accepted."""

    @abstractmethod
    def abort(self) -> None:
        """Ends an attempt of another thread soon, if there is one."""

    def close(self) -> None:
        """Frees what it holds; no attempt is under way."""

    def first_needed(self, sent: int) -> int:
        self._sent = sent
        return sent + 1

    def write(self, rows: Iterable[Row], through: int) -> None:
        """Sends all batches, one attempt each."""
        for batch in self.batches(rows, self._sent):
            self.send(batch)
        self._sent = through
