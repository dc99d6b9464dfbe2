"""``alert``: whether the count of a span has reached a threshold, in each declared cell.

In the stream's life a cell is reported "above" at most ``times`` times; after that it is "halted"
at every step.  An answer "above" or "below" is wrong only if the count is close to the threshold;
the forecast says how close.  There is no interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ameles.core.loss import EpsilonLoss
from ameles.core.recipe import Recipe
from ameles.core.words import brief
from ameles.measures.expected import expected
from ameles.measures.measure import BETA, EventQuery, Measure, Published, Terms
from ameles.measures.refusal import Refusal
from ameles.mechanisms.continual.monitor import LARGEST, LONGEST
from ameles.mechanisms.continual.monitors import ABOVE, BELOW, HALTED, WindowMonitors
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.noise.arrays import IntArray

LABELS = {ABOVE: "above", BELOW: "below", HALTED: "halted"}


class Alert(Measure):
    """Events, counted and compared."""

    forecast: ClassVar[str] = "the count near the threshold"
    interval: ClassVar[str] = "none: the label is wrong only if the count is near the threshold"

    measure: Literal["alert"]
    threshold: int = Field(ge=-LARGEST, le=LARGEST)
    times: int = Field(ge=1, le=1 << 40)

    @property
    def question(self) -> EventQuery:
        """Its cell."""
        return EventQuery(cell=self.declared.cell, cells=self.cells)

    def refusals(self, terms: Terms, *, weighted: bool) -> Iterator[Refusal]:
        """Refuses totals, windows that are too long for memory, and rows with a weight."""
        yield from super().refusals(terms, weighted=weighted)
        if terms.window is None:
            yield Refusal(
                "over",
                "It must be step or a window.",
                why="a total that has reached a threshold stays there",
                tip='over = "7d"',
            )
        elif terms.window * self.cells > LONGEST:
            yield Refusal(
                "over",
                f"{self.cells} windows of {terms.window} steps are more than can be held.",
                why="the counts of every window are kept in memory",
                tip=f"up to {LONGEST} steps in all windows together",
            )
        if weighted:
            yield Refusal(
                "measure",
                "It cannot be used with a weight.",
                why="a weight may be negative, and its noise is for events that only add",
                tip='measure = "count", or a stream without a weight',
            )

    def recipe(self, terms: Terms, loss: EpsilonLoss) -> WindowMonitors:
        """A sparse vector for each cell, with noise for what one unit can change in all cells."""
        return WindowMonitors(
            epsilon=loss.epsilon,
            width=self.cells,
            window=terms.window or 0,  # of a total there is none, and it is refused
            threshold=self.threshold,
            aboves=self.times,
            monotone=True,
            unit=terms.unit.tag,
            contributions=terms.max_steps,
            bound=terms.per_step,
            horizon=terms.horizon,
        )

    def variance(self, terms: Terms, loss: EpsilonLoss) -> float:
        compared = self.recipe(terms, loss).comparison
        scales = compared.threshold_scale, compared.query_scale
        return sum(laplace_sum.std(1, scale) ** 2 for scale in scales)

    def why(self, recipe: Recipe, terms: Terms) -> str:
        """The reason: a sparse vector pays for alarms only, not for quiet steps."""
        alarms = "1 alarm" if self.times == 1 else f"{self.times:,} alarms"
        return (
            f"quiet steps cost it nothing: its noise is for {alarms}, however many steps there are"
        )

    def noise_in_words(self, recipe: Recipe, terms: Terms, step: int | None) -> str:
        """The noise of the threshold and the noise of each comparison."""
        compared = expected(recipe, WindowMonitors).comparison
        return (
            f"discrete Laplace, of scale {float(compared.threshold_scale):g} on the threshold, "
            f"drawn once, and of scale {float(compared.query_scale):g} on each comparison"
        )

    def interval_in_words(self, recipe: Recipe, terms: Terms) -> str:
        """There is no interval; it says instead what "near the threshold" means."""
        near = expected(recipe, WindowMonitors).error.bound(1, BETA)
        return f"{self.interval}: within {brief(near)} of it, with probability 95%"

    def half_widths(self, recipe: Recipe, terms: Terms, steps: IntArray) -> NDArray[np.float64]:
        return np.full(len(steps), expected(recipe, WindowMonitors).error.bound(1, BETA))

    def publish(
        self, recipe: Recipe, terms: Terms, outputs: Any, first: int, earlier: IntArray
    ) -> Published:
        codes = np.asarray(outputs)
        value = np.where(codes == HALTED, np.nan, codes == ABOVE)
        label = np.empty(codes.shape, dtype="<U6")
        for code, text in LABELS.items():
            label[codes == code] = text
        nothing = np.full(codes.shape, np.nan)
        return Published(value=value, low=nothing, high=nothing, label=label)
