"""Distinct users as estimators: how many of a universe have occurred, with or without noise.

Theorem      pan-private density (catalogue 23): a user's bit is a fair coin, and is drawn anew
             with probability 1/2 + gamma of a 1 at every occurrence; whoever sees the bits
             once learns epsilon.  Exact: the bits show who occurred, so the state is secret
Neighbours   a user present or absent, or some occurrences of one user become another's
Noise        in the bits, gamma = (1 - exp(-epsilon)) / 2 or tanh(epsilon / 2) / 2
Error        answers within about sqrt(n) units of gamma * distinct, 95% of the time
Memory       one bit a user, a byte each

An answer is the number of ones, above half of the users where bits have noise: then one unit
is worth 1 / gamma users, and the grid is that of the bits themselves, without rounding.  A user
moves one bit; a substitution moves two.

>>> from ameles.core.guarantee import Neighbours
>>> recipe = NoisyDistinct(users=10_000, epsilon=1, neighbours=Neighbours.USER_PRESENCE)
>>> recipe.sensitivity, round(recipe.users_of(316), 1)
(1, 999.8)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.core.error import Error
from ameles.core.guarantee import Guarantee, Intrusions, Neighbours
from ameles.core.noise import Noise
from ameles.core.parameters import Whole
from ameles.mechanisms.continual.estimators.estimator import Estimator, EstimatorRun, Exactly
from ameles.mechanisms.continual.estimators.noisy_table import (
    NoisyTable,
    check_users,
    table_promise,
)
from ameles.mechanisms.pan_private.density import Density
from ameles.mechanisms.pan_private.entries import indices
from ameles.mechanisms.pan_private.user_table import UserRelation
from ameles.mechanisms.run import Turn
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class ExactDistinct(Estimator):
    """How many of ``users`` have occurred, exactly; the state is secret.

    >>> from ameles.noise import Zero
    >>> run = ExactDistinct(users=100).start(Zero())
    >>> run.add([3, 4, 3])
    >>> run.answer()
    2
    """

    users: Whole = Whole(1, 2**32)
    neighbours: UserRelation = UserRelation(Neighbours.USER_PRESENCE)

    @property
    def sensitivity(self) -> int:
        """One: if one user vanishes and another appears, their changes cancel."""
        return 1

    @property
    def state_guarantee(self) -> Guarantee:
        """Nothing is revealed, because nothing is seized."""
        return table_promise(Fraction(0), self.neighbours, Intrusions.NONE)

    @property
    def answer_error(self) -> Error:
        """None."""
        return Exactly()

    def _run(self, state: State, noise: Noise) -> ExactDistinctRun:
        return ExactDistinctRun(self, state)


@dataclass(frozen=True, kw_only=True)
class NoisyDistinct(NoisyTable):
    """How many of ``users`` have occurred, from bits that may be seized once."""

    @property
    def weights(self) -> tuple[int, ...]:
        """A user has one bit."""
        return (1,)

    def users_of(self, value: float) -> float:
        """How many users a published value, or an error of one, stands for."""
        return value / self.gamma

    @property
    def table(self) -> Density:
        """The density whose table this is; its own output, at its own loss, is never asked."""
        return Density(
            users=self.users,
            neighbours=self.neighbours,
            epsilon_state=self.epsilon,
            epsilon_output=self.epsilon,
        )


class ExactDistinctRun(EstimatorRun):
    """A bit for each user, set when the user occurs."""

    def __init__(self, recipe: ExactDistinct, state: State) -> None:
        super().__init__(recipe, state)
        self._seen = np.zeros(recipe.users, dtype=np.uint8)
        if state.parts:
            self._seen[:] = state.parts[0].view(np.uint8)[: recipe.users]

    def check(self, x: object) -> None:
        """Refuses users outside the universe."""
        self.check_live()
        check_users(x, self._seen.size)

    def add(self, x: object) -> None:
        """Occurrences of a user, counted from 0, or of an array of users; None: of nobody."""
        self.check_live()
        if x is not None:
            users = indices(x, self._seen.size)
            try:
                with Turn(self):
                    self._seen[users] = 1
            finally:
                users.fill(0)

    def answer(self) -> int:
        """How many bits are set."""
        self.check_live()
        return int(np.count_nonzero(self._seen))

    def _parts(self) -> tuple[IntArray, ...]:
        words = np.zeros(-(-self._seen.size // 8), dtype=np.int64)
        words.view(np.uint8)[: self._seen.size] = self._seen
        return (words,)
