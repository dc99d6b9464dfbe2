"""Standard output: each release once, as lines; the store remembers what was sent."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import islice
from typing import Literal, Self

from ameles.connectors import durable
from ameles.connectors.records import FORMATS, LineFormat
from ameles.connectors.sink import Row, Sink, SinkRequest
from ameles.core.exceptions import PlanError

_AT_ONCE = 10_000  # rows in memory


class StandardOutput(Sink):
    """Lines for the next program; the header comes only before the first step."""

    of_files = False
    targets = Literal["csv", "jsonl"]
    knows = False
    heals = False  # the reader is gone

    @classmethod
    def open(cls, request: SinkRequest) -> Self:
        if request.target not in FORMATS:
            raise PlanError(
                f"The standard output has no format {request.target!r}.",
                tip='stdout = "csv", or "jsonl"',
            )
        return cls(request.name, FORMATS[request.target])

    @classmethod
    def describe(cls, target: str) -> str:
        return "standard output"

    def __init__(self, name: str, form: LineFormat) -> None:
        self.name = name
        self._form = form
        self._sent = 0

    def last(self) -> int:
        """0: nobody can look at what was written."""
        return 0

    def first_needed(self, sent: int) -> int:
        self._sent = sent
        return sent + 1

    def write(self, rows: Iterable[Row], through: int) -> None:
        if through <= self._sent:
            return
        with durable.writing(self.name):
            if not self._sent:
                sys.stdout.write(self._form.header)
            remaining = iter(rows)
            while some := list(islice(remaining, _AT_ONCE)):
                sys.stdout.write(self._form.lines(some))
            sys.stdout.flush()
        self._sent = through
