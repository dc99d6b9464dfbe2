"""Sparse vector: any number of questions "is it above?"; only the answers "above" cost.

Theorem      Lyu-Su-Li 2017, Alg 7 (catalogue 42): epsilon = threshold + query + answer.  Shifting
             rho by Delta hides all answers "below" at once; each of at most c answers "above"
             shifts its own nu by 2 Delta (Delta if all queries move the same way: monotone)
Neighbours   stated; between them every query changes by at most ``sensitivity`` (Delta)
Noise        discrete Laplace: rho of scale Delta / epsilon_1, once; nu of scale
             2 c Delta / epsilon_2 (monotone: c Delta / epsilon_2) for each query; an answer has
             fresh noise of scale c Delta / epsilon_3
Error        with probability 1 - beta all of m queries that are "above" are at least T - A, and all
             "below" are less than T + A, A = q_rho(beta / 2) + q_nu(beta / 2m), q the exact
             quantiles of the noise
Memory       the threshold's noise and the number of aboves

Small changes make it lose its privacy: no halt after c aboves, fresh noise on the threshold instead
of the query, or the compared value itself as the answer.  After the halt it replies "halted" for
ever and ignores all queries.

>>> from ameles.core.guarantee import Neighbours
>>> from ameles.noise import Zero
>>> recipe = above_threshold(
...     epsilon=1, aboves=2, threshold=10, neighbours=Neighbours.ADD_REMOVE, answering=0.5)
>>> run = recipe.start(Zero())
>>> [str(run.step(query)) for query in [3, 12, 9, 10, 50]]
['below', 'above: 12', 'below', 'above: 10', 'halted']
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import (
    EVENT,
    Contribution,
    Guarantee,
    Intrusions,
    Neighbours,
    Norm,
    Protects,
    Relation,
    Unit,
)
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import (
    Epsilon,
    Exact,
    Number,
    OptionalHorizon,
    Switch,
    Whole,
    exact,
    refuse,
)
from ameles.mechanisms.continual.noisy_threshold import (
    Reply,
    Said,
    ThresholdError,
    ThresholdRun,
)
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.mechanism import Mechanism
from ameles.mechanisms.snapshot import State
from ameles.mechanisms.stepped import integer
from ameles.noise.sampler import wrapped

# A guarantee counts the steps that one unit may change; a row of a table changes every query.
EVERY_QUERY = 1 << 40
ONE_WAY = (Neighbours.ADD_REMOVE, Neighbours.USER_PRESENCE)


@dataclass(frozen=True, kw_only=True)
class SparseVector(Mechanism["SparseVectorRun"]):
    """Says whether each query is above a threshold, until ``aboves`` of them were.

    If a query has a threshold of its own, ask for the difference, with threshold 0.
    ``monotone``: between any two neighbours all queries move the same way, as counts do when a
    row is added or removed.

    >>> from ameles.core.guarantee import Neighbours
    >>> from ameles.noise import Zero
    >>> recipe = SparseVector(threshold_epsilon="0.25", query_epsilon="0.75", aboves=1,
    ...                       threshold=10, neighbours=Neighbours.ADD_REMOVE)
    >>> run = recipe.start(Zero())
    >>> [str(run.step(query)) for query in [3, 12, 50]]
    ['below', 'above', 'halted']
    """

    threshold_epsilon: Epsilon = Epsilon()
    query_epsilon: Epsilon = Epsilon()
    answer_epsilon: Number = Number(0, 1000, 0)
    aboves: Whole = Whole(1, 2**40)
    threshold: Whole = Whole(-(2**62), 2**62, 0)
    sensitivity: Whole = Whole(1, 2**40, 1)
    monotone: Switch = Switch(False)
    neighbours: Relation = Relation()
    unit: Protects = Protects(EVENT.tag)
    horizon: OptionalHorizon = OptionalHorizon()

    def __post_init__(self) -> None:
        if self.monotone and self.neighbours not in ONE_WAY:
            raise BadInput(
                "Queries can be monotone only where rows or users are added or removed.",
                why="a replaced row may move one query up and another down",
                tip="monotone=False, which doubles the noise on the queries",
            )
        widest = max(self.threshold_scale, self.query_scale, self.answer_scale or 0)
        if 64 * widest >= 1 << 62:
            raise BadInput(
                "These parameters need noise that does not fit into 64 bits.",
                why="its scale is the sensitivity times the number of aboves over epsilon",
                tip="a larger epsilon, fewer aboves or a smaller sensitivity",
            )

    @property
    def threshold_scale(self) -> Fraction:
        """The scale of the noise on the threshold, drawn once."""
        return self.sensitivity / self.threshold_epsilon

    @property
    def query_scale(self) -> Fraction:
        """The scale of the noise on each query."""
        ways = 1 if self.monotone else 2
        return ways * self.aboves * self.sensitivity / self.query_epsilon

    @property
    def answer_scale(self) -> Fraction | None:
        """The scale of the fresh noise on an answer; None: no answers."""
        if not self.answer_epsilon:
            return None
        return self.aboves * self.sensitivity / self.answer_epsilon

    @property
    def guarantee(self) -> Guarantee:
        """The sum of the three, however many queries are below."""
        return Guarantee(
            loss=Pure(self.threshold_epsilon + self.query_epsilon + self.answer_epsilon),
            unit=Unit.tagged(self.unit),
            neighbours=self.neighbours,
            contribution=Contribution(
                steps=self.horizon or EVERY_QUERY, bound=self.sensitivity, norm=Norm.L1
            ),
            horizon=self.horizon,
            intrusions=Intrusions.NONE,
        )

    @property
    def error(self) -> ThresholdError:
        """How far on the wrong side of the threshold a query may be."""
        return ThresholdError(self.threshold_scale, self.query_scale)

    def answer_bound(self, beta: float) -> float:
        """One numeric answer is this close to its query with probability 1 - beta."""
        if self.answer_scale is None:
            raise BadInput("This recipe gives no numeric answers.", tip="an answer_epsilon above 0")
        return laplace_sum.quantile(1, self.answer_scale, beta)

    @property
    def memory(self) -> int:
        """The 64-bit integers that a run holds."""
        return 2

    def _run(self, state: State, noise: Noise) -> SparseVectorRun:
        return SparseVectorRun(self, state, noise)


class SparseVectorRun(ThresholdRun):
    """A run: one query a step."""

    def __init__(self, recipe: SparseVector, state: State, noise: Noise) -> None:
        super().__init__(
            recipe,
            state,
            noise,
            threshold_scale=recipe.threshold_scale,
            query_scale=recipe.query_scale,
            aboves=recipe.aboves,
        )
        self._recipe = recipe

    def _checked(self, x: object) -> int:
        return integer(x, "query")

    def _step(self, query: int) -> Reply:
        self._t += 1
        if self.halted:
            return Reply(Said.HALTED)
        if not self._is_above(query - self._recipe.threshold):
            return Reply(Said.BELOW)
        scale = self._recipe.answer_scale
        if scale is None:
            return Reply(Said.ABOVE)
        # fresh noise: the compared value would reveal the noise of the threshold
        return Reply(Said.ABOVE, wrapped(query + self._draw(scale)))


def above_threshold(
    *,
    epsilon: Exact,
    aboves: int,
    neighbours: Neighbours | str,
    threshold: int = 0,
    sensitivity: int = 1,
    monotone: bool = False,
    answering: Exact = 0,
    unit: Unit | str = EVENT,
    horizon: int | None = None,
) -> SparseVector:
    """The best sparse vector for ``epsilon``, of which the share ``answering`` pays for answers.

    The variance of nu - rho is smallest at threshold : query = 1 : (2c)^(2/3), or c^(2/3) if
    monotone.  The ratio is rounded to a whole number of thousandths; the sum is exact.
    """
    share = exact(answering, "answering")
    if not 0 <= share < 1:
        raise refuse("answering", "a share of epsilon, from 0 to below 1", answering)
    whole = SparseVector(
        threshold_epsilon=epsilon,
        query_epsilon=epsilon,
        aboves=aboves,
        threshold=threshold,
        sensitivity=sensitivity,
        monotone=monotone,
        neighbours=neighbours,
        unit=unit,
        horizon=horizon,
    )
    total = whole.threshold_epsilon
    ratio = Fraction(round(1000 * (aboves if monotone else 2 * aboves) ** (2 / 3)), 1000)
    compared = total * (1 - share)
    first = compared / (1 + ratio)
    return replace(
        whole,
        threshold_epsilon=first,
        query_epsilon=compared - first,
        answer_epsilon=total * share,
    )
