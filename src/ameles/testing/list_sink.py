"""A sink that keeps releases in a list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from ameles.connectors.sink import Row, Sink, SinkRequest
from ameles.core.release import COLUMNS
from ameles.testing.crashes import Crash


class ListSink(Sink):
    """Releases in memory, as dictionaries with the columns of a published file.

    It gets each step at least once, always with the same values, and replaces a step that a crash
    left incomplete.  So ``rows`` has each release once.  Give the same sink to every engine on one
    store, as a real sink is the same file before and after a crash.

    With ``crash_at`` set to a step, it raises ``Crash`` once, after the first row of that step.

    Like every sink, it refuses a store that was ever run with ``Zero`` or a ``Tape``.

    >>> sink = ListSink()
    >>> sink.name, sink.last(), sink.rows
    ('list:releases', 0, [])
    """

    of_files = False

    def __init__(self, name: str = "releases") -> None:
        self.name = f"list:{name}"
        self.rows: list[dict[str, Any]] = []
        self._whole = 0  # the last step that is complete
        self.crash_at: int | None = None

    @classmethod
    def open(cls, request: SinkRequest) -> Self:
        return cls(request.target)

    def last(self) -> int:
        return max((int(row["step"]) for row in self.rows), default=0)

    def first_needed(self, sent: int) -> int:
        return self._whole + 1

    def write(self, rows: Iterable[Row], through: int) -> None:
        self.rows = [row for row in self.rows if row["step"] <= self._whole]
        for row in rows:
            self.rows.append(dict(zip(COLUMNS, row, strict=True)))
            self._crash_if_due()
        self._whole = max(self._whole, through)

    def values(self, release: str, key: str = "") -> list[int | float | None]:
        """The published values of one release and key, step by step."""
        return [row["value"] for row in self.rows if (row["release"], row["key"]) == (release, key)]

    def _crash_if_due(self) -> None:
        if self.crash_at is not None and self.rows[-1]["step"] >= self.crash_at:
            self.crash_at = None
            raise Crash
