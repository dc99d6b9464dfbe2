"""Comparisons of counters: a list of rows that prints as a table.

>>> from ameles.mechanisms.counters.choose import compare
>>> compare(epsilon=1, horizon=1024)[:3]
counter           mean deviation   worst deviation   95% within at the end   times the best
HatsCounter                 9.89              11.2                      21                1
SiblingsCounter             11.1              14.0                      25             1.12
EldersCounter               13.0              17.9                      26             1.31
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import SupportsIndex, overload

from ameles.core.small_table import SmallTable
from ameles.core.words import brief
from ameles.mechanisms.counters.deviations import mean_deviation, worst_deviation
from ameles.mechanisms.counters.hybrid import HybridCounter
from ameles.mechanisms.counters.recipe import CounterRecipe

HEADS = (
    "counter",
    "mean deviation",
    "worst deviation",
    "95% within at the end",
    "times the best",
)


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate and what it would give; errors are of one key, in counts."""

    recipe: CounterRecipe
    steps: int  # over which counters are compared
    objective: float  # what was minimised
    ratio: float = 1.0  # the objective over the best one's

    @property
    def mean(self) -> float:
        """The root of the mean variance over the steps."""
        return mean_deviation(self.recipe, self.steps)

    @property
    def worst(self) -> float:
        """The largest standard deviation of a step."""
        return worst_deviation(self.recipe, self.steps)

    @property
    def last(self) -> float:
        """At the last step, 95% of the errors are within this."""
        return self.recipe.error.bound(self.steps, 0.05)

    @property
    def name(self) -> str:
        """The counter's name, and what is inside it."""
        name = type(self.recipe).__name__
        return f"{name} of {self.recipe.inside}" if isinstance(self.recipe, HybridCounter) else name

    @property
    def why(self) -> str:
        """Why it was chosen or not, in a few words."""
        if self.ratio == 1:
            return "the smallest error"
        return f"{self.ratio:.3g} times the smallest error"


class CounterComparison(list[Row]):
    """Counters with their errors, the smallest first."""

    @overload
    def __getitem__(self, place: SupportsIndex) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> CounterComparison: ...

    def __getitem__(self, place: SupportsIndex | slice) -> Row | CounterComparison:
        if isinstance(place, slice):
            return CounterComparison(super().__getitem__(place))
        return super().__getitem__(place)

    def __repr__(self) -> str:
        return str(self._table)

    def _repr_html_(self) -> str:
        """As a notebook shows it."""
        return self._table.html()

    @property
    def _table(self) -> SmallTable:
        rows = [
            [row.name, *(brief(number) for number in (row.mean, row.worst, row.last, row.ratio))]
            for row in self
        ]
        return SmallTable(HEADS, rows, numbers=range(1, len(HEADS)))
