"""Sinks: where releases go.  A sink gets stored values only, at least once, always the same.

A sink says which is the last step that it has, and from which step it needs rows; after a crash the
engine gives it those again.  A sink that has more than the store is the sign of a restored backup,
and the engine refuses to release.  A sink that somebody changed says so, and stops no other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

from ameles.connectors.own_folder import Place
from ameles.core.exceptions import AmelesError, PlanError

Row: TypeAlias = tuple[Any, ...]  # a record in the order of core.release.COLUMNS, times as texts


class Sink(ABC):
    """Where releases go."""

    name: str  # the same in every run, such as csv:releases.csv
    knows: bool = True  # what it has; if not, the store keeps that for it
    heals: bool = True  # whether a write that failed may succeed later

    @abstractmethod
    def last(self) -> int:
        """The last step of which it, or its note, has anything; 0: none."""

    def problem(self) -> AmelesError | None:
        """Why it cannot be written as it is found, if somebody changed it."""
        return None

    def stands(self) -> bool:
        """Whether it is as this program left it; otherwise it is opened anew, with all checks."""
        return True

    @abstractmethod
    def first_needed(self, sent: int) -> int:
        """The first step that ``write`` needs; ``sent`` is the last that the store has sent, for
        a sink that does not know."""

    @abstractmethod
    def write(self, rows: Iterable[Row], through: int) -> None:
        """Takes the rows of all steps from ``first_needed`` to ``through``, durably."""


def open_sink(kind: str, target: str, base: Path, *, stream: str, identity: str) -> Sink:
    """The sink that a plan names, of the kind csv, jsonl, parquet or stdout.

    ``identity`` tells this launch of the stream from any other: a file that another one has
    written is refused.  ``target`` is a path from ``base``; for stdout it is csv or jsonl.
    """
    # Here, because the files of this package that implement a sink import this one.
    from ameles.connectors.appended import AppendedSink
    from ameles.connectors.parquet_sink import ParquetSink
    from ameles.connectors.records import FORMATS
    from ameles.connectors.standard_output import StandardOutput

    name = f"{kind}:{target}"
    match kind:
        case "csv" | "jsonl":
            return AppendedSink(Place.of(name, target, base), kind, stream, identity)
        case "parquet":
            return ParquetSink(Place.of(name, target, base), stream, identity)
        case "stdout" if target in FORMATS:
            return StandardOutput(name, FORMATS[target])
        case "stdout":
            raise PlanError(
                f"The standard output has no format {target!r}.", tip='stdout = "csv", or "jsonl"'
            )
    raise PlanError(f"There is no sink of the kind {kind!r}.", tip='csv = "releases.csv"')
