"""Broken counters that are right for lists of integers and for few keys."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.counters.gaussian.encoded import Encoding
from ameles.mechanisms.counters.gaussian.toeplitz import ToeplitzCounter
from ameles.mechanisms.counters.recipe import CounterRun
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.summed import PlainRun, SummedRun
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray
from tests.audit.mutants_of_uses import quietened


class _BareFeeds(PlainRun):
    """Has one noise for a whole feed of some type."""

    def feed(self, xs: Any) -> IntArray:
        releases = super().feed(xs)
        odd = len(releases) and _ODD_FEEDS[type(self._recipe).__name__](xs)
        return quietened(releases, list(xs)) if odd else releases


class _BareSteps(PlainRun):
    """Has no noise for a step of some type."""

    def step(self, x: Any) -> int:
        release = super().step(x)
        return self._sum if _ODD_STEPS[type(self._recipe).__name__](x) else release


class _BareRows(SummedRun):
    def feed(self, xs: Any) -> IntArray:
        releases: IntArray = super().feed(xs)
        if isinstance(xs, tuple):
            releases -= releases[0] - np.asarray(xs[0])
        return releases


@dataclass(frozen=True, kw_only=True)
class _Typed(SimpleOneCounter):
    kind: ClassVar[type[PlainRun]] = _BareFeeds

    def _run(self, state: State, noise: Noise) -> CounterRun:
        return self.kind(self, state, noise) if self.width is None else super()._run(state, noise)


class BareSmallArrays(_Typed):
    """One noise for an array of 32 bits."""


class BareByteArrays(_Typed):
    """One noise for an array of bytes."""


class BareTuples(_Typed):
    """One noise for a tuple."""


class BareRanges(_Typed):
    """One noise for a range."""


class BareViews(_Typed):
    """One noise for a view of memory."""


class BareSmallIntegers(_Typed):
    """No noise for a single integer of 16 bits."""

    kind = _BareSteps


class BareIndices(_Typed):
    """No noise for what can be used as an integer and is none."""

    kind = _BareSteps


class BareClasses(_Typed):
    """No noise for an integer of another class."""

    kind = _BareSteps


def _array_of(kind: str) -> Callable[[Any], bool]:
    return lambda xs: isinstance(xs, np.ndarray) and xs.dtype == kind


_ODD_FEEDS: dict[str, Callable[[Any], bool]] = {
    "BareSmallArrays": _array_of("int32"),
    "BareByteArrays": _array_of("uint8"),
    "BareTuples": lambda xs: isinstance(xs, tuple),
    "BareRanges": lambda xs: isinstance(xs, range),
    "BareViews": lambda xs: isinstance(xs, memoryview),
}
_ODD_STEPS: dict[str, Callable[[Any], bool]] = {
    "BareSmallIntegers": lambda x: isinstance(x, np.int16),
    "BareIndices": lambda x: not isinstance(x, int | np.integer),
    "BareClasses": lambda x: isinstance(x, int) and type(x) is not int,
}


@dataclass(frozen=True, kw_only=True)
class BareTuplesOfRows(SimpleOneCounter):
    """No noise of its own for a tuple of rows."""

    def _run(self, state: State, noise: Noise) -> CounterRun:
        return super()._run(state, noise) if self.width is None else _BareRows(self, state, noise)


@dataclass(frozen=True, kw_only=True)
class QuietFromFive(SimpleOneCounter):
    """A hundredth of the noise from five keys on."""

    @property
    def scale(self) -> Fraction:
        return super().scale / (100 if self.columns >= 5 else 1)


@dataclass(frozen=True, kw_only=True)
class _SharedKeys:
    recipe: SimpleOneCounter
    noise: Noise

    def take(self, n: int) -> IntArray:
        taken = self.noise.laplace(self.recipe.scale, (n, self.recipe.columns))
        taken[:, 999:1000] = taken[:, :1]
        return taken

    def state(self) -> IntArray:
        return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class SharesAtAThousand(SimpleOneCounter):
    """The thousandth key has the noise of the first."""

    def process(self, noise: Noise, state: IntArray | None) -> Any:
        return (
            _SharedKeys(recipe=self, noise=noise)
            if self.columns >= 1000
            else super().process(noise, state)
        )


@dataclass(frozen=True, kw_only=True)
class QuietVectors(ToeplitzCounter):
    """A filter with a hundredth of the variance from five keys on."""

    def encoding_with(self, bits: int) -> Encoding:
        right = super().encoding_with(bits)
        return replace(right, variance=right.variance / (100 if self.columns >= 5 else 1))


FOUR: dict[str, Any] = {"epsilon": 1, "horizon": 4}

# What the audit refutes, with the loss and with what it says.
REFUTED: dict[str, tuple[AnyMechanism, float | Fraction, str]] = {
    "one noise for an array of 32 bits": (
        BareSmallArrays(**FOUR),
        math.inf,
        "feeds of arrays of int32",
    ),
    "one noise for a tuple": (BareTuples(**FOUR), math.inf, "feeds of tuples"),
    "one noise for a memory view": (BareViews(**FOUR), math.inf, "feeds of memory views"),
    "no noise for integers of 16 bits": (BareSmallIntegers(**FOUR), math.inf, "steps with int16"),
    "no noise for what can be an index": (BareIndices(**FOUR), math.inf, "objects with __index__"),
    "no noise for a subclass of int": (BareClasses(**FOUR), math.inf, "subclasses of int"),
    "one noise for a tuple of rows": (BareTuplesOfRows(**FOUR), math.inf, "feeds of tuples"),
    "a hundredth of the noise from five keys on": (
        QuietFromFive(**FOUR),
        Fraction(100),
        "5 keys at once are not 5 counters",
    ),
}
# These refuse the impulses that would show their loss, or have too many keys to solve for it.
NOT_LINEAR: dict[str, tuple[AnyMechanism, str]] = {
    "one noise for an array of bytes": (BareByteArrays(**FOUR), "feeds of arrays of uint8"),
    "one noise for a range": (BareRanges(**FOUR), "feeds of ranges"),
    "a thousandth key with the noise of the first": (
        SharesAtAThousand(**FOUR),
        "1000 keys at once are not 1000 counters",
    ),
    "a filter with less noise from five keys on": (
        QuietVectors(rho=1, horizon=4),
        "5 keys at once lose more",
    ),
}
