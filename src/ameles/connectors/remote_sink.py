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
    _sent = 0

    def last(self) -> int:
        """0: nobody can look at what the other side has."""
        return 0

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

    def first_needed(self, sent: int) -> int:
        self._sent = sent
        return sent + 1

    def write(self, rows: Iterable[Row], through: int) -> None:
        """Sends all batches, one attempt each."""
        for batch in self.batches(rows, self._sent):
            self.send(batch)
        self._sent = through
