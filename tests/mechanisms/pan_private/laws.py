"""The law of what a program draws and does, in base e: every tape in turn, weighed in floats.

``noise.enumeration`` is exact but in base 2; the known losses of these mechanisms are in base
e.  Laplace draws are cut at a window, without folding: outcomes that need a draw beyond it
have too little weight, and ``loss`` is told to leave them out.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import cache
from typing import ClassVar, TypeVar

import numpy as np

from ameles.core.guarantee import Neighbours
from ameles.core.noise import Noise, Shape
from ameles.mechanisms.pan_private.biased_bits import Bits, biased_bits
from ameles.noise.arrays import BoolArray, IntArray
from ameles.noise.coin import count_of

Outcome = TypeVar("Outcome", bound=Hashable)


class TooDeep(Exception):
    """A tape that is longer than asked for."""


@cache
def _laplace(scale: Fraction, window: int) -> list[tuple[int, float]]:
    q = math.exp(-1 / scale)
    return [(k, (1 - q) / (1 + q) * q ** abs(k)) for k in range(-window, window + 1)]


class Branching:
    """Follows the choices it is given, then the first option of every further draw."""

    genuine: ClassVar[bool] = False
    forgetful: ClassVar[bool] = True

    def __init__(self, given: Sequence[int], window: int, longest: int) -> None:
        self._given = given
        self._window = window
        self._longest = longest
        self.choices: list[int] = []
        self.options: list[int] = []
        self.chance = 1.0

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        return self._draw(_laplace(scale, self._window), size)

    def gaussian(self, variance: Fraction, size: Shape) -> IntArray:
        raise NotImplementedError

    def bernoulli(self, p: Fraction, size: Shape) -> BoolArray:
        return self._draw([(0, float(1 - p)), (1, float(p))], size).astype(np.bool_)

    def bernoulli_exp(self, gamma: Fraction, size: Shape) -> BoolArray:
        p = math.exp(-gamma)
        return self._draw([(0, 1 - p), (1, p)], size).astype(np.bool_)

    def uniform(self, n: int, size: Shape) -> IntArray:
        return self._draw([(i, 1 / n) for i in range(n)], size)

    def choose(self, gammas: Sequence[Fraction]) -> int:
        weights = [math.exp(-gamma) for gamma in gammas]
        return int(self._draw([(i, w / sum(weights)) for i, w in enumerate(weights)], 1)[0])

    def pick(self, penalties: IntArray, rate: Fraction, weights: IntArray | None = None) -> int:
        raise NotImplementedError

    def accept(self, penalties: IntArray, rate: Fraction) -> BoolArray:
        raise NotImplementedError

    def truncated_laplace(self, scale: Fraction, within: int, size: Shape) -> IntArray:
        raise NotImplementedError

    def _draw(self, weighted: list[tuple[int, float]], size: Shape) -> IntArray:
        drawn = []
        for _ in range(count_of(size)):
            place = len(self.choices)
            if place == self._longest:
                raise TooDeep
            choice = self._given[place] if place < len(self._given) else 0
            value, chance = weighted[choice]
            self.choices.append(choice)
            self.options.append(len(weighted))
            self.chance *= chance
            drawn.append(value)
        return np.array(drawn, dtype=np.int64).reshape(size)


def law_of(
    program: Callable[[Noise], Outcome], *, window: int = 30, longest: int = 1000
) -> dict[Outcome, float]:
    """The weight of each outcome; tapes beyond ``longest`` draws are left out."""
    law: defaultdict[Outcome, float] = defaultdict(float)
    choices: list[int] = []
    while True:
        noise = Branching(choices, window, longest)
        try:
            outcome = program(noise)
            law[outcome] += noise.chance
        except TooDeep:
            pass
        choices = noise.choices
        while choices and choices[-1] + 1 == noise.options[len(choices) - 1]:
            choices.pop()
        if not choices:
            return dict(law)
        choices[-1] += 1


def normalised(law: dict[Outcome, float]) -> dict[Outcome, float]:
    total = math.fsum(law.values())
    return {outcome: weight / total for outcome, weight in law.items()}


def loss(
    one: dict[Outcome, float],
    other: dict[Outcome, float],
    *,
    among: Callable[[Outcome], bool] = lambda _: True,
) -> float:
    """The largest logarithm of a ratio of probabilities, infinite where one is zero."""
    worst = 0.0
    for outcome in one.keys() | other.keys():
        p, q = one.get(outcome, 0.0), other.get(outcome, 0.0)
        if among(outcome) and p != q:
            worst = max(worst, abs(math.log(p / q)) if p and q else math.inf)
    return worst


def chosen_bits(noise: Noise, relation: Neighbours, epsilon: Fraction, count: int) -> Bits:
    """The law of ``biased_bits`` in one draw of two options each, to enumerate many of them."""
    if relation is Neighbours.USER_SUBSTITUTION:
        drawn = [noise.choose([epsilon, Fraction(0)]) for _ in range(count)]
        return np.array(drawn, dtype=np.uint8)
    return biased_bits(noise, relation, epsilon, count)
