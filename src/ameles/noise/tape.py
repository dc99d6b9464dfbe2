"""Noise that a test decides: zeros, a script, an impulse, a recording.

With ``Zero`` a mechanism tells the truth.  With a ``Tape`` every draw has a place, a law
and a scale, so a unit impulse at place i shows column i of the noise matrix, and playing
a recording back shows that two ways to compute a release agree.

>>> tape = Tape([5, -1])
>>> tape.laplace(Fraction(2), 3)
array([ 5, -1,  0])
>>> tape.draws[1]
Draw(law='laplace', scale=Fraction(2, 1), value=-1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, TypeAlias

import numpy as np

from ameles.core.noise import Noise, Shape
from ameles.core.parameters import whole
from ameles.noise.arrays import BoolArray, IntArray
from ameles.noise.coin import count_of
from ameles.noise.enclosure import exp_minus
from ameles.noise.system import (
    candidates,
    fined,
    penalty,
    positive,
    probability,
    truncation,
    weighed,
)


class Zero:
    """No noise: every draw is the likeliest value of its law, so mechanisms tell the truth.

    Of many candidates it picks a best one and accepts the best only.

    >>> Zero().laplace(Fraction(2), 3)
    array([0, 0, 0])
    """

    genuine: ClassVar[bool] = False
    forgetful: ClassVar[bool] = True

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        positive(scale, "scale")
        return _zeros(size)

    def gaussian(self, variance: Fraction, size: Shape) -> IntArray:
        positive(variance, "variance")
        return _zeros(size)

    def bernoulli(self, p: Fraction, size: Shape) -> BoolArray:
        return _zeros(size) < int(probability(p) > Fraction(1, 2))

    def bernoulli_exp(self, gamma: Fraction, size: Shape) -> BoolArray:
        return _zeros(size) < int(exp_minus(penalty(gamma), 64)[0] > 1 << 63)

    def uniform(self, n: int, size: Shape) -> IntArray:
        whole(n, "n", low=1, high=1 << 63)
        return _zeros(size)

    def choose(self, gammas: Sequence[Fraction]) -> int:
        return min(range(len(candidates(gammas))), key=lambda i: gammas[i])

    def pick(self, penalties: IntArray, rate: Fraction, weights: IntArray | None = None) -> int:
        positive(rate, "rate")
        return int(weighed(penalties, weights)[0].argmin())  # whatever the weights are

    def accept(self, penalties: IntArray, rate: Fraction) -> BoolArray:
        positive(rate, "rate")
        accepted: BoolArray = fined(penalties) == 0
        return accepted

    def truncated_laplace(self, scale: Fraction, within: int, size: Shape) -> IntArray:
        truncation(within, positive(scale, "scale"))
        return _zeros(size)


def _zeros(size: Shape) -> IntArray:
    return np.zeros(count_of(size), dtype=np.int64).reshape(size)


Scale: TypeAlias = Fraction | int | tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Draw:
    """One draw on a tape: the law that it was asked from, its parameter, and what it gave."""

    law: str
    scale: Scale
    value: int


class Tape:
    """Noise that a test decides: a script, or another noise, with every draw recorded.

    The script is used first; after it, draws come from ``beyond``, by default ``Zero``.
    Coins are 0 or 1 on the tape; arrays are written row by row.
    """

    genuine: ClassVar[bool] = False
    # A tape remembers everything, but mechanisms that need forgetful noise must be testable too.
    # It is not genuine, which keeps it out of production.
    forgetful: ClassVar[bool] = True

    def __init__(self, script: Sequence[int] = (), *, beyond: Noise | None = None) -> None:
        self._script = script
        self._beyond = Zero() if beyond is None else beyond
        # What was drawn, call by call; single draws are listed when somebody asks for them.
        self._calls: list[tuple[str, Scale, IntArray]] = []
        self._count = 0
        self._listed: list[Draw] = []
        self._calls_listed = 0

    @classmethod
    def impulse(cls, place: int) -> Tape:
        """Zeros except for a one at ``place``, counted from 0."""
        return cls([0] * place + [1])

    @property
    def draws(self) -> list[Draw]:
        """All draws so far, one by one."""
        for law, scale, values in self._calls[self._calls_listed :]:
            self._listed += [Draw(law, scale, value) for value in values.tolist()]
        self._calls_listed = len(self._calls)
        return self._listed

    @property
    def count(self) -> int:
        """How many draws there were so far."""
        return self._count

    @property
    def laws(self) -> list[tuple[str, Scale]]:
        """The law and the scale, or other parameter, of each draw so far."""
        return [(law, scale) for law, scale, values in self._calls for _ in range(values.size)]

    @property
    def values(self) -> list[int]:
        """What was drawn so far: the script with which another tape draws the same."""
        return [value for _, _, values in self._calls for value in values.tolist()]

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        beyond = self._beyond.laplace(scale, size)
        return self._record("laplace", scale, beyond)

    def gaussian(self, variance: Fraction, size: Shape) -> IntArray:
        beyond = self._beyond.gaussian(variance, size)
        return self._record("gaussian", variance, beyond)

    def bernoulli(self, p: Fraction, size: Shape) -> BoolArray:
        beyond = self._beyond.bernoulli(p, size).astype(np.int64)
        return self._record("bernoulli", p, beyond).astype(np.bool_)

    def bernoulli_exp(self, gamma: Fraction, size: Shape) -> BoolArray:
        beyond = self._beyond.bernoulli_exp(gamma, size).astype(np.int64)
        return self._record("bernoulli_exp", gamma, beyond).astype(np.bool_)

    def uniform(self, n: int, size: Shape) -> IntArray:
        return self._record("uniform", n, self._beyond.uniform(n, size))

    def choose(self, gammas: Sequence[Fraction]) -> int:
        beyond = np.array([self._beyond.choose(gammas)])
        return int(self._record("choose", tuple(gammas), beyond)[0])

    def pick(self, penalties: IntArray, rate: Fraction, weights: IntArray | None = None) -> int:
        beyond = np.array([self._beyond.pick(penalties, rate, weights)])
        return int(self._record("pick", rate, beyond)[0])

    def accept(self, penalties: IntArray, rate: Fraction) -> BoolArray:
        beyond = self._beyond.accept(penalties, rate).astype(np.int64)
        return self._record("accept", rate, beyond).astype(np.bool_)

    def truncated_laplace(self, scale: Fraction, within: int, size: Shape) -> IntArray:
        beyond = self._beyond.truncated_laplace(scale, within, size)
        return self._record("truncated_laplace", (scale, Fraction(within)), beyond)

    def _record(self, law: str, scale: Scale, values: IntArray) -> IntArray:
        """Writes what is scripted over ``values`` and all of it onto the tape."""
        scripted = self._script[self._count : self._count + values.size]
        values.reshape(-1)[: len(scripted)] = scripted
        self._calls.append((law, scale, values.flatten()))  # a copy: a run may wipe its own
        self._count += values.size
        return values
