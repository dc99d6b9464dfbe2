"""``top``: the keys with the largest counts, by rank.

All declared keys are counted, and the noisy counts give their order.  The intervals hold for all
keys at once, so they also hold for the winning keys.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from ameles.core.recipe import Recipe
from ameles.measures.fields import problem
from ameles.measures.linear import LinearMeasure, whole
from ameles.measures.measure import BETA, EventQuery, Published, Terms
from ameles.noise.arrays import IntArray


class Top(LinearMeasure):
    """The ``k`` largest of the declared keys."""

    interval: ClassVar[str] = (
        "the value plus or minus a half-width that covers the noise of all keys at once, with 95%"
    )

    measure: Literal["top"]
    k: int = Field(ge=1)

    @model_validator(mode="after")
    def _among_enough(self) -> Top:
        if not self.by:
            raise problem(
                "It has no declared keys to rank.",
                why="a key that appears only when data arrives reveals who is in the data",
                tip='by = { region = ["north", "south"] }',
            )
        if self.k > self.cells:
            raise problem(
                f"It asks for {self.k} of {self.cells} declared keys.", tip=f"k = {self.cells}"
            )
        return self

    @property
    def keys(self) -> tuple[str, ...]:
        """The ranks, from 1."""
        return tuple(str(rank) for rank in range(1, self.k + 1))

    @property
    def reach(self) -> int:
        """One: an event is in one cell."""
        return 1

    @property
    def question(self) -> EventQuery:
        """Its cell."""
        return EventQuery(cell=self.declared.cell, cells=self.cells)

    def half_widths(self, recipe: Recipe, terms: Terms, steps: IntArray) -> NDArray[np.float64]:
        return self.noise(recipe, terms, steps, BETA / self.cells)

    def publish(
        self, recipe: Recipe, terms: Terms, outputs: Any, first: int, earlier: IntArray
    ) -> Published:
        steps = np.arange(first, first + len(outputs))
        totals = self.spans(terms, outputs, earlier)
        # Descending and stable: among equal counts, the key that was declared first wins.  The
        # bitwise complement reverses the order of all 64-bit integers; a minus does not.
        winners = np.argsort(~totals, axis=1, kind="stable")[:, : self.k]
        value = np.take_along_axis(totals, winners, axis=1)
        half = whole(self.half_widths(recipe, terms, steps))[:, None]
        names = np.array(self.declared.names)
        return Published(value=value, low=value - half, high=value + half, label=names[winners])
