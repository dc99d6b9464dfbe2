"""``sum``: the values of a column added up, in each declared cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ameles.core.recipe import Recipe
from ameles.measures.bounded import BoundedMeasure
from ameles.measures.discovering import DiscoveringMeasure
from ameles.measures.measure import Numbers, Published, Terms
from ameles.measures.table_question import Amount
from ameles.noise.arrays import IntArray


class Sum(DiscoveringMeasure, BoundedMeasure):
    """Values between bounds, added up on a grid and published as values."""

    measure: Literal["sum"]

    @property
    def reach(self) -> int:
        """The larger absolute value of the two bounds, in grid units."""
        return self.grid.reach

    def _amounts(self, units: str) -> tuple[Amount, ...]:
        return (Amount(units),)

    def values(self, units: Numbers) -> Numbers:
        """Grid units as values; whole numbers stay whole on a grid of ones."""
        step = self.grid.granularity
        if step == 1:
            return units
        # one multiplication and one division, so that three times a tenth is 0.3
        return units.astype(np.float64) * step.numerator / step.denominator

    def half_widths(self, recipe: Recipe, terms: Terms, steps: IntArray) -> NDArray[np.float64]:
        return self.noise(recipe, terms, steps) * float(self.grid.granularity)

    def shown(self, totals: IntArray, half: IntArray, names: Sequence[str]) -> Published:
        return Published(
            value=self.values(totals),
            low=self.values(totals - half),
            high=self.values(totals + half),
        )
