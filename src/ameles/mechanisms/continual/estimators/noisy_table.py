"""Estimators from a table of noisy bits that may be seized once: what they share.

Theorem      whoever sees the table once loses epsilon (catalogue 23 to 26); a user has one entry in
             each of its parts, so between neighbours the weighted sum of all bits differs by at
             most the sum of the absolute weights, at every step and whatever was seized
Neighbours   a user present or absent, or some occurrences of one user become another's
Noise        in the bits
Error        answers within about 1.96 sqrt(n W) / 2 of their mean with 95%, W the sum of the
             squared weights (``coin_tails``)
Memory       that of the table

An answer is the weighted number of ones, above what fair bits would give.  Its mean is gamma times
the number of users of whom the statistic is true; the grid is that of the bits, without rounding.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from ameles.core.error import Error, checks_step
from ameles.core.guarantee import USER, Contribution, Guarantee, Intrusions, Neighbours, Norm
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Whole, refuse
from ameles.mechanisms.continual.estimators.estimator import Estimator, EstimatorRun
from ameles.mechanisms.pan_private.coin_tails import CoinTails
from ameles.mechanisms.pan_private.cropped_mean import CroppedRecipe
from ameles.mechanisms.pan_private.density import Density
from ameles.mechanisms.pan_private.entries import indices
from ameles.mechanisms.pan_private.user_table import UserRelation
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray


def table_promise(epsilon: Fraction, neighbours: Neighbours, intrusions: Intrusions) -> Guarantee:
    """What seizing a table of users reveals."""
    # A user may occur at any step; what counts is how many users' entries differ.
    moved = 1 if neighbours is Neighbours.USER_PRESENCE else 2
    return Guarantee(
        loss=Pure(epsilon),
        unit=USER,
        neighbours=neighbours,
        contribution=Contribution(steps=2**40, bound=moved, norm=Norm.L1),
        horizon=None,
        intrusions=intrusions,
    )


@dataclass(frozen=True, kw_only=True)
class NoisyTable(Estimator):
    """A statistic of ``users`` users, from bits that may be seized once."""

    users: Whole = Whole(1, 2**32)
    epsilon: Epsilon = Epsilon()
    neighbours: UserRelation = UserRelation()

    @property
    @abstractmethod
    def table(self) -> Density | CroppedRecipe:
        """The table that is asked; its own output, at its own loss, never is."""

    @property
    @abstractmethod
    def weights(self) -> tuple[int, ...]:
        """The weights of a user's bits in an answer."""

    @property
    def crossings(self) -> int:
        """How often one user can make the statistic change: once if it only grows."""
        return 1

    @property
    def sensitivity(self) -> int:
        """All bits of one user for a presence, of two users for a substitution."""
        moved = 1 if self.neighbours is Neighbours.USER_PRESENCE else 2
        return moved * sum(abs(weight) for weight in self.weights)

    @property
    def squares(self) -> int:
        """The sum of the squared weights."""
        return sum(weight**2 for weight in self.weights)

    @property
    def gamma(self) -> float:
        """How much a user of whom the statistic is true adds to an answer, on average."""
        return self.table.gamma

    @property
    def highest(self) -> int:
        """What the answers tend to if it is true of everyone, rounded up."""
        return math.ceil(self.gamma * self.users)

    @property
    def ones(self) -> int:
        """Twice what fair bits would add to an answer."""
        return self.users * sum(self.weights)

    @property
    def state_guarantee(self) -> Guarantee:
        """Epsilon to whoever sees the bits once."""
        return table_promise(self.epsilon, self.neighbours, Intrusions.ONE)

    @property
    def answer_error(self) -> Error:
        """The deviation of independent bits, and half a bit if fair bits add an odd number."""
        return BitsError(self.users, self.weights, self.ones % 2)

    @property
    def state_fingerprint(self) -> bytes:
        """That of the table: a snapshot is the table's own."""
        return self.table.fingerprint

    def _run(self, state: State, noise: Noise) -> NoisyTableRun:
        return NoisyTableRun(self, state, noise)


class NoisyTableRun(EstimatorRun):
    """A table, asked for its weighted sum instead of for a release."""

    def __init__(self, recipe: NoisyTable, state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._recipe = recipe
        self._table = recipe.table._empty_run(state, noise)
        self._table.begin(state.parts)

    def check(self, x: object) -> None:
        """Refuses who is not of the universe."""
        self.check_live()
        check_users(x, self._recipe.users)

    def add(self, x: object) -> None:
        """Occurrences of a user, counted from 0, or of an array of users; None: of nobody."""
        self.check_live()
        if x is not None:
            self._table.add(x)

    def answer(self) -> int:
        """The weighted number of bits that are set, above half."""
        self.check_live()
        return self._table.ones() - self._recipe.ones // 2

    def _parts(self) -> tuple[IntArray, ...]:
        return self._table._parts()


@dataclass(frozen=True, slots=True)
class BitsError:
    """The error of a weighted sum of independent bits."""

    users: int
    weights: tuple[int, ...]  # of a user's bits
    odd: int  # whether half of the bits is no whole number
    rest: float = 0.0  # of what else is random: see ``coin_tails``

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """One answer is this close to its mean."""
        if not 0 < beta < 1:
            raise refuse("beta", "a probability above 0 and below 1", beta)
        return self.tails().quantile(beta, self.spread(beta)) + self.odd / 2

    def tails(self, *, scale: float = 0.0, normal: float = 0.0) -> CoinTails:
        """Their tails, with noise of this scale or variance."""
        coins = tuple((float(weight), self.users / 4) for weight in self.weights)
        return CoinTails(coins=coins, scale=scale, normal=normal, rest=self.rest)

    @property
    def variance(self) -> float:
        """A bound on the variance, by the ranges of all that is random."""
        return self.users * sum(weight**2 for weight in self.weights) / 4 + self.rest

    def spread(self, beta: float, *, normal: float = 0.0) -> float:
        """The same as ``bound`` by Hoeffding's bound, with noise of this variance."""
        return math.sqrt(2 * (self.variance + normal) * math.log(2 / beta))

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """So are this many."""
        return self.bound(steps, beta / steps)


def check_users(x: object, users: int) -> None:
    """Refuses who is not of the universe; keeps nothing."""
    if x is not None:
        indices(x, users).fill(0)
