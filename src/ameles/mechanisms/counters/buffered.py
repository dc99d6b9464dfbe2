"""Buffered counter: nearly the least error of any factorisation, from a few buffers.

Theorem      Dvijotham-McMahan-Pillutla-Steinke-Thakurta 2024: a Toeplitz encoder that is a sum
             of a few decaying powers comes close to the square root of the prefix sums; ``encoded``
             and ``cascade`` make it exact, with binary fractions that the code certifies
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Gaussian on a grid of 2^-s counts; its variance is the squared norm of the
             encoder's first columns, with what roundings can add, over 2 rho
Error        at T = 2^20 worst 5.56 sigma with 4 buffers and 5.49 with 6: 1.09 and 1.07 times
             the lower bound for any factorisation
Memory       one integer per buffer, two sums, and up to 1024 noise values taken ahead

Rates are found by ``buffered_optimum`` in well under a second.  A run keeps the rates that it
began with in its snapshots, because another machine's floats might round to others.

>>> from ameles.noise import Zero
>>> run = BufferedCounter(epsilon=1, delta=1e-6, horizon=8).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from ameles.core.noise import Noise
from ameles.core.parameters import Horizon, Whole
from ameles.mechanisms.counters.cascade import NUMBERS, Cascade
from ameles.mechanisms.counters.cascade_process import CascadeProcess, Levels, largest_walk
from ameles.mechanisms.counters.encoded import EncodedCounter, Encoding, fine_bits, root_up
from ameles.mechanisms.counters.summed import Process
from ameles.noise.arrays import IntArray


class Buffers(Whole):
    """How many buffers a counter has."""

    def __init__(self) -> None:
        super().__init__(2, 6, 6)


@dataclass(frozen=True, kw_only=True)
class BufferedCounter(EncodedCounter):
    """Counts with the noise of a buffered Toeplitz factorisation."""

    horizon: Horizon = Horizon()
    buffers: Buffers = Buffers()

    @property
    def steps(self) -> int:
        """The horizon."""
        return self.horizon

    @property
    def filter(self) -> Cascade:
        """The best rates for this horizon, as exact fractions."""
        return Cascade.near(self.horizon, self.buffers)

    @property
    def encoding(self) -> Encoding:
        """The grid and the noise."""
        change, rounding = self._sensitivity(self.filter)
        bits = cascade_bits(self.horizon, change, rounding, self.spend)
        return self.encoding_with(self.filter, bits)

    def encoding_with(self, cascade: Cascade, bits: int) -> Encoding:
        """The encoding by these rates on the grid of 2^-bits."""
        change, rounding = self._sensitivity(cascade)
        return Encoding.of(change=change, rounding=rounding, bits=bits, rho=self.spend)

    def _sensitivity(self, cascade: Cascade) -> tuple[Fraction, Fraction]:
        change, rounding = _sensitivity(cascade, self.horizon, self.contributions, self.touched)
        return self.bound * change, rounding

    @property
    def allowance(self) -> Fraction:
        """What the roundings of all sections can add; see ``cascade``."""
        return self._sensitivity(self.filter)[1]

    @property
    def memory(self) -> int:
        """The exact sum, that of the noise, the buffers, the noise ahead and the rates."""
        return self.columns * (2 + self.ahead + self.buffers) + NUMBERS * self.buffers + 2

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        if state is None:
            levels = Levels.start(self.filter, self.encoding.bits, self.columns)
        else:
            levels = Levels.read(state, self.buffers, self.columns)
        encoding = self.encoding_with(levels.cascade, levels.bits)
        return CascadeProcess(noise, levels, encoding.variance, self.horizon)


@lru_cache(maxsize=256)  # a run asks again and again, and roots of fractions are slow
def _sensitivity(
    cascade: Cascade, horizon: int, contributions: int, touched: int
) -> tuple[Fraction, Fraction]:
    """By how much changes of 1 and the roundings after them move the encoding, in L2."""
    change = root_up(cascade.squared_norm(horizon, contributions))
    return change, cascade.rounding * root_up(horizon * touched)


def cascade_bits(horizon: int, change: Fraction, rounding: Fraction, rho: Fraction) -> int:
    """The s of the grid on which the running sum of the noise fits into words."""
    variance = float(change) ** 2 / (2 * float(rho))
    return fine_bits(change=change, rounding=rounding, largest=largest_walk(variance, horizon))
