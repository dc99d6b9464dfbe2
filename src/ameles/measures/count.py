"""``count``: how many events, in each declared cell."""

from __future__ import annotations

from typing import Literal

from ameles.measures.discovering import DiscoveringMeasure
from ameles.measures.measure import EventQuery


class Count(DiscoveringMeasure):
    """Events, counted."""

    measure: Literal["count"]

    @property
    def reach(self) -> int:
        """One: an event is in one cell."""
        return 1

    @property
    def question(self) -> EventQuery:
        """Its cell."""
        return EventQuery(cell=self.declared.cell, cells=self.cells, word=self.word)
