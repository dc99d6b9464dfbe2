"""``mean``: the mean value of a column, in each declared cell.

Two amounts share one counter.  The first is the value, centred on the middle of the range, so that
it reaches equally far to both sides.  The second is the number of events, each weighted by that
same reach, which minimises the worst error of the quotient.

The interval: with probability 1 - beta / 2 each, the sum and the count are within their noise
bounds.  Then the mean is between the least and the greatest quotient of the two.  If the count may
be zero or less, the interval is the whole range.  The published mean is never outside of the range;
without a positive count it is the middle.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ameles.core.recipe import Recipe
from ameles.measures.bounded import BoundedMeasure
from ameles.measures.measure import BETA, Published, Terms
from ameles.measures.table_question import Amount, constant
from ameles.noise.arrays import IntArray


class Mean(BoundedMeasure):
    """Values between bounds, averaged."""

    forecast: ClassVar[str] = "the value times the number of events"
    interval: ClassVar[str] = (
        "from the smallest to the largest quotient of sum and count that their noise allows"
    )
    adds_up: ClassVar[bool] = False

    measure: Literal["mean"]

    @property
    def parts(self) -> int:
        """The number of parts of a grid unit that puts the middle of the range on a whole part."""
        low, high = self.ends
        return 1 + (high - low) % 2

    @property
    def largest(self) -> int:
        """Half the range, in parts of grid units."""
        low, high = self.ends
        return (high - low) * self.parts // 2

    @property
    def reach(self) -> int:
        """The most that one event can add to the value and to the count."""
        return 2 * self.largest

    def _amounts(self, units: str) -> tuple[Amount, ...]:
        # the centred value, and a count as heavy
        low, high = self.ends
        middle = (low + high) * self.parts // 2
        return Amount(units, self.parts, middle), constant(self.largest)

    def half_widths(self, recipe: Recipe, terms: Terms, steps: IntArray) -> NDArray[np.float64]:
        # for many events: the noise of the sum, and that of the count where the mean is at an end
        half = self.noise(recipe, terms, steps, BETA / 2)
        return 2 * half * float(self.grid.granularity / self.parts)

    def publish(
        self, recipe: Recipe, terms: Terms, outputs: Any, first: int, earlier: IntArray
    ) -> Published:
        steps = np.arange(first, first + len(outputs))
        totals = self.spans(terms, outputs, earlier).astype(np.float64)
        sums, counts = totals[:, : self.cells], totals[:, self.cells :]
        half = self.noise(recipe, terms, steps, BETA / 2)[:, None]
        # a quotient of 1 is the end of the range
        value = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
        fewest, most = counts - half, counts + half
        known = fewest > 0
        low = _quotient(sums - half, fewest, most, known, -1.0)
        high = -_quotient(-sums - half, fewest, most, known, -1.0)
        return Published(value=self._values(value), low=self._values(low), high=self._values(high))

    def _values(self, quotients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Parts of half the range as values within the range."""
        lower, upper = float(self.grid.lower), float(self.grid.upper)
        means: NDArray[np.float64] = (lower + upper) / 2 + np.clip(quotients, -1, 1) * (
            (upper - lower) / 2
        )
        return np.clip(means, lower, upper)


def _quotient(
    least: NDArray[np.float64],
    fewest: NDArray[np.float64],
    most: NDArray[np.float64],
    known: NDArray[np.bool_],
    otherwise: float,
) -> NDArray[np.float64]:
    """The least quotient of a sum that is at least this and a count from fewest (above 0) to
    most."""
    by = np.where(least < 0, fewest, most)
    return np.divide(least, by, out=np.full_like(least, otherwise), where=known)
