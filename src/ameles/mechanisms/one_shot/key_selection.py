"""Key selection: which keys of a group-by may be named, if the keys themselves are private.

Theorem      Desfontaines-Voss-Gipson-Mandayam 2022: a key that n users have is kept with
             probability pi_n, pi_0 = 0 and pi_n the smallest of e^epsilon pi_(n-1) + delta,
             1 - e^-epsilon (1 - pi_(n-1) - delta) and 1.  No (epsilon, delta)-private rule keeps a
             key with a larger probability, for any n.  Both numbers here are those of one key: a
             unit that touches m keys gets epsilon / m and delta / m for each (catalogue 36, 50)
Neighbours   a unit comes or goes and changes the counts of at most ``max_groups`` keys by one each;
             where one unit replaces another, of twice as many
Noise        one exact coin for each key, of rational bias: e^-epsilon is rounded up and pi_n down,
             so that the inequalities hold as they stand
Error        a missing key has at most as many users as ``error.bound`` says
Memory       nothing is kept

A key that nobody has is never kept, so it is enough to count the keys that occur.  The answer has
the places of the kept keys in the input.  Publish the keys, in an order of their own, and never the
places, which reveal how many other keys there are.  The loss has a delta, so no pure cap accepts
it.

>>> from ameles.noise import Zero
>>> recipe = KeySelection(epsilon=1, delta="1e-5", neighbours="user-presence", unit="user")
>>> recipe.start(Zero()).step([3, 120, 11, 12])
array([1, 3])
>>> recipe.error.bound(1, 0.05)
13
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from ameles.core.error import checks_step
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Contribution, Guarantee, Norm
from ameles.core.loss import Approx
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Number, Whole
from ameles.mechanisms.one_shot.exact_inputs import counts_of_keys
from ameles.mechanisms.one_shot.one_shot import TWO_MOVE, Look
from ameles.noise.arrays import IntArray
from ameles.noise.enclosure import exp_minus

PRECISION = 256  # bits of a keep-probability
ONE = 1 << PRECISION
LONGEST_TABLE = 1 << 17


@dataclass(frozen=True, kw_only=True)
class KeySelection(Look[IntArray]):
    """The places of the keys that are kept, from the number of users of each key.

    >>> from ameles.noise import Zero
    >>> recipe = KeySelection(
    ...     epsilon=1, delta="1e-5", max_groups=2, neighbours="user-presence", unit="user")
    >>> recipe.start(Zero()).step([3, 120, 11])
    array([1])
    """

    norm: ClassVar[Norm] = Norm.MAX

    epsilon: Epsilon = Epsilon()
    delta: Number = Number(Fraction(1, 10**30), Fraction(1, 2))
    max_groups: Whole = Whole(1, 2**31, 1)

    def __post_init__(self) -> None:
        if not keep_probabilities(*self.of_one_key):
            raise BadInput(
                "These parameters need keys with more than 100,000 users.",
                why="the privacy loss of one key is epsilon over the keys that a unit may touch",
                tip="a larger epsilon, or fewer groups for each unit",
            )

    @property
    def reach(self) -> int:
        """A count changes by one."""
        return 1

    @property
    def touched(self) -> int:
        """The most keys whose counts differ between neighbours."""
        return self.max_groups * (2 if self.neighbours in TWO_MOVE else 1)

    @property
    def of_one_key(self) -> tuple[Fraction, Fraction]:
        """The epsilon and the delta of one key."""
        return self.epsilon / self.touched, self.delta / self.touched

    @property
    def loss(self) -> Approx:
        """Epsilon and delta of all the keys that one unit touches."""
        return Approx(self.epsilon, self.delta)

    @property
    def guarantee(self) -> Guarantee:
        """One unit changes up to ``touched`` counts, each by one."""
        changed = Contribution(steps=self.touched, bound=1, norm=self.norm)
        return replace(super().guarantee, contribution=changed)

    @property
    def error(self) -> KeySelectionError:
        """How many users a missing key may have."""
        return KeySelectionError(self)

    def keep_probability(self, users: int) -> Fraction:
        """The probability that a key with this many users is kept."""
        table = keep_probabilities(*self.of_one_key)
        return Fraction(table[max(0, min(users, len(table) - 1))], ONE)

    def checked(self, x: object) -> IntArray:
        return counts_of_keys(x, LONGEST_TABLE)

    def release(self, x: IntArray, noise: Noise) -> IntArray:
        table = keep_probabilities(*self.of_one_key)
        counts = np.minimum(x, len(table) - 1)
        order = np.argsort(counts, kind="stable")
        ends = np.cumsum(np.bincount(counts, minlength=len(table)))
        kept = [order[ends[-2] :]]  # the last probability is 1
        for users in np.flatnonzero(np.diff(ends[:-1])) + 1:
            these = order[ends[users - 1] : ends[users]]
            kept.append(these[noise.bernoulli(Fraction(table[users], ONE), these.size)])
        kept_keys: IntArray = np.sort(np.concatenate(kept))
        return kept_keys


@lru_cache(maxsize=64)
def keep_probabilities(epsilon: Fraction, delta: Fraction) -> tuple[int, ...]:
    """pi_0, pi_1, ... up to the first that is 1, times 2**256; nothing, if they are too many.

    >>> [round(pi / ONE, 4) for pi in keep_probabilities(Fraction(1), Fraction(1, 10))]
    [0.0, 0.1, 0.3718, 0.8057, 0.9653, 1.0]
    """
    shrink = exp_minus(epsilon, PRECISION)[1]  # e^-epsilon, rounded up
    extra = int(delta * ONE)
    table = [0]
    while table[-1] < ONE:
        if len(table) > LONGEST_TABLE:
            return ()
        grown = (table[-1] << PRECISION) // shrink + extra
        lost = shrink * (ONE - table[-1] - extra)
        table.append(min(grown, ONE + (-lost >> PRECISION), ONE))
    return tuple(table)


@dataclass(frozen=True, slots=True)
class KeySelectionError:
    """How many users a missing key may have."""

    recipe: KeySelection

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """A key with more users than this is kept with probability at least 1 - beta."""
        table = keep_probabilities(*self.recipe.of_one_key)
        enough = (1 - Fraction(beta)) * ONE
        low, high = 0, len(table) - 1  # pi grows with the number of users
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if table[middle] >= enough else (middle, high)
        return low

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for this many keys together."""
        return self.bound(1, beta / steps)
