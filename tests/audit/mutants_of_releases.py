"""Broken counters whose releases carry more than the numbers that are read from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.summed import PlainRun, SummedRun
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray
from tests.audit.mutants_of_values import Looking


class _Count(int):
    """An integer that can have attributes."""

    exact: int


class _Counts(np.ndarray[Any, np.dtype[np.int64]]):
    """An array that can have attributes."""

    exact: Any = None


class _WithAttribute(PlainRun):
    def step(self, x: Any) -> int:
        release = _Count(super().step(x))
        release.exact = self._sum
        return release


class StepWithAttribute(Looking):
    """The integer of a step has an attribute ``exact``."""

    kind = _WithAttribute


class _Told(int):
    truth: Callable[[], int]

    def __repr__(self) -> str:
        return f"{int(self)} (really {self.exact})"

    @property
    def exact(self) -> int:
        return self.truth()


class _WithRepr(PlainRun):
    def step(self, x: Any) -> int:
        release = _Told(super().step(x))
        total = self._sum
        release.truth = lambda: total
        return release


class StepWithRepr(Looking):
    """The text of a step's integer has the truth, and so does a property."""

    kind = _WithRepr


class _WithAttributes(PlainRun):
    def feed(self, xs: Any) -> IntArray:
        releases = super().feed(xs).view(_Counts)
        releases.exact = np.cumsum(np.asarray(xs))
        return releases


class FeedWithAttribute(Looking):
    """The array of a feed has an attribute ``exact``."""

    kind = _WithAttributes


class _Masked(PlainRun):
    def feed(self, xs: Any) -> Any:
        releases = super().feed(xs)
        sums = np.cumsum(np.asarray(xs, dtype=np.int64))
        rows = np.ma.masked_array(np.stack([releases, sums]), [[False] * len(xs), [True] * len(xs)])
        return rows[0]


class FeedOfMaskedArrays(Looking):
    """A feed shows a row of a masked array; the exact sums are in another row."""

    kind = _Masked


class _View(PlainRun):
    def feed(self, xs: Any) -> IntArray:
        releases = super().feed(xs)
        both = np.stack([releases, np.cumsum(np.asarray(xs, dtype=np.int64))])
        view: IntArray = both[0]
        return view


class FeedAsAView(Looking):
    """The releases of a feed are a view of an array that has the exact sums, too."""

    kind = _View


class _Bytes(PlainRun):
    def feed(self, xs: Any) -> IntArray:
        releases = super().feed(xs)
        sums = np.cumsum(np.asarray(xs, dtype=np.int64))
        return np.frombuffer(np.asarray(releases).tobytes() + sums.tobytes(), np.int64)[
            : len(releases)
        ]


class FeedOverBytes(Looking):
    """The same, of bytes."""

    kind = _Bytes


class _Metadata(PlainRun):
    def feed(self, xs: Any) -> IntArray:
        releases = super().feed(xs)
        return releases.astype(np.dtype(np.int64, metadata={"exact": self._sum}))


class FeedWithMetadata(Looking):
    """The data type of a feed's array has the exact sum."""

    kind = _Metadata


class _Wide(SummedRun):
    def step(self, x: Any) -> Any:
        release = super().step(x).view(_Counts)
        release.exact = self._sums.copy()
        return release


class VectorWithAttribute(SimpleOneCounter):
    """A vector's release has an attribute ``exact``."""

    def _run(self, state: State, noise: Noise) -> Any:
        return _Wide(self, state, noise) if self.width else super()._run(state, noise)


class _Types(PlainRun):
    def step(self, x: Any) -> Any:
        release = super().step(x)
        return np.int64(release) if int(self._sum) % 2 else release


class TypeByParity(Looking):
    """The type of a release says whether the exact count is odd."""

    kind = _Types


class _Changing(PlainRun):
    def step(self, x: Any) -> Any:
        release = super().step(x)
        last = vars(self).get("last")
        if last is not None:
            last[()] = self._sum
        self.last = np.array(release)
        return self.last


class ChangesLater(Looking):
    """A release becomes exact one step later."""

    kind = _Changing


class _Identity(PlainRun):
    def step(self, x: Any) -> int:
        release = super().step(x)
        self._id = (int(self._sum) % (1 << 64)).to_bytes(16, "little")
        return release


class SumInItsIdentity(Looking):
    """The run's public identity is the exact sum."""

    kind = _Identity


FOUR: dict[str, Any] = {"epsilon": 1, "horizon": 4}
MORE = "which can carry more"

# What the audit finds not linear, and what it says.
NOT_LINEAR: dict[str, tuple[AnyMechanism, str]] = {
    "an exact attribute of a step's integer": (StepWithAttribute(**FOUR), f"_Count, {MORE}"),
    "the truth in a step's text": (StepWithRepr(**FOUR), f"_Told, {MORE}"),
    "an exact attribute of a feed's array": (FeedWithAttribute(**FOUR), f"_Counts, {MORE}"),
    "exact sums behind a mask": (FeedOfMaskedArrays(**FOUR), f"MaskedArray, {MORE}"),
    "a feed over bytes with the exact sums": (FeedOverBytes(**FOUR), "a view of the type bytes"),
    "the exact sum in a data type": (FeedWithMetadata(**FOUR), "other things than numbers"),
    "an exact attribute of a vector": (VectorWithAttribute(**FOUR), f"_Counts, {MORE}"),
    "a type that tells whether the count is odd": (TypeByParity(**FOUR), "types or shapes"),
    "a release that becomes exact later": (ChangesLater(**FOUR), "changes after it was released"),
    "the exact sum as the run's identity": (SumInItsIdentity(**FOUR), "identity changes"),
}
VIEW = FeedAsAView(**FOUR)
