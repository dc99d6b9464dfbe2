"""Measures that are linear in the events: a vector of running counters, read over a span."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ameles.core.guarantee import Intrusions
from ameles.core.loss import EpsilonLoss, delta_of
from ameles.core.recipe import Recipe
from ameles.core.words import brief
from ameles.measures.bounds_cache import cached_bounds
from ameles.measures.counter_choice import Span, chosen, mean_variance
from ameles.measures.expected import counter_of, expected
from ameles.measures.laws import law_of
from ameles.measures.measure import BETA, Measure, Published, Terms
from ameles.mechanisms.counters.hats.counter import HatsCounter
from ameles.mechanisms.counters.hats.endless import EndlessHatsCounter
from ameles.mechanisms.counters.hats.window import HatsWindowCounter
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.laplace.mixture import LaplaceMixture, quantiles
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.noise.arrays import IntArray


class LinearMeasure(Measure):
    """A running total for each cell; a window is the difference of two running totals."""

    seizable: ClassVar[bool] = True
    # Whether a published value is the total of its amounts, so that its noise is the sum of theirs.
    adds_up: ClassVar[bool] = True

    @property
    @abstractmethod
    def reach(self) -> int:
        """The most that one event can add, over all amounts, in whole units."""

    @property
    def largest(self) -> int:
        """The most that one event can add to one amount."""
        return self.reach

    def contributions(self, terms: Terms) -> tuple[int, int]:
        """How many steps one unit may change, and each by how much."""
        return terms.max_steps, terms.per_step * self.reach

    def recipe(self, terms: Terms, loss: EpsilonLoss) -> AnyMechanism:
        """The counter with the smallest error over this span."""
        return self.counter(terms, loss)

    def counter(self, terms: Terms, loss: EpsilonLoss) -> CounterRecipe:
        """The same, known to be a counter."""
        steps, bound = self.contributions(terms)
        return chosen(
            Span(window=terms.window, horizon=terms.horizon),
            epsilon=loss.epsilon,
            delta=delta_of(loss),
            width=self.question.width,
            contributions=steps,
            bound=bound,
            unit=terms.unit.tag,
            intrusions=terms.intrusions,
        )

    def variance(self, terms: Terms, loss: EpsilonLoss) -> float:
        span = Span(window=terms.window, horizon=terms.horizon)
        return mean_variance(self.counter(terms, loss), span) / self.largest**2

    def spans(self, terms: Terms, outputs: IntArray, earlier: IntArray) -> IntArray:
        """The released totals over the span that ends with each step."""
        if terms.window is None:
            return outputs
        spans: IntArray = outputs - np.concatenate([earlier, outputs])[: len(outputs)]
        return spans

    def noise(
        self, recipe: Recipe, terms: Terms, steps: IntArray, beta: float = BETA
    ) -> NDArray[np.float64]:
        """The half-width that the noise of one cell's span exceeds with probability at most
        beta."""
        if terms.noises is not None:  # of this step alone
            return _noise(steps, recipe, terms, beta)
        return cached_bounds(_noise, steps, recipe, terms, beta, horizon=terms.horizon)

    @property
    def amount(self) -> float:
        """The value of one unit of an amount in a published value."""
        return 1.0

    def why(self, recipe: Recipe, terms: Terms) -> str:
        """The reason: the smallest computed error, from public parameters only."""
        if terms.window == 1:
            about = "single steps"
        elif terms.window is not None:
            about = f"windows of {terms.window} steps"
        elif terms.horizon is None:
            about = "totals without end"
        else:
            about = f"totals over {terms.horizon} steps"
        return f"it has the smallest mean error of all counters for {about}"

    def noise_in_words(self, recipe: Recipe, terms: Terms, step: int | None) -> str:
        """The law of one draw, and the standard deviation of the sum of all draws."""
        counter = counter_of(recipe)
        law = draw_in_words(counter)
        if step is None or not self.adds_up:
            return law
        if isinstance(counter, SimpleTwoCounter) and terms.intrusions is not Intrusions.NONE:
            counted = (
                "each batch of events adds one, and the interval is for all batches that there were"
            )
            return f"{law}; {counted}"
        together = self.amount * law_of(counter, terms.window, step, ended=terms.ended).std
        return f"{law}; all draws in this number together have standard deviation {brief(together)}"

    def half_widths(self, recipe: Recipe, terms: Terms, steps: IntArray) -> NDArray[np.float64]:
        return self.noise(recipe, terms, steps)

    def publish(
        self, recipe: Recipe, terms: Terms, outputs: Any, first: int, earlier: IntArray
    ) -> Published:
        steps = np.arange(first, first + len(outputs))
        totals = self.spans(terms, outputs, earlier)
        half = whole(self.noise(recipe, terms, steps, BETA / self.at_once(self.cells)))[:, None]
        return self.shown(totals, half, self.declared.names)

    def at_once(self, cells: int) -> int:
        """How many cells an interval is to hold for at once, of so many."""
        return 1

    def shown(self, totals: IntArray, half: IntArray, names: Sequence[str]) -> Published:
        """The published values of totals, one row a step, one column a cell with its name.

        ``half`` has the half-widths of their intervals, in whole units.
        """
        return Published(value=totals, low=totals - half, high=totals + half)


def _noise(steps: IntArray, recipe: Recipe, terms: Terms, beta: float) -> NDArray[np.float64]:
    counter = counter_of(recipe)
    if terms.ended or terms.noises is not None:
        laws = [
            law_of(
                counter,
                terms.window,
                t,
                announced=terms.announced,
                ended=terms.ended,
                noises=terms.noises,
            )
            for t in steps.tolist()
        ]
        # a state that may be lost has Laplace noise only
        mixtures = [expected(law, LaplaceMixture) for law in laws]
        return quantiles(mixtures, beta).astype(np.float64)
    error = counter.error_after(terms.announced)
    if terms.window is None:
        return error.bounds(steps, beta)
    return error.between_bounds(np.maximum(steps - terms.window, 0), steps, beta)


def draw_in_words(counter: CounterRecipe) -> str:
    """The law of one draw of a counter."""
    if isinstance(counter, HatsCounter | HatsWindowCounter | EndlessHatsCounter):
        least, most = (f"{float(scale):.6g}" for scale in counter.scales)
        return f"discrete Laplace of scale {least} to {most}, by the share that its node has"
    match getattr(counter, "scale", None), getattr(counter, "variance", None):
        case Fraction() | int() as scale, _:
            return f"discrete Laplace of scale {float(scale):.6g}"
        case _, Fraction() | int() as variance:
            return f"discrete Gaussian of deviation {math.sqrt(variance):.6g}"
    return "discrete Gaussian, filtered over the steps"


def whole(bounds: NDArray[np.float64]) -> IntArray:
    """Bounds on integer noise, rounded to integers, so that intervals of counts end at counts."""
    rounded: IntArray = np.ceil(bounds).astype(np.int64)
    return rounded
