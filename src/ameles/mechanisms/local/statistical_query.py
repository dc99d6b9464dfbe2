"""Statistical queries: the mean of a function of one example, from a curator or from users.

Theorem      Catalogue 32.  Central: the mean of f over n examples moves by 1 / n if one is
             replaced, so that m queries with Laplace noise of scale m / (n epsilon) lose epsilon.
             Local: each query is asked of users who were not asked before; each rounds f to a bit
             and answers by randomized response, and loses epsilon once
Sample       to answer m queries within tau of the distribution's means, all with probability
             1 - beta:
               central   n = max(2 m ln(2 m / beta) / (epsilon tau), 2 ln(4 m / beta) / tau^2)
               local     c^2 ln(2 m / beta) / (2 tau^2) users for each query,
                         c = (e^epsilon + 1) / (e^epsilon - 1)
             (the local one covers the sample and the coins together: each report is an unbiased
             estimate with range c)
Exactness    f gives whole numbers from 0 to a public grid, and stands for that part of it

>>> local_sample_size(queries=20, tolerance=0.05, beta=0.05, epsilon=1)
6261
>>> central_sample_size(queries=20, tolerance=0.05, beta=0.05, epsilon=1)
5903
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from threading import Lock
from typing import Generic, Protocol, TypeVar

import numpy as np

from ameles.core.exceptions import BudgetExceeded
from ameles.core.guarantee import EVENT, Contribution, Guarantee, Intrusions, Neighbours, Norm
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Exact, exact, refuse, whole
from ameles.core.unique import Unique
from ameles.mechanisms.clamped import whole_number
from ameles.mechanisms.local.bounded_mean import MeanResponse
from ameles.mechanisms.one_shot.geometric import GeometricMechanism
from ameles.noise.arrays import IntArray

Example = TypeVar("Example")
Seen = TypeVar("Seen", covariant=True)
GRID = 1 << 10


class StatisticalOracle(Protocol[Seen]):
    """What a learner may see of the data: means of functions of one example."""

    def __call__(self, query: Callable[[Seen], int]) -> float:
        """About the mean of query / grid."""
        ...


class CentralQueries(Unique, Generic[Example]):
    """Answers ``queries`` statistical queries about examples that a curator holds.

    >>> from ameles.noise import Zero
    >>> oracle = CentralQueries([3, 8, 5, 1], epsilon=1, queries=2, noise=Zero())
    >>> oracle(lambda age: int(age > 4))
    0.5
    """

    noun = "oracle"

    def __init__(
        self,
        examples: Sequence[Example],
        *,
        epsilon: Exact,
        queries: int,
        noise: Noise,
        grid: int = 1,
    ) -> None:
        super().__init__()
        self._examples = examples
        self._epsilon = exact(epsilon, "epsilon")
        self._queries = whole(queries, "queries", low=1, high=1 << 20)
        self._grid = whole(grid, "grid", low=1, high=GRID * GRID)
        self._noise = noise
        self._asked = 0
        self._turn = Lock()
        # one example that is replaced moves the sum by the grid at most
        self._recipe = GeometricMechanism(
            epsilon=self._epsilon / self._queries, sensitivity=self._grid, neighbours="replace"
        )

    @property
    def guarantee(self) -> Guarantee:
        """Of all answers together."""
        return _promise(self._epsilon, self._queries, self._grid)

    def __call__(self, query: Callable[[Example], int]) -> float:
        """The noisy mean."""
        self.check_process()
        with self._turn:
            if self._asked == self._queries:
                raise _no_more(f"{self._queries} queries", self._epsilon)
            self._asked += 1
        values = graded(query, self._examples, self._grid)
        noisy = self._recipe.start(self._noise).step(int(values.sum()))
        return float(noisy) / (self._grid * max(1, len(self._examples)))


class LocalQueries(Unique, Generic[Example]):
    """Answers statistical queries by asking users, each of them once.

    >>> from ameles.noise import System
    >>> ages = [3, 8] * 20_000
    >>> oracle = LocalQueries(ages, epsilon=2, group=20_000, noise=System.direct())
    >>> abs(oracle(lambda age: int(age > 4)) - 0.5) < 0.05, oracle.answered
    (True, 20000)
    """

    noun = "oracle"

    def __init__(
        self,
        users: Sequence[Example],
        *,
        epsilon: Exact,
        group: int,
        noise: Noise,
        grid: int = 1,
    ) -> None:
        super().__init__()
        self._users = users
        self._group = whole(group, "group", low=1, high=1 << 40)
        self._recipe = MeanResponse(largest=grid, epsilon=exact(epsilon, "epsilon"))
        self._noise = noise
        self._asked = 0
        self._turn = Lock()

    @property
    def guarantee(self) -> Guarantee:
        """Of all answers together: every user answers one query.  The state is secret here."""
        # the examples are in this process, so whoever seizes it has them
        return replace(self._recipe.guarantee, intrusions=Intrusions.NONE)

    @property
    def answered(self) -> int:
        """How many users have answered."""
        return self._asked

    def __call__(self, query: Callable[[Example], int]) -> float:
        """The unbiased mean over the next users."""
        self.check_process()
        with self._turn:
            first = self._asked
            if first + self._group > len(self._users):
                raise _no_more(f"{len(self._users)} users", self._recipe.loss.epsilon)
            self._asked += self._group
        fresh = self._users[first : first + self._group]
        recipe = self._recipe
        reports = recipe.start(self._noise).feed(graded(query, fresh, recipe.largest))
        return float(recipe.estimate(reports).counts[0]) / self._group


def central_sample_size(*, queries: int, tolerance: float, beta: float, epsilon: float) -> int:
    """How many examples are needed to answer this many queries within the tolerance."""
    m, tau = whole(queries, "queries", low=1, high=1 << 40), _unit(tolerance, "tolerance")
    noise = 2 * m * math.log(2 * m / _unit(beta, "beta")) / (positive(epsilon) * tau)
    sample = 2 * math.log(4 * m / beta) / tau**2
    return math.ceil(max(noise, sample))


def local_sample_size(*, queries: int, tolerance: float, beta: float, epsilon: float) -> int:
    """How many users each of this many queries needs, for an answer within the tolerance."""
    m, tau = whole(queries, "queries", low=1, high=1 << 40), _unit(tolerance, "tolerance")
    c = 1 / math.tanh(positive(epsilon) / 2)
    return math.ceil(c**2 * math.log(2 * m / _unit(beta, "beta")) / (2 * tau**2))


def graded(query: Callable[[Example], int], examples: Sequence[Example], grid: int) -> IntArray:
    """What a query gives each example, moved into 0 to the grid; 0 where it gives no whole number,
    or fails: a refusal would tell that somebody has such an example."""

    def grade(one: Example) -> int:
        try:
            given = whole_number(query(one))
        except Exception:
            given = None
        return 0 if given is None else max(0, min(given, grid))

    return np.array([grade(one) for one in examples], dtype=np.int64)


def _unit(number: float, name: str) -> float:
    if not 0 < number < 1:
        raise refuse(name, "above 0 and below 1", number)
    return number


def positive(epsilon: float) -> float:
    """The epsilon of a sample size; what is none is refused."""
    if not 0 < epsilon < math.inf:
        raise refuse("epsilon", "above 0", epsilon)
    return epsilon


def _promise(epsilon: Fraction, queries: int, grid: int) -> Guarantee:
    return Guarantee(
        loss=Pure(epsilon),
        unit=EVENT,
        neighbours=Neighbours.REPLACE,
        contribution=Contribution(steps=queries, bound=grid, norm=Norm.L1),
        horizon=queries,
        intrusions=Intrusions.NONE,
    )


def _no_more(had: str, epsilon: Fraction) -> BudgetExceeded:
    return BudgetExceeded(
        f"This oracle had {had} and has used them.",
        spent=Pure(epsilon),
        asked=Pure(epsilon),
        left=Pure(0),
        blocked_by="the oracle",
        why="each answer was paid for in advance",
        tip="fewer queries, or more users",
    )
