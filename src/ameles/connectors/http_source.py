"""Events that senders post to a service, in batches; each sender waits for its answer.

The service hands batches over, and the engine answers each of them once it is safe: in the store,
or folded into a state that may be seized.  At most ``MOST_BYTES`` wait at a time, so that senders
who are too fast are told to wait instead of filling the memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from queue import Empty, SimpleQueue
from typing import Self

from ameles.connectors.reading import Reading
from ameles.connectors.source import PassingSource, SourceRequest
from ameles.connectors.text.dialect import Dialect
from ameles.connectors.text.dialects import DIALECTS
from ameles.connectors.text.line_blocks import LinesPiece
from ameles.core import codec
from ameles.core.exceptions import StoreRefused

MOST_BYTES = 16 << 20
MOST_BATCHES = 1024
# What a batch costs besides its lines: many empty batches must not fill the memory either.
OVERHEAD = 512

JSON = "jsonl"
_CSV = "csv:"


class Outcome(Enum):
    """What became of a batch."""

    COUNTED = "counted"  # now, or when it came before; it counts once
    CLOSED = "closed"  # it names a step that is not open; it does not count now
    REUSED = "reused"  # its id belongs to another batch of the step; it does not count
    FULL = "full"  # the step has no room for another batch; it does not count
    ENDED = "ended"  # the stream is over; it does not count
    UNKNOWN = "unknown"  # the engine failed; the same batch may be sent again in the same step


@dataclass(frozen=True, slots=True)
class Batch:
    """Events that one sender posted together."""

    digest: bytes  # of the token and of the id that its holder gave the batch
    step: int  # the step that was open when it was first sent, as the sender says
    at: int  # when it came, in microseconds since 1970
    form: str  # how its lines are written: ``JSON``, or what ``csv_form`` gives
    lines: bytes = field(repr=False)  # whole lines

    def __len__(self) -> int:
        return len(self.lines) + OVERHEAD


def csv_form(header: str) -> str:
    """The form of CSV lines under a first line."""
    return _CSV + header


@dataclass(slots=True)
class Handed:
    """Batches that were handed over together, and the way back to those who wait."""

    batches: tuple[Batch, ...] = field(repr=False)
    answer: Callable[[Sequence[Outcome]], None] = field(repr=False)

    def __len__(self) -> int:
        return sum(len(batch) for batch in self.batches)


class HttpSource(PassingSource[Handed]):
    """Batches that a service hands over, in order."""

    keeps_events = False
    takes_format = False
    needs_service = True

    @classmethod
    def claims(cls, text: str) -> bool:
        return text == "http"

    @classmethod
    def describe(cls, text: str) -> str:
        return "events that are posted over HTTP"

    @classmethod
    def open(cls, request: SourceRequest) -> Self:
        return cls({name: kind(request.columns, request.form) for name, kind in DIALECTS.items()})

    def __init__(self, dialects: dict[str, Dialect]) -> None:
        self._dialects = dialects
        self._queue: SimpleQueue[Handed | Callable[[], None] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._bytes = 0
        self._batches = 0
        self._unanswered: dict[int, Callable[[Outcome], None]] = {}  # ways to tell all of a group
        self._numbers = count()
        self._closed = False

    def names(self) -> tuple[str, ...]:
        """Each batch names its own columns."""
        return ()

    def at_launch(self) -> str:
        return position(0)

    def csv_refusal(self, header: str) -> bool:
        """Whether CSV under this first line lacks a column of the plan, or has it twice."""
        dialect = self._dialects["csv"]
        names = dialect.names(header)
        return any(names.count(name) != 1 for name in dialect.columns)

    @property
    def csv_header(self) -> bool:
        """Whether the first line of CSV names its columns; otherwise the plan does."""
        return self._dialects["csv"].header

    @property
    def fill(self) -> float:
        """How full the queue is, from 0 to 1."""
        return max(self._batches / MOST_BATCHES, self._bytes / MOST_BYTES)

    @property
    def full(self) -> bool:
        """Whether no batch would be taken now."""
        return self._batches >= MOST_BATCHES or self._bytes >= MOST_BYTES

    def hand_over(
        self, batches: Sequence[Batch], answered: Callable[[Sequence[Outcome]], None]
    ) -> bool:
        """Hands batches to the engine, which calls ``answered`` once from a thread of its own, with
        an outcome for each; False if too much waits already."""
        group = Handed(tuple(batches), answered)
        size, many, number = len(group), len(group.batches), next(self._numbers)

        def answer(outcomes: Sequence[Outcome]) -> None:
            with self._lock:
                if self._unanswered.pop(number, None) is None:
                    return
                self._bytes -= size
                self._batches -= many
            answered(outcomes)

        group.answer = answer
        with self._lock:
            full = self._bytes + size > MOST_BYTES or self._batches + many > MOST_BATCHES
            if full or self._closed:
                return False
            self._bytes += size
            self._batches += many
            self._unanswered[number] = lambda outcome: answer([outcome] * many)
            self._queue.put(group)
        return True

    def after_those(self, then: Callable[[], None]) -> None:
        """Has something done after the batches that were handed over so far, by whoever asks for
        what waits."""
        self._queue.put(then)

    def waiting(self, timeout: float) -> tuple[list[Handed], Callable[[], None] | None]:
        """What was handed over by now, after waiting for the first, and what to do after it.

        Neither if nothing came in ``timeout`` seconds.
        """
        groups: list[Handed] = []
        with suppress(Empty):
            item = self._queue.get(timeout=timeout)
            while isinstance(item, Handed):
                groups.append(item)
                item = self._queue.get_nowait()
            return groups, item
        return groups, None

    def incoming(self) -> Iterator[Handed]:
        while isinstance(item := self._queue.get(), Handed):
            held = [item]
            del item  # keep no batch while waiting for the next
            yield held.pop()

    def close(self, outcome: Outcome = Outcome.UNKNOWN) -> None:
        """Takes no more batches; tells those in the queue what becomes of them."""
        with self._lock:
            self._closed = True
        groups, _ = self.waiting(0)
        for group in groups:
            group.answer([outcome] * len(group.batches))
        self._queue.put(None)  # the end, for ``incoming``

    def give_up(self, outcome: Outcome = Outcome.UNKNOWN) -> None:
        """Closes, and tells also those whose batches have left the queue.

        Nobody may work on them any more.
        """
        self.close(outcome)
        with self._lock:
            rest = list(self._unanswered.values())
        for answer in rest:
            answer(outcome)

    def reading(self, blocks: Sequence[tuple[str, bytes]], number: int = 0) -> Reading:
        """A reading of lines by their form, after which ``number`` batches were counted."""
        together: dict[str, list[bytes]] = {}
        for form, lines in blocks:
            together.setdefault(form, []).append(lines)
        pieces = []
        for form, parts in together.items():
            kind, _, header = form.partition(":")
            dialect = self._dialects[kind]
            # joined: each block costs a query, and batches are small
            pieces.append(LinesPiece(dialect, dialect.names(header), (b"".join(parts),)))
        return Reading(tuple(pieces), position(number))


def position(number: int) -> str:
    """The position after so many batches."""
    return codec.write("position", 1, {"kind": "http", "batches": number})


def batches_in(stored: str | None) -> int:
    """How many batches were counted at a stored position."""
    if stored is None:
        return 0
    fields = codec.read("position", 1, stored)
    number = fields.get("batches")
    if fields.get("kind") != "http" or not isinstance(number, int):
        raise StoreRefused(
            "The stored position is not one of batches.",
            why="the store is damaged, or the plan had another source when it was launched",
        )
    return number
