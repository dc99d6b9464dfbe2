"""Toeplitz counter: the square root of the prefix sums, the best factorisation of its kind.

Theorem      Fichtenberger-Henzinger-Upadhyay 2023: with c_0 = 1, c_j = c_(j-1) (2j-1) / 2j the
             Toeplitz matrix of c is its own partner, C C = A; ``encoded`` makes it exact
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Gaussian on a grid of 2^-s counts, variance S_T bound^2 / (2 rho) counts^2
             for one contribution, S_t = the sum of c_j^2 over j < t
Error        standard deviation sqrt(S_t S_T) sigma: at T = 2^16 worst 4.60 sigma, 1.086 times
             the lower bound for any factorisation
Memory       T integers per counter: all noises are kept, and a step adds up t of them

Horizons end at 2^16: beyond, ``BufferedCounter`` is as accurate with a few integers.

Coefficients are rounded to 2^-30, except for c_0 = 1, and the dot products are exact.  If the
rounding changes B by E, then C becomes (1 + B^-1 E)^-1 C: norms grow by at most 1 / (1 - k),
where k = 2 sum of |E_j|, since the coefficients of B^-1 = (1 - z)^(1/2) add up to at most 2 in
absolute value.  (1 - z) C is this same B^-1, so the roundings of the releases, one each, add
2 sqrt(T K) / (1 - k) units to the sensitivity.

For m contributions the worst case is the first m steps, all changed in one direction: the
Gram matrix G(s, s + d) = sum over j < T - s - d of c_j c_(j+d), s counted from 0, has no
negative entry and falls with s and with d, because c falls; of any m steps the i-th is not
before step i, and the i-th and the l-th are at least |i - l| apart.

>>> from ameles.noise import Zero
>>> run = ToeplitzCounter(epsilon=1, delta=1e-6, horizon=8).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.core.parameters import Whole
from ameles.mechanisms.counters.gaussian.encoded import (
    DEVIATIONS,
    EncodedCounter,
    Encoding,
    fine_bits,
    root_up,
    rounded,
)
from ameles.mechanisms.counters.summed import Process
from ameles.noise.arrays import IntArray

LONGEST = 1 << 16
MOST_NUMBERS = 1 << 27
# Coefficients have 30 bits, in two halves whose dot products fit into 64.
COEFFICIENT = 30
HALF = 15
PRECISION = 96


@dataclass(frozen=True, kw_only=True)
class ToeplitzCounter(EncodedCounter):
    """Counts with the noise of the square-root factorisation."""

    horizon: Whole = Whole(1, LONGEST)

    def __post_init__(self) -> None:
        if self.horizon * self.columns > MOST_NUMBERS:
            raise BadInput(
                f"A ToeplitzCounter keeps all its noise: {self.horizon} times {self.columns} "
                f"numbers. At most {MOST_NUMBERS} are allowed.",
                tip="a BufferedCounter, which keeps a few for each counter",
            )
        super().__post_init__()

    @property
    def steps(self) -> int:
        """The horizon."""
        return self.horizon

    @property
    def filter(self) -> SquareRoot:
        """The square root of the prefix sums."""
        return square_root(self.horizon)

    @property
    def encoding(self) -> Encoding:
        """The grid and the noise."""
        change, rounding = self._sensitivity
        deviation = float(change) / math.sqrt(2 * float(self.spend))
        # what adds up to the largest numbers: half a coefficient's bits, or a count's few
        largest = DEVIATIONS * deviation * math.sqrt(self.horizon) * (1 << HALF)
        return self.encoding_with(fine_bits(change=change, rounding=rounding, largest=largest))

    def encoding_with(self, bits: int) -> Encoding:
        """The encoding on the grid of 2^-bits."""
        change, rounding = self._sensitivity
        return Encoding.of(change=change, rounding=rounding, bits=bits, rho=self.spend)

    @property
    def _sensitivity(self) -> tuple[Fraction, Fraction]:
        growth = 1 / (1 - self.filter.perturbation)
        change = self.bound * root_up(self.filter.squared_norm(self.contributions))
        return change * growth, 2 * root_up(self.horizon * self.touched) * growth

    @property
    def allowance(self) -> Fraction:
        """Two units for each step, in L2."""
        return self._sensitivity[1]

    @property
    def memory(self) -> int:
        """All noises, the exact sum, the noise taken ahead, and the grid."""
        return self.columns * (1 + self.ahead + self.horizon) + 2

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return ToeplitzProcess(self, noise, state)


class ToeplitzProcess:
    """All noises so far; the next release is a dot product with them."""

    def __init__(self, recipe: ToeplitzCounter, noise: Noise, state: IntArray | None) -> None:
        self._noise = noise
        # The audit resumes with integers that have no end, in order to see the filter exactly.
        kind = np.int64 if state is None else state.dtype
        self._noises = np.zeros((recipe.horizon, recipe.columns), dtype=kind)
        self._t = 0
        encoding = recipe.encoding
        if state is not None:
            encoding = recipe.encoding_with(int(state[0]))  # the grid that the run began with
            past = state[1:].reshape(-1, recipe.columns)
            self._t = len(past)
            self._noises[: self._t] = past
        self._encoding = encoding
        reversed_ = recipe.filter.coefficients[::-1]
        self._high = reversed_ >> HALF
        self._low = reversed_ & ((1 << HALF) - 1)

    def state(self) -> IntArray:
        return np.concatenate([[self._encoding.bits], self._noises[: self._t].reshape(-1)])

    def take(self, n: int) -> IntArray:
        return rounded(self.encode(n), self._encoding.bits)

    def encode(self, n: int) -> IntArray:
        """The noise of the next ``n`` encoded values, in units of the grid."""
        horizon, columns = self._noises.shape
        fresh = self._noise.gaussian(self._encoding.variance, (n, columns))
        self._noises[self._t : self._t + n] = fresh
        releases = np.empty((n, columns), dtype=self._noises.dtype)
        for row in releases:
            self._t += 1
            past = self._noises[: self._t]
            low = self._low[horizon - self._t :] @ past
            low >>= HALF
            np.matmul(self._high[horizon - self._t :], past, out=row)
            row += low
        releases >>= COEFFICIENT - HALF
        return releases


@dataclass(frozen=True, eq=False)
class SquareRoot:
    """The coefficients of the square root: lower bounds, exact to 2^-96 each step."""

    horizon: int

    @cached_property
    def lower(self) -> list[int]:
        """In units of 2^-96: the true c_j is above by at most j."""
        coefficients = [1 << PRECISION]
        for j in range(1, self.horizon):
            coefficients.append(coefficients[-1] * (2 * j - 1) // (2 * j))
        return coefficients

    @cached_property
    def coefficients(self) -> IntArray:
        """Rounded to the grid of 2^-30."""
        cut = PRECISION - COEFFICIENT
        return np.array([(c + (1 << cut - 1)) >> cut for c in self.lower], dtype=np.int64)

    @cached_property
    def perturbation(self) -> Fraction:
        """k of the module's text."""
        cut = PRECISION - COEFFICIENT
        pairs = zip(self.lower, self.coefficients.tolist(), strict=True)
        off = sum(abs((b << cut) - c) + j for j, (c, b) in enumerate(pairs))
        return Fraction(2 * off, 1 << PRECISION)

    def squared_norm(self, contributions: int) -> Fraction:
        """An upper bound on the squared L2 norm of the sum of the first m columns."""
        return _squared_norm(self, min(contributions, self.horizon))

    @cached_property
    def gains(self) -> NDArray[np.float64]:
        """The sums of b_j^2, for the rounded coefficients."""
        return np.cumsum(np.ldexp(self.coefficients.astype(np.float64), -COEFFICIENT) ** 2)

    def gain(self, t: int) -> float:
        return float(self.gains[t - 1])

    def mean_gain(self, steps: int) -> float:
        return float(self.gains[:steps].mean())

    @property
    def slack(self) -> float:
        return 1.0


@lru_cache(maxsize=16)
def square_root(horizon: int) -> SquareRoot:
    """The coefficients, computed once for each horizon."""
    return SquareRoot(horizon)


@lru_cache(maxsize=256)
def _squared_norm(root: SquareRoot, m: int) -> Fraction:
    upper = [c + j for j, c in enumerate(root.lower)]
    total = window = 0
    for t, c in enumerate(upper):
        window += c - (upper[t - m] if t >= m else 0)
        total += window * window
    return Fraction(total, 1 << 2 * PRECISION)
