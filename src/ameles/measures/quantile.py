"""``quantile``: the value that a given share of the events is below, in each declared cell.

The events are counted in the bins of declared edges; a value beyond an end counts in the bin at
that end.  The published value interpolates in the counts up to each edge, made monotone.

The interval: an edge is below the quantile exactly if fewer than a share q of all events are below
it.  The search from the left passes edges as long as their noisy excess over that share is below
minus its noise bound; the search from the right, as long as it is above the bound.  The quantile is
between the two edges reached.  To go too far, the search from the left must pass the first edge
that is not below the quantile, and the noise there allows that with probability at most beta / 2;
likewise from the right.  So no union bound over the edges is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, model_validator

from ameles.core.recipe import Recipe
from ameles.measures.bins import Bins, Edges
from ameles.measures.bounds_cache import cached_bounds
from ameles.measures.expected import counter_of
from ameles.measures.fields import Column, exact_number, problem
from ameles.measures.keys import Keys
from ameles.measures.linear import LinearMeasure
from ameles.measures.measure import BETA, NUMERIC, EventQuery, Published, Terms, Values, wrong_kind
from ameles.measures.ranks import excess_bounds
from ameles.measures.refusal import Refusal
from ameles.measures.table_question import TableColumns, TableQuestion
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.noise.arrays import IntArray

Floats = NDArray[np.float64]


def _share(given: Any) -> Fraction:
    share = exact_number(given)
    if not 0 < share < 1:
        raise problem("It must be above 0 and below 1.", tip="q = 0.5 for the median")
    return share


class Quantile(LinearMeasure):
    """A quantile of the values of a column, from counts between declared edges."""

    forecast: ClassVar[str] = "the number of events below the value"
    interval: ClassVar[str] = "two edges, and the true quantile is between them with 95%"
    adds_up: ClassVar[bool] = False

    measure: Literal["quantile"]
    column: Column
    edges: Edges
    q: Annotated[Fraction, BeforeValidator(_share)]

    @property
    def read_values(self) -> Values:
        """Those of its column, within the edges."""
        return Values(self.column, self.edges[0], self.edges[-1], ends="edges")

    @model_validator(mode="after")
    def _not_divided(self) -> Quantile:
        if self.column in self.by:
            raise problem(f"The column '{self.column}' is already divided in by.")
        return self

    @property
    def counted(self) -> Keys:
        """The keys times the bins."""
        return Keys(self.declared_by, self.other, self.bins)

    @property
    def bins(self) -> Bins:
        """The bins between the edges, without an outside."""
        return Bins(self.column, self.edges, clamped=True)

    @property
    def cells(self) -> int:
        """Those of the keys times the bins."""
        return self.counted.size

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the keys, and that of the values."""
        return tuple(dict.fromkeys((*self.by, self.column)))

    @property
    def reach(self) -> int:
        """One: an event is in one bin."""
        return 1

    @property
    def question(self) -> EventQuery:
        """Its bin in its cell."""
        return EventQuery(cell=self.counted.cell, cells=self.cells)

    def table_question(self, columns: TableColumns) -> TableQuestion:
        """The same; bins of integers may need one division only."""
        bins = replace(self.bins, whole=columns.kinds.get(self.column) == "integer")
        return TableQuestion(keys=Keys(self.declared_by, self.other, bins))

    def column_refusals(self, kinds: Mapping[str, str]) -> Iterator[Refusal]:
        """Values must be numbers."""
        yield from super().column_refusals(kinds)
        yield from wrong_kind("column", self.column, kinds, NUMERIC)

    def half_widths(self, recipe: Recipe, terms: Terms, steps: IntArray) -> Floats:
        widest: Floats = self._bounds(recipe, terms, steps).max(axis=1, initial=0.0)
        return widest

    def publish(
        self, recipe: Recipe, terms: Terms, outputs: Any, first: int, earlier: IntArray
    ) -> Published:
        steps = np.arange(first, first + len(outputs))
        totals = self.spans(terms, outputs, earlier)
        # (steps, keys, bins)
        counts = totals.reshape(len(totals), -1, self.bins.size).astype(np.float64)
        below = np.cumsum(counts, axis=2)
        excess = below[:, :, :-1] - float(self.q) * below[:, :, -1:]
        bounds = self._bounds(recipe, terms, steps)[:, None, :]
        edges = np.array([float(edge) for edge in self.edges])
        passed = np.cumprod(excess < -bounds, axis=2, dtype=np.int64).sum(axis=2)
        back = np.cumprod((excess > bounds)[:, :, ::-1], axis=2, dtype=np.int64).sum(axis=2)
        low, high = edges[passed], edges[len(edges) - 1 - back]
        value = _interpolated(below, float(self.q), edges)
        return Published(value=np.clip(value, low, high), low=low, high=high)

    def _bounds(self, recipe: Recipe, terms: Terms, steps: IntArray) -> Floats:
        about = counter_of(recipe), terms, self.bins.size, float(self.q)
        if terms.noises is not None:  # of this step alone
            return _bounds(steps, *about)
        return cached_bounds(_bounds, steps, *about, horizon=terms.horizon)


def _bounds(
    steps: IntArray, recipe: CounterRecipe, terms: Terms, bins: int, share: float
) -> Floats:
    return excess_bounds(
        recipe,
        terms.window,
        steps.tolist(),
        bins=bins,
        share=share,
        beta=BETA,
        announced=terms.announced,
        ended=terms.ended,
        noises=terms.noises,
    )


def _interpolated(below: Floats, share: float, edges: Floats) -> Floats:
    """The value at which the line through the counts up to each edge reaches a share of all events.

    The counts are first made monotone: halfway between the largest so far and the smallest from
    there on.  If nothing is counted, the value is the middle of the range.
    """
    start = np.zeros((*below.shape[:2], 1))
    counts = np.concatenate([start, np.maximum(below, 0)], axis=2)
    highest = np.maximum.accumulate(counts, axis=2)
    lowest = np.minimum.accumulate(counts[:, :, ::-1], axis=2)[:, :, ::-1]
    rising = (highest + lowest) / 2
    target = share * rising[:, :, -1:]
    # the first edge with enough events below it, and the edge before it
    right = np.clip((rising < target).sum(axis=2, keepdims=True), 1, len(edges) - 1)
    upper = np.take_along_axis(rising, right, axis=2)
    lower = np.take_along_axis(rising, right - 1, axis=2)
    part = np.divide(target - lower, upper - lower, out=np.zeros_like(upper), where=upper > lower)
    from_, to = edges[right - 1], edges[right]
    value: Floats = (from_ + np.clip(part, 0, 1) * (to - from_))[:, :, 0]
    value[rising[:, :, -1] <= 0] = (edges[0] + edges[-1]) / 2
    return value
