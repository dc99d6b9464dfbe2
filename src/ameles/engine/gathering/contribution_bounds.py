"""Bounds: which events of each user count, across keys and releases, before any condition.

In a step a user keeps ``max_per_step`` events, a fair sample (``crowded.py``).  Of all steps
with events, a user keeps the first ``max_steps``.  With windows of time both limits start again at
each edge.  Which events of a user are kept depends on that user's events alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ameles.core.guarantee import Unit
from ameles.engine.gathering.event_sql import EventSql
from ameles.noise.arrays import IntArray
from ameles.plan.plan import Plan


@dataclass(frozen=True)
class SeenUsers:
    """What is remembered about users in one window: their steps, and the releases they are in."""

    window: int
    users: list[bytes]
    steps: IntArray
    marks: IntArray

    def __repr__(self) -> str:
        return "<SeenUsers>"


# Takes a window and users; returns what is remembered about those who were seen in it.
Lookup: TypeAlias = Callable[[int, list[bytes]], SeenUsers]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContributionBounds:
    """The bounds of a plan, which are public.

    ``marks`` numbers the releases in which a user counts once for life.  ``lifetime`` is the number
    of steps of the stream, or of a window; None: there is no end.
    """

    unit: Unit
    per_step: int
    max_steps: int
    lifetime: int | None
    answers: tuple[str, ...]  # the columns of an event that releases need
    marks: tuple[str, ...]
    words: tuple[str, ...] = ()  # those of the answers that are texts

    @classmethod
    def of(cls, plan: Plan) -> ContributionBounds:
        """The bounds of a plan whose unit is a user."""
        # records of discovered keys are remembered apart from these marks
        once = {r.name: r.question.once for r in plan.releases if r.question.word is None}
        return cls(
            unit=plan.unit,
            per_step=plan.privacy.max_per_step or 1,
            max_steps=plan.privacy.max_steps or 1,
            lifetime=plan.unit.window or plan.stream.horizon,
            answers=EventSql(plan).columns,
            words=tuple(dict.fromkeys(EventSql(plan).words.values())),
            marks=tuple(name for name, span in once.items() if span == "life"),
        )

    @property
    def remembers(self) -> bool:
        """Whether anything about a user must outlive the step."""
        limited = self.lifetime is None or self.max_steps < self.lifetime
        return limited or bool(self.marks)

    def window_of(self, step: int) -> int:
        """The window that a step is in, from 0."""
        return 0 if self.unit.window is None else (step - 1) // self.unit.window

    @property
    def span(self) -> str:
        """SQL: the window that the column ``step`` is in."""
        return "0" if self.unit.window is None else f"(step - 1) // {self.unit.window}"

    def columns(self, *first: str) -> str:
        """SQL: some columns, followed by all answers."""
        return ", ".join((*first, *self.answers))
