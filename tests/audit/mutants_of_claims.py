"""Counters that are right for other neighbours than they claim: the norm, the keys, the width."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ameles.core.guarantee import Norm
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.mechanisms.counters.gaussian.toeplitz import ToeplitzCounter
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.local import RandomizedResponseCounter
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class LengthForSum(SimpleOneCounter):
    """Laplace noise for changes that are bounded in L1, sold for those bounded in L2."""

    norm: ClassVar[Norm] = Norm.L2


@dataclass(frozen=True, kw_only=True)
class SquareForSum(SimpleOneCounter):
    """The same, sold for changes whose squared length is at most the square of L1's."""

    norm: ClassVar[Norm] = Norm.SQUARED

    @property
    def scale(self) -> Any:
        return super().scale / self.bound * self.bound.bit_length()


@dataclass(frozen=True, kw_only=True)
class EachForSum(SimpleOneCounter):
    """The same, sold for changes of all keys at once."""

    norm: ClassVar[Norm] = Norm.MAX


@dataclass(frozen=True, kw_only=True)
class EachForLength(ToeplitzCounter):
    """Gaussian noise for one key, sold for changes of all keys at once."""

    norm: ClassVar[Norm] = Norm.MAX


@dataclass(frozen=True, kw_only=True)
class CoinsForEach(RandomizedResponseCounter):
    """Coins for one bit, sold for one bit of every key."""

    norm: ClassVar[Norm] = Norm.MAX


@dataclass(frozen=True, kw_only=True)
class UnitsForNumbers(SimpleOneCounter):
    """Says how often a sensitivity may be used, and not which."""

    norm: ClassVar[Norm] = Norm.DECLARED


@dataclass(frozen=True, kw_only=True)
class LessForVectors(SimpleOneCounter):
    """Has the same noise for any width, and promises less for a vector."""

    @property
    def loss(self) -> Pure:
        return Pure(Fraction(self.epsilon) / (1 if self.width is None else 2))

    @property
    def scale(self) -> Any:
        return self.horizon * self.contributions * self.bound / Fraction(self.epsilon)


class _Twisted:
    """Three draws a key, in sums whose shifts for two steps point to opposite sides in part."""

    weights = np.array([[0, 1, 1], [0, 1, 2], [1, 0, 0]])  # rows: steps, columns: draws

    def __init__(self, recipe: Any, noise: Noise, state: IntArray | None) -> None:
        self._recipe, self._noise = recipe, noise
        kept = np.zeros(1, np.int64) if state is None else state
        self._t, self._drawn = int(kept[0]), kept[1:].reshape(-1, recipe.columns)

    def take(self, n: int) -> IntArray:
        if n and not len(self._drawn):
            self._drawn = self._noise.laplace(self._recipe.scale, (3, self._recipe.columns))
        self._t += n
        taken: IntArray = self.weights[self._t - n : self._t] @ self._drawn
        return taken if n else np.empty((0, self._recipe.columns), np.int64)

    def state(self) -> IntArray:
        return np.concatenate([[self._t], self._drawn.ravel()])


@dataclass(frozen=True, kw_only=True)
class TwistedSums(SimpleOneCounter):
    """Noise for the worst two steps of one key; two steps of two keys are worse."""

    @property
    def scale(self) -> Fraction:
        return 4 / Fraction(self.epsilon)

    def process(self, noise: Noise, state: IntArray | None) -> Any:
        return _Twisted(self, noise, state)


NOISE: dict[str, Any] = {"epsilon": 1, "horizon": 4}
WIDE: dict[str, Any] = {**NOISE, "width": 3}
TWO_OF_THREE: dict[str, Any] = {"epsilon": 1, "horizon": 3, "contributions": 2}

# Over four steps the audit refutes these, with the loss and with what it says.
REFUTED: dict[str, tuple[AnyMechanism, Fraction | None, str]] = {
    "noise for L1 under a claim for L2": (LengthForSum(**WIDE, bound=5), None, "3 keys at once"),
    "noise for L1 under a claim for squared L2": (
        SquareForSum(epsilon=1, horizon=4, width=4, bound=100),
        None,
        "4 keys at once",
    ),
    "noise for L1 under a claim for each key": (EachForSum(**WIDE), Fraction(3), "3 keys at once"),
    "Gaussian noise for one key under a claim for each": (
        EachForLength(rho=1, horizon=4, width=3),
        None,
        "3 keys at once",
    ),
    "coins for one bit under a claim for each key": (
        CoinsForEach(epsilon=1, width=3),
        None,
        "3 keys at once",
    ),
    "noise for two steps of one key": (
        TwistedSums(**TWO_OF_THREE, width=2),
        Fraction(5, 4),
        "in another key",
    ),
}
SENSITIVITIES = UnitsForNumbers(**NOISE)
LESS_FOR_VECTORS = LessForVectors(**WIDE)
