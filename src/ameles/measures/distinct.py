"""``distinct``: how many users, in each declared cell.

A user counts once: over the stream's life in the cell of the first event that counts, or in every
step anew.  So one user changes one count by one, or one in each of up to ``max_steps`` steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from ameles.core.guarantee import EVENT
from ameles.measures.linear import LinearMeasure
from ameles.measures.measure import Question, Terms
from ameles.measures.refusal import Refusal


class Distinct(LinearMeasure):
    """Users, counted."""

    seizable: ClassVar[bool] = False

    measure: Literal["distinct"]

    @property
    def reach(self) -> int:
        """One: a user is in one cell."""
        return 1

    @property
    def question(self) -> Question:
        """Its cell, once for each user."""
        once: Literal["step", "life"] = "step" if self.over == "step" else "life"
        return Question(cell=self.declared.cell, cells=self.cells, once=once)

    def contributions(self, terms: Terms) -> tuple[int, int]:
        """One step, or each of a user's steps, by one, however many events there are."""
        return (terms.max_steps if self.over == "step" else 1), 1

    def refusals(self, terms: Terms, *, weighted: bool) -> Iterator[Refusal]:
        """Without users, or over a window."""
        yield from super().refusals(terms, weighted=weighted)
        if terms.unit == EVENT:
            yield Refusal(
                "measure",
                "It needs a unit that is a user.",
                why="with single events protected nobody says which of them are of one user",
                tip='unit = "user", or measure = "count"',
            )
        if self.over not in ("total", "step"):
            yield Refusal(
                "over",
                "It must be total or step.",
                why="who was seen within a window that moves changes with every step, and would "
                "have to be paid for with every step",
                tip='over = "step", or unit = "user-window" with over = "total"',
            )
