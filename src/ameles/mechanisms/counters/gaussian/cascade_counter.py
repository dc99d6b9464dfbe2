"""What counters for a known length with a cascade of buffers share: rates, grid, sensitivity."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from ameles.accounting.interval import Interval
from ameles.core.parameters import Horizon, Whole
from ameles.mechanisms.counters.gaussian.cascade import Cascade
from ameles.mechanisms.counters.gaussian.cascade_process import Levels, largest_walk
from ameles.mechanisms.counters.gaussian.encoded import EncodedCounter, Encoding, fine_bits, root_up
from ameles.noise.arrays import IntArray


class Buffers(Whole):
    """How many buffers a counter has."""

    def __init__(self) -> None:
        super().__init__(2, 6, 6)


@dataclass(frozen=True, kw_only=True)
class CascadeCounter(EncodedCounter):
    """A counter whose noise goes through a cascade of buffers, for a stream of known length."""

    least_bits: ClassVar[int] = 0  # of the grid

    horizon: Horizon = Horizon()
    buffers: Buffers = Buffers()

    @staticmethod
    @abstractmethod
    def squared_norm(cascade: Cascade, horizon: int, contributions: int) -> Interval:
        """A bound on the squared L2 norm of that many columns of the encoder."""

    @property
    def steps(self) -> int:
        """The horizon."""
        return self.horizon

    @property
    def cascade(self) -> Cascade:
        """The best rates for this horizon, as exact fractions."""
        return Cascade.near(self.horizon, self.buffers)

    @property
    def encoding(self) -> Encoding:
        """The grid and the noise."""
        change, rounding = self._sensitivity(self.cascade)
        bits = cascade_bits(self.horizon, change, rounding, self.spend, least=self.least_bits)
        return self.encoding_with(self.cascade, bits)

    def encoding_with(self, cascade: Cascade, bits: int) -> Encoding:
        """The encoding by these rates on the grid of 2^-bits."""
        change, rounding = self._sensitivity(cascade)
        return Encoding.of(change=change, rounding=rounding, bits=bits, rho=self.spend)

    @property
    def allowance(self) -> Fraction:
        """What the roundings of all sections can add; see ``cascade``."""
        return self._sensitivity(self.cascade)[1]

    def levels(self, state: IntArray | None) -> Levels:
        """The buffers of a run, from its state; a run keeps the rates that it began with."""
        if state is None:
            return Levels.start(self.cascade, self.encoding.bits, self.columns)
        return Levels.read(state, self.buffers, self.columns)

    def _sensitivity(self, cascade: Cascade) -> tuple[Fraction, Fraction]:
        """By how much one unit and the roundings after it move the encoding, in L2."""
        column = _norm(type(self), cascade, self.horizon, self.contributions)
        return self.bound * column, cascade.rounding * root_up(self.horizon * self.touched)


@lru_cache(maxsize=256)  # a run asks again and again, and roots of fractions are slow
def _norm(
    kind: type[CascadeCounter], cascade: Cascade, horizon: int, contributions: int
) -> Fraction:
    return root_up(kind.squared_norm(cascade, horizon, contributions))


def cascade_bits(
    horizon: int, change: Fraction, rounding: Fraction, rho: Fraction, *, least: int = 0
) -> int:
    """The s of the grid on which the running sum of the noise fits into words."""
    walk = largest_walk(float(change) ** 2 / (2 * float(rho)), horizon)
    return fine_bits(change=change, rounding=rounding, largest=walk, least=least)
