"""Dynamic density: the fraction of users whose net count is not zero, however large it grows.

Theorem      a table of residues (catalogue 27) whose modulus K is a prime, drawn at random from the
             primes from M to 2 M before the stream (catalogue 28).  Given K, the loss is that of
             ``ResidueFraction``: it is drawn without looking at anyone, so it may be public and
             privacy does not depend on it.  A net count other than zero is taken for zero if K
             divides it.  Of N primes at most j divide a number up to ``largest_count``, j being
             how many of the smallest have a product within it, so j <= log_M(largest_count)
Neighbours   USER_PRESENCE, or USER_SUBSTITUTION (two users' residues move)
Noise        one uniform choice of a prime; exact offsets as for the modular incidence; discrete
             Laplace of scale 1 (substitution: 2) / epsilon_output on the number of nonzero residues
Error        standard deviation that of ``ResidueFraction`` for the largest prime, about
             sqrt(2 M e^a / users) / (e^a - 1).  False zeros, on average over K at most the fraction
             j / N of the users: beyond 2 j / (N beta) of them with probability beta / 2 (Markov),
             and only ever too few are counted as nonzero
Memory       one or two bytes per user, and the prime

Occurrences are added, taken back (``remove``) or changed by any whole number (``change``), in
any order.  A release is the fraction of users with a net count other than zero; its
``complement`` is the fraction with net count zero, at no further loss.

False zeros are this rare for streams that were not chosen by someone who knows K.  Whoever knows K
can hide users from the count, but learns no more about them.

With M the noise grows like sqrt(M), and the false zeros fall like 1 / M.  With a public promise
that net counts stay small, ``ResidueFraction`` has less noise and no false zeros.

Intrusions   one, unannounced; with ``intrusions`` = J announced, every residue is moved on by a
             fresh offset, as for the modular incidence.  The prime stays.

>>> from ameles.noise import System
>>> recipe = DynamicDensity(users=100_000, primes_from=512, neighbours="user-presence",
...                         epsilon_state=4, epsilon_output=1)
>>> print(recipe.false_zeros, round(recipe.error.std(1), 3))
2/25 0.014
>>> run = recipe.start(System.direct())
>>> run.add(range(60_000))
>>> run.remove(range(20_000))
>>> found = run.release()
>>> abs(found.value - 0.4) < 7 * found.standard_error  # no prime divides 1
True
>>> abs(found.complement.value - 0.6) < 7 * found.standard_error
True
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction

import numpy as np

from ameles.core.noise import Noise
from ameles.core.parameters import Whole
from ameles.mechanisms.pan_private.erase import only
from ameles.mechanisms.pan_private.estimate import ChanceError, Estimate, check_beta
from ameles.mechanisms.pan_private.intrusions import Seizures
from ameles.mechanisms.pan_private.primes import most_divisors, primes
from ameles.mechanisms.pan_private.residue_table import (
    LARGEST_MODULUS,
    MOST_INTRUSIONS,
    ResidueRecipe,
    ResidueRun,
)
from ameles.mechanisms.pan_private.user_table import UserRun
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray

# More than any stream has: a billion a second for a century.
EVER = 1 << 62


@dataclass(frozen=True, kw_only=True)
class DynamicDensity(ResidueRecipe[Estimate]):
    """The fraction of users whose net count is not zero.

    The modulus is a random prime from ``primes_from`` to twice as much.  ``largest_count`` is the
    largest net count, of either sign, for which the error is stated; privacy does not need it.
    """

    primes_from: Whole = Whole(2, LARGEST_MODULUS // 2)
    largest_count: Whole = Whole(1, EVER, EVER)
    intrusions: Seizures = Seizures(1, MOST_INTRUSIONS, 1)

    @property
    def seizures(self) -> int:
        """How many intrusions were declared."""
        return self.intrusions

    @property
    def primes(self) -> tuple[int, ...]:
        """The moduli, all equally likely."""
        return primes(self.primes_from)

    @property
    def widest(self) -> int:
        """The largest of them."""
        return self.primes[-1]

    @property
    def scale(self) -> Fraction:
        """A user is zero or not."""
        return self.moved / self.release_loss

    @property
    def false_zeros(self) -> Fraction:
        """An upper bound on the probability that a nonzero net count is taken for zero."""
        return Fraction(most_divisors(self.primes_from, self.largest_count), len(self.primes))

    @property
    def error(self) -> DynamicError:
        """The error for the largest prime, where no intrusion was announced."""
        return self.error_given(self.widest, 1)

    def error_given(self, prime: int, offsets: int) -> DynamicError:
        """The error with this modulus, after this many offsets."""
        noise = self.error_at(prime, offsets, prime - 1)
        return DynamicError(**asdict(noise), false_zeros=float(self.false_zeros))

    @property
    def memory(self) -> int:
        """A residue for each user, and the prime."""
        return super().memory + 8

    def _empty_run(self, state: State, noise: Noise) -> UserRun[Estimate]:
        return DynamicRun(self, state, noise)


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicError(ChanceError):
    """The error of the noise, given the prime, and of the false zeros that the prime makes.

    ``std`` is the noise's alone; the false zeros lower the value by at most ``false_zeros`` on
    average.
    """

    false_zeros: float

    def margins(self, beta: float) -> tuple[float, float]:
        """False zeros make a release too small, never too large."""
        check_beta(beta)
        missed = 2 * self.false_zeros / beta
        if missed >= 1:  # all of beta is left to the noise: at most everyone can be missed
            below, above = ChanceError.margins(self, beta)
            return below, above + 1
        below, above = ChanceError.margins(self, beta / 2)
        return below, above + missed


class DynamicRun(ResidueRun[Estimate]):
    """A run with a modulus of its own, drawn at the start."""

    _recipe: DynamicDensity

    def __init__(self, recipe: DynamicDensity, state: State, noise: Noise) -> None:
        super().__init__(recipe, state, noise)
        self._prime: IntArray = np.zeros(1, dtype=np.int64)

    @property
    def modulus(self) -> int:
        return int(self._prime[0])

    def open(self) -> None:
        self.check_live()
        among = self._recipe.primes
        self._prime[0] = among[int(self._noise.uniform(len(among), 1)[0])]
        super().open()

    def _close(self, beta: float) -> Estimate:
        error = self._recipe.error_given(self.modulus, self._offsets())
        nonzero = int(np.count_nonzero(self._table))
        noisy = nonzero + only(self._noise.laplace(error.scale, 1))
        return error.estimate(error.fraction(noisy), beta)

    def _table_parts(self) -> tuple[IntArray, ...]:
        return (*super()._table_parts(), self._prime)
