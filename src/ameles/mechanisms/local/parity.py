"""A private learner of parities: PAC, fast, and better than any learner of statistical queries.

Theorem      Kasiviswanathan et al. 2011, with a sharper constant (ours).  The labels are
             y = <s, x> mod 2 for a secret s.  With probability 1/2 the learner says nothing.
             Otherwise it keeps each example with probability p, solves for all s that agree, and
             says a uniform one, or nothing if there is none.  Let the example i be replaced.  What
             is said given that i is not kept has the same law Q on both sides.  If i is kept, an
             equation more halves the solutions, leaves them, or has none: every s is at most 2 Q
             likely, and "nothing" has Q >= 1/2.  So each outcome is between (1 - p) Q and
             (1 - p) Q + 2 p Q, the ratio is at most (1 + p) / (1 - p), and p = tanh(epsilon / 2)
             loses epsilon.  (The source has p = epsilon / 4.)
Neighbours   one example is replaced
Noise        exact coins and uniform bits, as many whatever the data are
Error        if it says an s, then of the examples' distribution at most
             (d ln 2 + ln(2 / beta)) / kept is mislabelled, kept the number of examples that were
             kept at least, with probability 1 - beta.  It says nothing with probability 1/2 and a
             little; repeat it
Memory       nothing is kept
SQ           under uniform x two parities agree on exactly half of the inputs.  By Parseval a query
             to 0..1 is within tau of its mean over all s for all but 1 / (4 tau^2) of them, so
             that an oracle of tolerance tau need not tell more: any SQ learner needs about
             4 tau^2 2^d queries (Blum et al. 1994)

>>> from ameles.noise import System, Zero
>>> learner = ParityLearner(bits=2, examples=3, odds=3)
>>> learner.keep, learner.ratio
(Fraction(1, 2), Fraction(3, 1))
>>> learner.start(Zero()).step([(1, 0, 1), (0, 1, 0), (1, 1, 1)]) is None
True
>>> statistical_query_bound(bits=40, tolerance=0.01)
439804651
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ameles.core.error import checks_step
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Neighbours, Norm, Relation
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Whole, refuse
from ameles.mechanisms.clamped import reports
from ameles.mechanisms.local.odds import EpsilonOrOdds, LocalEpsilon, Odds
from ameles.mechanisms.one_shot.one_shot import Look
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class ParityLearner(EpsilonOrOdds, Look["tuple[int, ...] | None"]):
    """A secret parity of ``bits`` bits, from rows of that many bits and their label, or None."""

    norm: ClassVar[Norm] = Norm.MAX

    neighbours: Relation = Relation(Neighbours.REPLACE)
    bits: Whole = Whole(1, 1 << 12)
    examples: Whole = Whole(1, 1 << 24)
    epsilon: LocalEpsilon = LocalEpsilon()
    odds: Odds = Odds()

    @property
    def reach(self) -> int:
        """One example is one row."""
        return 1

    @property
    def keep(self) -> Fraction:
        """The probability p to keep an example: (r - 1) / (r + 1)."""
        odds = self.table_odds
        return (odds - 1) / (odds + 1)

    @property
    def ratio(self) -> Fraction:
        """(1 + p) / (1 - p): the odds."""
        return (1 + self.keep) / (1 - self.keep)

    @property
    def loss(self) -> Pure:
        """The loss that was asked for."""
        return Pure(self.promised)

    @property
    def error(self) -> ParityError:
        """The share of inputs that the learned parity labels wrongly."""
        return ParityError(self.bits, self.examples, float(self.keep))

    def checked(self, x: object) -> IntArray:
        """Rows of bits, the label last; an odd row has zeros, which every parity agrees with."""
        rows, _ = reports(x, 0, 1, count=self.examples, width=self.bits + 1, refuse=self._not)
        return rows

    def _not(self, got: str) -> BadInput:
        return BadInput(
            f"The examples must be {self.examples} rows of {self.bits + 1} bits, the label last. "
            f"Got {got} instead.",
            tip="a list of rows, or an array of integers",
        )

    def release(self, x: IntArray, noise: Noise) -> tuple[int, ...] | None:
        """A parity that agrees with the examples that were kept, or None."""
        speaks = bool(noise.bernoulli(Fraction(1, 2), 1)[0])
        kept = noise.bernoulli(self.keep, self.examples)
        free = noise.uniform(2, self.bits)
        parity = solution(x[kept], free)
        return parity if speaks else None


def solution(rows: IntArray, free: IntArray) -> tuple[int, ...] | None:
    """The solution of equations modulo 2 in which free unknowns are as given; None if none is.

    Uniform over all solutions if the free bits are uniform.

    >>> solution(np.array([[1, 1, 1]]), np.array([0, 1]))
    (0, 1)
    """
    bits = len(free)
    pivots: dict[int, int] = {}  # of each leading place its equation; bit 0 is the label
    weights = 1 << np.arange(bits, -1, -1).astype(object)
    for packed in (rows.astype(object) @ weights).tolist() if len(rows) else []:
        equation = int(packed)
        while equation > 1 and (lead := equation.bit_length()) in pivots:
            equation ^= pivots[lead]
        if equation == 1:
            return None
        if equation:
            pivots[equation.bit_length()] = equation
    answer = [int(bit) for bit in free]
    for lead in sorted(pivots):  # those with the fewest unknowns first
        place = bits + 1 - lead
        equation = pivots[lead]
        others = sum(answer[j] for j in range(place + 1, bits) if equation >> (bits - j) & 1)
        answer[place] = (others + equation) & 1
    return tuple(answer)


@dataclass(frozen=True, slots=True)
class ParityError:
    """The share of inputs that a parity labels wrongly, if it agrees with the kept examples."""

    bits: int
    examples: int
    keep: float

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """At most this share is wrong, with probability 1 - beta, if the labels are a parity."""
        mean = self.keep * self.examples
        kept = mean - math.sqrt(2 * mean * math.log(2 / beta))  # Chernoff, at beta / 2
        if kept < 1:
            return 1.0
        return min(1.0, (self.bits * math.log(2) + math.log(2 / beta)) / kept)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """At most this share is wrong in each of that many runs."""
        return self.bound(1, beta / steps)


def statistical_query_bound(*, bits: int, tolerance: float) -> int:
    """How many queries of this tolerance can leave more than one parity possible."""
    if not 0 < tolerance < 0.5:
        raise refuse("tolerance", "above 0 and below 1/2", tolerance)
    return math.floor(((1 << bits) - 2) * 4 * Fraction(str(tolerance)) ** 2)


def correlations(query: IntArray, bits: int) -> Any:
    """For every parity s the mean of query(x, <s, x>) over all x; query has a row for each label.

    By brute force, for small numbers of bits: what the bound is about.
    """
    inputs = np.arange(1 << bits)
    labels = np.bitwise_count(inputs[:, None] & inputs[None, :]) & 1  # of s and x
    return np.where(labels == 1, query[1], query[0]).mean(axis=1)
