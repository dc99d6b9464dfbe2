"""Sinks: where releases go.  A sink gets stored values only, at least once, always the same.

A sink says which step is the last that it has, and from which step it needs rows; after a crash the
engine sends it those again.  If a sink has more than the store, a backup of the store was restored,
and the engine refuses to release.  A sink that somebody changed reports that, and stops no other
sink.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias

from ameles.connectors.own_folder import SinkPlace
from ameles.core.exceptions import AmelesError, PlanError, StoreRefused

Row: TypeAlias = tuple[Any, ...]  # a record in the order of core.release.COLUMNS, times as texts


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkRequest:
    """What a plan says about a sink.

    ``identity`` distinguishes this launch of the stream from any other: a file that another launch
    has written is refused.
    """

    kind: str  # the key of the plan
    target: str  # its value: for files, a path from ``base``
    base: Path
    stream: str
    identity: str
    settings: Mapping[str, str] = field(default_factory=dict)  # the other keys of its table
    sparse: bool = False  # a step may have no rows, while no key is discovered

    @property
    def name(self) -> str:
        """The same in every run, such as csv:releases.csv."""
        return f"{self.kind}:{self.target}"

    @property
    def place(self) -> SinkPlace:
        """The target as a path."""
        return SinkPlace.of(self.name, self.target, self.base)


def other_launch(name: str, place: str, note: str, *, stream: str, whose: str) -> StoreRefused:
    """The refusal of what another launch has written, of this stream or of stream ``whose``."""
    what = f"'{place}' of the sink {name} belongs to another launch of stream '{whose}'."
    if whose == stream:
        return StoreRefused(
            what,
            why="this store did not make those releases: to publish the same events again, with "
            "other noise, reveals more about them than was paid for",
            tip="the store that made them, or its newest backup (ameles restore). For other "
            "events: another name for the stream, and for the sink",
        )
    return StoreRefused(
        what,
        why="what a sink already has must stay as it was published",
        tip=f"another name for the sink, or move '{place}' and '{note}' away",
    )


class Sink(ABC):
    """Where releases go."""

    of_files: ClassVar[bool] = True  # its target is a path that nothing else may use
    of_folder: ClassVar[bool] = False  # that path may be a folder
    targets: ClassVar[Any] = str  # the type of its target in a plan
    settings: ClassVar[Mapping[str, Any]] = {}  # the types of further keys in a plan

    name: str  # the same in every run, such as csv:releases.csv
    knows: bool = True  # whether it knows its last step; if not, the store remembers it
    heals: bool = True  # whether a write that failed may succeed later

    @classmethod
    @abstractmethod
    def open(cls, request: SinkRequest) -> Self:
        """The sink that a plan names."""

    @classmethod
    def refusal(cls, target: str, settings: Mapping[str, str]) -> PlanError | None:
        """What is wrong, as far as the plan alone shows it."""
        return None

    @classmethod
    def describe(cls, target: str) -> str:
        """What people call it."""
        return target

    @abstractmethod
    def last(self) -> int:
        """The last step that it or its note has, even in part; 0 if there is none."""

    def problem(self) -> AmelesError | None:
        """Why it cannot be written, if somebody changed it."""
        return None

    def stands(self) -> bool:
        """Whether it is as this program left it; otherwise it is opened again, with all checks."""
        return True

    def agrees(self, rows_of: Callable[[int], Iterable[Row]]) -> bool:
        """Whether it has the numbers of the store, as far as its last step shows it; ``rows_of``
        gives the rows that the store has of a step."""
        return True

    @abstractmethod
    def first_needed(self, sent: int) -> int:
        """The first step that ``write`` needs; ``sent`` is the last step that the store has sent,
        for a sink that does not know it itself."""

    @abstractmethod
    def write(self, rows: Iterable[Row], through: int) -> None:
        """Takes the rows of all steps from ``first_needed`` to ``through``, durably."""
