"""Private multiplicative weights: very many linear queries; only surprising answers cost.

Theorem      Hardt-Rothblum 2010, corrected (catalogue 48): a public hypothesis D over the universe
             answers each query; a sparse vector tells when |q(D) - q(x)| is large.  Then the
             answer is q(x) with *fresh* noise a, and D is multiplied by exp(s eta q),
             s = sign(a - q(D)).  The run halts after c updates.  epsilon = threshold + query +
             answer, whatever the number of queries
Neighbours   one row is replaced; the number of rows n is public
Noise        discrete Laplace in units of 1 / grid rows: rho of scale grid / epsilon_1 once,
             2 c grid / epsilon_2 for each comparison, c grid / epsilon_3 for each answer
Error        with probability 1 - beta all answers given are within max(T + A_s + 1, A_r), A_s and
             A_r the exact quantiles of the noises.  If tau = (T - A_s - 1) / (n grid) exceeds the
             release noise, each update lowers the relative entropy by at least
             eta tau - eta^2 / 8, so ln|U| divided by that many updates is the most there can be
Memory       one float for each element of the universe, and two integers

The hypothesis is computed from what was published, so floats are fine in it.  Its answer is
rounded to the grid before the exact answer is subtracted.  Publishing the compared value instead
of a fresh one loses without limit: 13.9 after 10,000 queries, where fresh noise stays at 1.867.

>>> import numpy as np
>>> from ameles.noise import Zero
>>> recipe = MultiplicativeWeights(universe=4, rows=100, threshold=20, updates=3, rate="1/2",
...     threshold_epsilon="0.1", query_epsilon="0.4", answer_epsilon="0.5")
>>> run = recipe.start(Zero())
>>> [str(run.step((query, answer))) for query, answer in [
...     ([1, 1, 0, 0], 55), ([1, 0, 0, 0], 50), ([1, 0, 1, 0], 60)]]
['below: 50', 'above: 50', 'below: 57']
>>> run.hypothesis.round(3)
array([0.355, 0.215, 0.215, 0.215])
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ameles.core.error import checks_step
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import (
    EVENT,
    Contribution,
    Guarantee,
    Intrusions,
    Neighbours,
    Norm,
    Protects,
    Unit,
)
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Number, OptionalHorizon, Whole
from ameles.mechanisms.continual.noisy_threshold import Reply, Said, ThresholdRun
from ameles.mechanisms.continual.sparse_vector import EVERY_QUERY
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.linear_queries import (
    LARGEST_GRID,
    LARGEST_UNIVERSE,
    FloatArray,
    Query,
    pair,
    query,
)
from ameles.mechanisms.mechanism import Mechanism
from ameles.mechanisms.snapshot import State
from ameles.mechanisms.stepped import integer
from ameles.noise.arrays import IntArray
from ameles.noise.sampler import wrapped


@dataclass(frozen=True, kw_only=True)
class MultiplicativeWeights(Mechanism["MultiplicativeWeightsRun"]):
    """Answers linear queries from a public hypothesis, and corrects it where it is far off.

    A step takes a query and its exact answer, a whole number of 1 / ``grid`` rows.  The reply is
    "below" with the hypothesis's answer, "above" with the noisy one, or "halted".

    >>> from ameles.mechanisms.interactive import multiplicative_weights
    >>> from ameles.noise import Zero
    >>> recipe = multiplicative_weights(epsilon=1, universe=1024, rows=100_000, horizon=10_000)
    >>> run = recipe.start(Zero())
    >>> str(run.step(([True] * 256 + [False] * 768, 25_100)))
    'below: 25000'
    """

    universe: Whole = Whole(1, LARGEST_UNIVERSE)
    rows: Whole = Whole(1, 2**40)
    threshold: Whole = Whole(1, 2**60)
    updates: Whole = Whole(1, 2**40)
    rate: Number = Number(Fraction(1, 10**9), 4)
    threshold_epsilon: Epsilon = Epsilon()
    query_epsilon: Epsilon = Epsilon()
    answer_epsilon: Epsilon = Epsilon()
    grid: Whole = Whole(1, LARGEST_GRID, 1)
    unit: Protects = Protects(EVENT.tag)
    horizon: OptionalHorizon = OptionalHorizon()

    def __post_init__(self) -> None:
        # the noise on the threshold always fits
        if 64 * max(self.query_scale, self.answer_scale) >= 1 << 62:
            raise BadInput(
                "These parameters need noise that does not fit into 64 bits.",
                why="its scale is the grid times the number of updates over epsilon",
                tip="a larger epsilon, fewer updates or a coarser grid",
            )

    @property
    def threshold_scale(self) -> Fraction:
        """The scale of the noise on the threshold, drawn once."""
        return self.grid / self.threshold_epsilon

    @property
    def query_scale(self) -> Fraction:
        """The scale of the noise on each comparison."""
        return 2 * self.updates * self.grid / self.query_epsilon

    @property
    def answer_scale(self) -> Fraction:
        """The scale of the fresh noise on each answer that is taken from the data."""
        return self.updates * self.grid / self.answer_epsilon

    @property
    def guarantee(self) -> Guarantee:
        """The sum of the three, however many queries are asked."""
        return Guarantee(
            loss=Pure(self.threshold_epsilon + self.query_epsilon + self.answer_epsilon),
            unit=Unit.tagged(self.unit),
            neighbours=Neighbours.REPLACE,
            contribution=Contribution(
                steps=self.horizon or EVERY_QUERY, bound=self.grid, norm=Norm.L1
            ),
            horizon=self.horizon,
            intrusions=Intrusions.NONE,
        )

    @property
    def error(self) -> WeightsError:
        """How far an answer may be, in units of 1 / ``grid`` rows, while the run has not halted."""
        return WeightsError(self)

    @property
    def memory(self) -> int:
        """The 64-bit numbers that a run holds."""
        return self.universe + 2

    def _run(self, state: State, noise: Noise) -> MultiplicativeWeightsRun:
        return MultiplicativeWeightsRun(self, state, noise)


class MultiplicativeWeightsRun(ThresholdRun):
    """A run: one query and its exact answer a step.  What is above updates the hypothesis."""

    def __init__(self, recipe: MultiplicativeWeights, state: State, noise: Noise) -> None:
        super().__init__(
            recipe,
            state,
            noise,
            threshold_scale=recipe.threshold_scale,
            query_scale=recipe.query_scale,
            aboves=recipe.updates,
        )
        self._recipe = recipe
        if state.parts:
            self._weights: FloatArray = state.parts[1].view(np.float64).copy()
        else:
            self._weights = np.full(recipe.universe, 1 / recipe.universe)

    @property
    def hypothesis(self) -> FloatArray:
        """The probability that the public hypothesis gives each element; it costs nothing."""
        return self._weights.copy()

    def _parts(self) -> tuple[IntArray, ...]:
        """The noise of the threshold, how many updates there were, and the hypothesis's bits."""
        return *super()._parts(), self._weights.view(np.int64)

    def _checked(self, x: object) -> tuple[Query, int]:
        asked, answer = pair(x, "a query", "its exact answer")
        recipe = self._recipe
        checked = query(asked, universe=recipe.universe, grid=recipe.grid)
        # An answer that no table of n rows has is clamped: a refusal would reveal it.
        most = recipe.rows * recipe.grid
        return checked, min(max(integer(answer, "answer"), 0), most)

    def _step(self, given: Any) -> Reply:
        asked, answer = given
        self._t += 1
        if self.halted:
            return Reply(Said.HALTED)
        recipe = self._recipe
        guess = self._guess(asked)
        if not self._is_above(abs(guess - answer) - recipe.threshold):
            return Reply(Said.BELOW, guess)
        # fresh noise: the compared value would reveal the noise of the threshold
        released = wrapped(answer + self._draw(recipe.answer_scale))
        self._update(asked, released - guess)
        return Reply(Said.ABOVE, released)

    def _guess(self, asked: Query) -> int:
        """The hypothesis's answer, rounded to the grid."""
        share = float((self._weights * asked).sum())
        units = self._recipe.grid if asked.dtype == np.bool_ else 1
        return round(self._recipe.rows * units * share)

    def _update(self, asked: Query, surprise: int) -> None:
        if surprise == 0:
            return
        grid = 1 if asked.dtype == np.bool_ else self._recipe.grid
        step = math.copysign(float(self._recipe.rate), surprise) / grid
        weights = self._weights * np.exp(step * asked)
        self._weights = weights / weights.sum()


@dataclass(frozen=True, slots=True)
class WeightsError:
    """How far the answers of a run that has not halted may be, in units of 1 / ``grid`` rows."""

    recipe: MultiplicativeWeights

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """The answer to query ``t`` is this close with probability at least 1 - beta."""
        return self._worst(1, 1, beta)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """All answers to the first ``steps`` queries are this close, with probability 1 - beta."""
        return self._worst(steps, min(steps, self.recipe.updates), beta)

    @checks_step
    def most_updates(self, steps: int, beta: float) -> float:
        """The most updates in this many queries, with probability 1 - beta; infinite if unknown.

        If it is below ``updates``, the run does not halt, with that probability.
        """
        recipe = self.recipe
        whole = recipe.rows * recipe.grid
        gap = recipe.threshold - self.comparison(steps, beta) - 1
        if gap <= self.release(min(steps, recipe.updates), beta):
            return math.inf
        rate, share = float(recipe.rate), gap / whole
        drop = rate * share - rate * rate / 8
        return math.log(recipe.universe) / drop if drop > 0 else math.inf

    def comparison(self, steps: int, beta: float) -> float:
        """All comparisons are right up to this much, with probability 1 - 2 beta / 3."""
        recipe = self.recipe
        rho = laplace_sum.quantile(1, recipe.threshold_scale, beta / 3)
        return rho + laplace_sum.quantile(1, recipe.query_scale, beta / (3 * steps))

    def release(self, releases: int, beta: float) -> float:
        """A bound on the noise of this many answers from the data, with probability 1 - beta /
        3."""
        return laplace_sum.quantile(1, self.recipe.answer_scale, beta / (3 * releases))

    def _worst(self, steps: int, releases: int, beta: float) -> float:
        # 1: the hypothesis's answer is rounded
        near = self.recipe.threshold + self.comparison(steps, beta) + 1
        return max(near, self.release(releases, beta))
