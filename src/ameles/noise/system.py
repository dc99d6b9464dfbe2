"""The noise of production: exact laws, the operating system's randomness.

>>> System().laplace(Fraction(10), (2, 3)).shape
(2, 3)
>>> System.direct().forgetful
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeGuard

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.noise import Shape
from ameles.core.parameters import refuse, whole
from ameles.noise import coin, kernels, selection
from ameles.noise.arrays import BoolArray, IntArray
from ameles.noise.blocks import Blocks, gaussian_blocks, laplace_blocks
from ameles.noise.enclosure import exp_minus, rational
from ameles.noise.entropy import Entropy, Keystream, OperatingSystem
from ameles.noise.sampler import Looks, NumpyLooks, Sampler

# Below this many numbers, loading and calling compiled code costs more than it saves.
WORTH_COMPILING = 1 << 14
SCALE_BITS = 100  # scales are from 2**-100 to 2**100


class System:
    """Real noise: exact draws from the operating system, by default through a keystream.

    ``compiled`` says whether large requests use the compiled kernels: by default if numba
    is installed.  The law is the same either way.
    """

    def __init__(self, *, entropy: Entropy | None = None, compiled: bool | None = None) -> None:
        if compiled:
            kernels.require()
        self._entropy = Keystream() if entropy is None else entropy
        self._compiled = kernels.available() if compiled is None else compiled

    @classmethod
    def direct(cls) -> System:
        """Draws straight from the operating system, with nothing kept: for state that may be
        seized."""
        return cls(entropy=OperatingSystem())

    @property
    def genuine(self) -> bool:
        """Whether the randomness is the operating system's."""
        return self._entropy.genuine

    @property
    def forgetful(self) -> bool:
        """Whether nothing in memory reveals past or future draws."""
        return self._entropy.forgetful

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        """Discrete Laplace: k with probability proportional to exp(-|k| / scale)."""
        return self._draw(laplace_blocks(positive(scale, "scale")), size)

    def gaussian(self, variance: Fraction, size: Shape) -> IntArray:
        """Discrete Gaussian: k with probability proportional to exp(-k**2 / (2 variance))."""
        return self._draw(gaussian_blocks(positive(variance, "variance")), size)

    def bernoulli(self, p: Fraction, size: Shape) -> BoolArray:
        """Coins that are true with probability p."""
        return coin.flips(self._entropy, rational(probability(p)), size)

    def bernoulli_exp(self, gamma: Fraction, size: Shape) -> BoolArray:
        """Coins that are true with probability exp(-gamma), gamma >= 0."""
        gamma = penalty(gamma)
        return coin.flips(self._entropy, lambda bits: exp_minus(gamma, bits), size)

    def uniform(self, n: int, size: Shape) -> IntArray:
        """Uniform integers from 0 to n - 1."""
        return coin.uniform(self._entropy, whole(n, "n", low=1, high=1 << 63), size)

    def choose(self, gammas: Sequence[Fraction]) -> int:
        """An index i with probability proportional to exp(-gammas[i])."""
        return coin.choose(self._entropy, candidates(gammas))

    def pick(self, penalties: IntArray, rate: Fraction, weights: IntArray | None = None) -> int:
        """An index i with probability proportional to weights[i] * exp(-rate * penalties[i])."""
        given, measure = weighed(penalties, weights)
        return selection.pick(self._entropy, given, positive(rate, "rate"), measure)

    def accept(self, penalties: IntArray, rate: Fraction) -> BoolArray:
        """Coins that are true with probability exp(-rate * penalty), penalties >= 0."""
        return selection.accept(self._entropy, fined(penalties), positive(rate, "rate"))

    def truncated_laplace(self, scale: Fraction, within: int, size: Shape) -> IntArray:
        """Discrete Laplace without its tails: what is beyond ``within`` is drawn again."""
        most = truncation(within, positive(scale, "scale"))
        drawn = self.laplace(scale, size)
        flat = drawn.reshape(-1)
        while (beyond := np.flatnonzero((flat < -most) | (flat > most))).size:
            flat[beyond] = self.laplace(scale, beyond.size)
        return drawn

    def _draw(self, blocks: Blocks, size: Shape) -> IntArray:
        count = coin.count_of(size)
        looks: Looks = NumpyLooks()
        if self._compiled and count >= WORTH_COMPILING:
            looks = kernels.CompiledLooks()
        return Sampler(self._entropy, looks).draw(blocks, count).reshape(size)


def is_exact(number: object) -> TypeGuard[int | Fraction]:
    """Whether a number is one that arithmetic keeps exact."""
    return isinstance(number, int | Fraction) and not isinstance(number, bool)


def positive(number: object, name: str) -> Fraction:
    """A scale or a variance: exact, above zero, and not so large that all noise wraps."""
    if not is_exact(number):
        raise refuse(name, "an exact number: an int or a Fraction", number)
    top, bottom = number.numerator, number.denominator
    if bottom > top << SCALE_BITS or top > bottom << SCALE_BITS:
        raise refuse(name, "above 0, from 2**-100 to 2**100", number)
    return number if isinstance(number, Fraction) else Fraction(number)


def truncation(within: int, scale: Fraction) -> int:
    """The largest absolute value of truncated noise: at least the scale.

    Then at most every third draw is beyond it, and has to be drawn again.
    """
    return whole(within, "within", low=max(1, math.ceil(scale)), high=1 << 62)


def probability(p: object) -> Fraction:
    """A probability: exact, from 0 to 1."""
    if not is_exact(p) or not 0 <= p <= 1:
        raise refuse("p", "an exact probability: a Fraction from 0 to 1", p)
    return Fraction(p)


def penalty(gamma: object) -> Fraction:
    """Minus the logarithm of a probability: exact, zero or more."""
    if not is_exact(gamma) or gamma < 0:
        raise refuse("gamma", "an exact number: a Fraction of zero or more", gamma)
    return Fraction(gamma)


def candidates(gammas: Sequence[Fraction]) -> Sequence[Fraction]:
    """The penalties to choose by: at least one, all exact."""
    if not gammas:
        raise BadInput("There must be at least one candidate to choose from. Got none.")
    if not all(is_exact(gamma) for gamma in gammas):
        raise BadInput("The 'gammas' to choose by must be exact numbers: ints or Fractions.")
    return gammas


# Weights are 64-bit integers; their sum as well, if there are fewer than 2**31 of them.
LARGEST_WEIGHT = 1 << 62


def weighed(penalties: IntArray, weights: IntArray | None) -> tuple[IntArray, IntArray | None]:
    """The penalties and the weights to pick by: at least one, and as many of each."""
    given = integers(penalties, "penalties")
    if not given.size:
        raise BadInput("There must be at least one candidate to pick from. Got none.")
    if weights is None:
        return given, None
    measure = integers(weights, "weights")
    if measure.shape != given.shape or not (measure.min() >= 1 and measure.max() < LARGEST_WEIGHT):
        raise BadInput(
            "There must be one weight for each candidate, a whole number from 1 to below 2**62."
        )
    return given, measure


def fined(penalties: IntArray) -> IntArray:
    """The penalties of coins: none below zero."""
    given = integers(penalties, "penalties")
    if given.size and given.min() < 0:
        raise BadInput("The 'penalties' of coins must be zero or more.")
    return given


def integers(numbers: object, name: str) -> IntArray:
    """A list of 64-bit integers, as an array."""
    if not isinstance(numbers, np.ndarray) or numbers.dtype != np.int64 or numbers.ndim != 1:
        raise BadInput(f"The '{name}' must be a one-dimensional array of 64-bit integers.")
    return numbers
