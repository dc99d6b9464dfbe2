"""Broken counters that are right in most uses: a snapshot or an array shows the mistake."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.mechanisms.counters.recipe import CounterRun
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.counters.summed import PlainRun, SummedCounter, SummedRun
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray
from tests.audit.mutants_of_values import Looking


def quietened(releases: IntArray, xs: Any) -> IntArray:
    """The same counts with the noise of the first step in all of them."""
    return np.array([releases[0] + sum(xs[1 : 1 + t]) for t in range(len(xs))])


# Snapshots and resumes -----------------------------------------------------------------------


class _Remembering(PlainRun):
    """Knows how often its snapshot was taken, and whether it was resumed."""

    def __init__(self, recipe: SummedCounter, state: State, noise: Noise) -> None:
        super().__init__(recipe, state, noise)
        self.taken = 0
        self.resumed = bool(state.parts)

    def snapshot(self) -> bytes:
        self.taken += 1
        return super().snapshot()


class _BareAfterASnapshot(_Remembering):
    def feed(self, xs: Any) -> IntArray:
        releases = super().feed(xs)
        return quietened(releases, xs) if self.taken else releases


class BareFeedsAfterASnapshot(Looking):
    """A run goes on after its snapshot was taken, with one noise for a whole feed."""

    kind = _BareAfterASnapshot


class _BareAfterTwoSnapshots(_Remembering):
    def step(self, x: Any) -> int:
        release = super().step(x)
        return self._sum if self.taken > 1 else release


class BareStepsAfterTwoSnapshots(Looking):
    """A run whose second snapshot takes away its noise."""

    kind = _BareAfterTwoSnapshots


class _BareAfterAResume(_Remembering):
    def feed(self, xs: Any) -> IntArray:
        releases = super().feed(xs)
        return quietened(releases, xs) if self.resumed and len(xs) > 1 else releases


class BareFeedsAfterAResume(Looking):
    """A feed of several steps after a resume has one noise."""

    kind = _BareAfterAResume


class _TwoResumes(_Remembering):
    """Takes two resumes in a row for a stream that has ended."""

    last: ClassVar[int] = -1

    def __init__(self, recipe: SummedCounter, state: State, noise: Noise) -> None:
        super().__init__(recipe, state, noise)
        self.again = self.resumed and type(self).last == self.t
        type(self).last = self.t if self.resumed else -1

    def feed(self, xs: Any) -> IntArray:
        releases = super().feed(xs)
        return quietened(releases, xs) if self.again else releases

    def step(self, x: Any) -> int:
        type(self).last = -1
        return super().step(x)


class BareAfterTwoResumes(Looking):
    """A feed after two resumes in a row has one noise."""

    kind = _TwoResumes


class _WideBare(SummedRun):
    def snapshot(self) -> bytes:
        self.taken = True
        return super().snapshot()

    def step(self, x: Any) -> Any:
        releases = super().step(x)
        return self._sums.copy() if vars(self).get("taken") else releases


class BareVectorsAfterASnapshot(SimpleOneCounter):
    """A run of several keys goes on without noise after its snapshot was taken."""

    def _run(self, state: State, noise: Noise) -> CounterRun:
        return _WideBare(self, state, noise) if self.width else super()._run(state, noise)


# Feeds, arrays, and other runs ---------------------------------------------------------------


class _BareInThrees(PlainRun):
    def feed(self, xs: Any) -> IntArray:
        releases = super().feed(xs)
        return quietened(releases, xs) if len(xs) == 3 else releases


class BareFeedsOfThree(Looking):
    """A feed of exactly three steps has one noise."""

    kind = _BareInThrees


class _BareArrays(PlainRun):
    def feed(self, xs: Any) -> IntArray:
        releases = super().feed(xs)
        return quietened(releases, xs) if isinstance(xs, np.ndarray) else releases


class BareArrays(Looking):
    """A feed of an array has one noise; a feed of a list has one for each step."""

    kind = _BareArrays


class _BareScalars(PlainRun):
    def step(self, x: Any) -> int:
        release = super().step(x)
        return self._sum if isinstance(x, np.integer) else release


class BareScalars(Looking):
    """A step with an integer of numpy has no noise."""

    kind = _BareScalars


class _Sharing(PlainRun):
    """Keeps the noise of each step in its class, which all runs share."""

    kept: ClassVar[dict[int, int]] = {}

    def __init__(self, recipe: SummedCounter, state: State, noise: Noise) -> None:
        super().__init__(recipe, state, noise)
        self.kept.clear()

    def step(self, x: Any) -> int:
        release = super().step(x)
        return self._sum + self.kept.setdefault(self.t, release - self._sum)


class NoiseOfAnotherRun(Looking):
    """Two runs at the same time have the same noise."""

    kind = _Sharing


class _Hasty(PlainRun):
    def feed(self, xs: Any) -> IntArray:
        try:
            return super().feed(xs)
        except BadInput:
            self.refused = True
            raise

    def step(self, x: Any) -> int:
        release = super().step(x)
        return self._sum if vars(self).get("refused") else release


class BareAfterARefusal(Looking):
    """A run that has refused a feed goes on without noise."""

    kind = _Hasty


# A run of another class ----------------------------------------------------------------------


class _Outside:
    """Has a run, and all calls of one; keeps the open step's input until its release."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._open = 0

    def add(self, x: Any) -> None:
        self._inner.add(x)
        self._open = x

    def release(self) -> Any:
        self._open = 0
        return self._inner.release()

    def step(self, x: Any) -> Any:
        return self._inner.step(x)

    def feed(self, xs: Any) -> Any:
        return self._inner.feed(xs)

    def snapshot(self) -> bytes:
        kept: bytes = self._inner.snapshot()
        return kept


class KeepsItsInputOutside(SimpleTwoCounter):
    """A run that is no subclass of any, and keeps an input within a step."""

    def start(self, noise: Noise) -> Any:
        return _Outside(super().start(noise))

    def resume(self, state: bytes, noise: Noise) -> Any:
        return _Outside(super().resume(state, noise))


FIVE: dict[str, Any] = {"epsilon": 1, "horizon": 5}

# What the audit refutes, with an infinite loss and with what it says.
REFUTED: dict[str, tuple[AnyMechanism, str]] = {
    "one noise in a feed after a snapshot": (BareFeedsAfterASnapshot(**FIVE), "unused snapshots"),
    "no noise after two snapshots": (BareStepsAfterTwoSnapshots(**FIVE), "unused snapshots"),
    "keys without noise after a snapshot": (BareVectorsAfterASnapshot(**FIVE), "3 keys at once"),
    "one noise in a feed after a resume": (BareFeedsAfterAResume(**FIVE), "resumed twice"),
    "one noise after two resumes in a row": (BareAfterTwoResumes(**FIVE), "resumed twice"),
    "one noise in feeds of three": (BareFeedsOfThree(**FIVE), "feeds of every length"),
    "one noise in a feed of an array": (BareArrays(**FIVE), "arrays of numpy"),
    "no noise for integers of numpy": (BareScalars(**FIVE), "arrays of numpy"),
    "one noise for two runs": (NoiseOfAnotherRun(**FIVE), "beside another"),
    "no noise after a refusal": (BareAfterARefusal(**FIVE), "refused inputs"),
    "an open input in a run of another class": (KeepsItsInputOutside(**FIVE), "shows it"),
}
