"""Net mechanism: a small database that answers many queries nearly like the large one.

Theorem      Blum-Ligett-Roth 2008 (catalogue 39, 47): the exponential mechanism over all multisets
             y of m elements, with weight exp(-(epsilon n / 2) max over q of |q(x) / n - q(y) / m|)
Neighbours   stated; one unit is one row, and changes each answer by at most ``grid``
Noise        exact: the scores are whole numbers |m q(x) - n q(y)|, of sensitivity m grid
Error        some y of m elements is within alpha of x for all k queries, if
             2 k exp(-2 m alpha^2) < 1 (Hoeffding).  So with probability 1 - beta every query is
             within alpha + (2 / epsilon n)(ln|N| + ln(1 / beta)) as a share of all rows, |N| the
             number of multisets, if the table has exactly n rows
Memory       nothing is kept

All multisets are listed, so it is for small universes.  A source text omits the 2 in the exponent:
then the loss is up to twice as large, 1.311 epsilon for |N| = 3 and 1.776 epsilon for 10.

>>> from ameles.noise import Zero
>>> recipe = SmallDatabase(epsilon=1, universe=3, queries=2, rows=100, size=10,
...                        neighbours="replace")
>>> recipe.start(Zero()).step(([[1, 1, 0], [0, 1, 1]], [50, 30, 20]))
array([5, 3, 2])
>>> size_for(queries=100, alpha=0.1)
265
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

import numpy as np

from ameles.core.error import checks_step
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Norm
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Whole
from ameles.mechanisms.linear_queries import check_fits, queries_and_answers
from ameles.mechanisms.one_shot.one_shot import Look
from ameles.noise.arrays import IntArray

# The multisets are listed, with a number for each element.
LARGEST_NET = 1 << 24


@dataclass(frozen=True, kw_only=True)
class SmallDatabase(Look[IntArray]):
    """A multiset of ``size`` elements that answers declared linear queries like the table.

    The input is a table of queries, one a row, and the exact histogram.  The release says how
    often each element is in the small database.

    >>> recipe = SmallDatabase(epsilon=1, universe=4, queries=5, rows=10_000, size=6,
    ...                        neighbours="add-remove")
    >>> recipe.net, round(recipe.error.bound(1, 0.05) / 10_000, 3)
    (84, 0.44)
    """

    norm: ClassVar[Norm] = Norm.MAX

    epsilon: Epsilon = Epsilon()
    universe: Whole = Whole(1, 2**16)
    queries: Whole = Whole(1, 2**24)
    rows: Whole = Whole(1, 2**40)
    size: Whole = Whole(1, 2**16)
    grid: Whole = Whole(1, 2**16, 1)

    def __post_init__(self) -> None:
        check_fits(self.universe, self.rows, self.grid * self.size)
        if self.net * self.universe > LARGEST_NET:
            raise BadInput(
                f"There are too many databases of {self.size} elements out of {self.universe}.",
                why=f"all of them are listed, and may have {LARGEST_NET} numbers together",
                tip="a smaller size or universe; or a SyntheticTable, which lists none",
            )

    @property
    def net(self) -> int:
        """How many multisets there are."""
        return math.comb(self.size + self.universe - 1, self.size)

    @property
    def reach(self) -> int:
        """One row changes each answer by at most the grid."""
        return self.grid

    @property
    def rate(self) -> Fraction:
        """What one unit of a score costs in the exponent."""
        return self.epsilon / (2 * self.size * self.grid)

    @property
    def loss(self) -> Pure:
        """Epsilon."""
        return Pure(self.epsilon)

    @property
    def error(self) -> NetError:
        """How far the worst query may be."""
        return NetError(self)

    def checked(self, x: object) -> tuple[IntArray, IntArray]:
        return queries_and_answers(
            x, count=self.queries, universe=self.universe, rows=self.rows, grid=self.grid
        )

    def release(self, x: tuple[IntArray, IntArray], noise: Noise) -> IntArray:
        asked, exact = x
        databases = multisets(self.universe, self.size)
        worst = np.zeros(len(databases), dtype=np.int64)
        for query, answer in zip(asked, exact, strict=True):
            gaps = np.abs(self.size * int(answer) - self.rows * (databases @ query))
            worst = np.maximum(worst, gaps)
        picked: IntArray = databases[noise.pick(worst - worst.min(), self.rate)]
        return picked


def multisets(universe: int, size: int) -> IntArray:
    """All multisets as counts, one a row: the gaps between ``universe`` - 1 bars among stars."""
    places = universe + size - 1
    bars = list(combinations(range(places), universe - 1))
    edges = np.full((len(bars), universe + 1), places, dtype=np.int64)
    edges[:, 0] = -1
    if universe > 1:
        edges[:, 1:-1] = bars
    return np.asarray(np.diff(edges, axis=1) - 1, dtype=np.int64)


def size_for(*, queries: int, alpha: float) -> int:
    """The least m with 2 k exp(-2 m alpha^2) < 1: then some m rows are within alpha of any table.

    >>> size_for(queries=1, alpha=0.5)
    2
    """
    return math.floor(math.log(2 * queries) / (2 * alpha * alpha)) + 1


@dataclass(frozen=True, slots=True)
class NetError:
    """How far the worst query may be, in units of 1 / ``grid`` rows, scaled from ``size``."""

    recipe: SmallDatabase

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """Every query is this close with probability at least 1 - beta."""
        recipe = self.recipe
        # a little more than where 2 k exp(-2 m alpha^2) = 1
        alpha = math.sqrt(math.log(2 * recipe.queries) / (2 * recipe.size)) * (1 + 1e-9)
        lost = 2 * math.log(recipe.net / beta) / float(recipe.epsilon * recipe.rows)
        return recipe.rows * recipe.grid * min(1.0, alpha + lost)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for this many releases together."""
        return self.bound(1, beta / steps)
