"""Broken counters that look at their data: most act alike on all inputs that a probe would try."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.counters.recipe import CounterRun
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.counters.summed import PlainRun
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray

FAR = 1 << 55  # beyond every probe


@dataclass(frozen=True, kw_only=True)
class Looking(SimpleOneCounter):
    """A counter whose run is of another kind."""

    kind: ClassVar[type[PlainRun]]

    def _run(self, state: State, noise: Noise) -> CounterRun:
        return self.kind(self, state, noise) if self.width is None else super()._run(state, noise)


class _Exact(PlainRun):
    """Exact where ``tells`` says so, without a look that the tracing inputs would see."""

    def step(self, x: Any) -> int:
        release = super().step(x)
        return self._sum if self.tells(int(self._sum)) else release

    def feed(self, xs: Any) -> IntArray:
        total = self._sum
        releases = super().feed(xs)
        sums = total + np.cumsum(np.asarray(xs, dtype=np.int64))
        return np.array([s if self.tells(s) else r for s, r in zip(sums, releases, strict=True)])

    def tells(self, total: int) -> bool:
        return total > 10**7


class ExactAboveTenMillion(Looking):
    """The exact count, once it has passed 10^7."""

    kind = _Exact


class _ExactBelow(_Exact):
    def tells(self, total: int) -> bool:
        return total < -(10**7)


class ExactBelowMinusTenMillion(Looking):
    """The exact count, once corrections have brought it below -10^7."""

    kind = _ExactBelow


class _Compares(PlainRun):
    def step(self, x: Any) -> int:
        release = super().step(x)
        return self._sum if self._sum > FAR else release


class ComparesFarAway(Looking):
    """The exact count, once it has passed what any probe tries."""

    kind = _Compares


class _ComparesArrays(PlainRun):
    def feed(self, xs: Any) -> IntArray:
        rows = self._recipe.rows(xs)
        releases = super().feed(xs)
        return np.cumsum(rows) if (rows > FAR).any() else releases


class ComparesArrays(Looking):
    """An exact feed if one of its inputs is huge."""

    kind = _ComparesArrays


class _Table(PlainRun):
    def step(self, x: Any) -> int:
        return super().step({FAR: 0}.get(x, x))


class UsesATable(Looking):
    """Looks its inputs up."""

    kind = _Table


class _Writes(PlainRun):
    def step(self, x: Any) -> int:
        self.log = f"counted {x}"
        return super().step(x)


class WritesALog(Looking):
    """Writes its inputs into a text."""

    kind = _Writes


class _Floats(PlainRun):
    def step(self, x: Any) -> int:
        release = super().step(x)
        return release + int(float(self._sum)) - self._sum


class FloatsTheCount(Looking):
    """Adds what a float loses of the count, which is nothing below 2^53."""

    kind = _Floats


class _Parity(PlainRun):
    def step(self, x: Any) -> int:
        digit: int = abs(x) >> 60
        return super().step(x) + digit


class MasksItsInputs(Looking):
    """Adds a digit of the input that is zero in small ones."""

    kind = _Parity


class _Echo(PlainRun):
    last = 0

    def step(self, x: Any) -> int:
        cancels = int(x) == -self.last != 0
        self.last = super().step(x)
        return self._sum if cancels else self.last


class AnswersAnEcho(Looking):
    """The exact count to an input that cancels the last release."""

    kind = _Echo


@dataclass(frozen=True, kw_only=True)
class FoldsLargeInputsBare(SimpleTwoCounter):
    """No noise for inputs above 2^40."""

    def _run(self, state: State, noise: Noise) -> CounterRun:
        run: Any = super()._run(state, noise)
        fold = run._fold

        def folded(row: IntArray) -> None:
            before = run._sums.copy()
            fold(row)
            if int(row[0]) > 1 << 40:
                run._sums = before + row

        run._fold = folded
        kept: CounterRun = run
        return kept


class _LooksAtAList(PlainRun):
    def feed(self, xs: Any) -> IntArray:
        if any(x == 10**15 for x in np.asarray(xs).tolist()):
            raise ValueError
        return super().feed(xs)


class LooksAtAList(Looking):
    """Makes its inputs a plain array, and looks at the numbers in that."""

    kind = _LooksAtAList


_FOUR: dict[str, Any] = {"epsilon": 1, "horizon": 4}

# Code that looks at its data, with what the audit says about it.
BRANCHES: dict[str, tuple[AnyMechanism, str]] = {
    "a comparison far beyond the probes": (ComparesFarAway(**_FOUR), "compares its data"),
    "a comparison of arrays": (ComparesArrays(**_FOUR), "compares its data"),
    "a comparison of a list that was made an array": (LooksAtAList(**_FOUR), "compares its data"),
    "inputs looked up in a table": (UsesATable(**_FOUR), "as a key"),
    "inputs written into a text": (WritesALog(**_FOUR), "prints its data"),
    "the count as a float": (FloatsTheCount(**_FOUR), "makes floats"),
    "bits of an input": (MasksItsInputs(**_FOUR), "than to add them up"),
}
