"""Pan-private trees without a horizon, or told of intrusions, with one mistake each."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ameles.core.noise import Noise
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.mechanisms.pan_private.tree_run import PanPrivateTreeRun
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray


class DeepRun(PanPrivateTreeRun):
    def _fold(self, row: IntArray) -> None:
        self._open += row


@dataclass(frozen=True, kw_only=True)
class FoldsTooDeep(PanPrivateTreeCounter):
    """Adds events to levels of trees to come, which have no noise yet."""

    def _run(self, state: State, noise: Noise) -> PanPrivateTreeRun:
        return DeepRun(self, state, noise)


@dataclass(frozen=True, kw_only=True)
class ScaleOfTheTreeBefore(PanPrivateTreeCounter):
    """Goes on with the noise of a tree that had one level less."""

    def scale_of(self, depth: int) -> Fraction:
        return super().scale_of(max(1, depth - 1))


class UnopenedRun(PanPrivateTreeRun):
    def _follow(self, fresh: IntArray | None) -> None:
        if fresh is not None:
            fresh[-1] = 0
        super()._follow(fresh)


@dataclass(frozen=True, kw_only=True)
class TopWithoutNoise(PanPrivateTreeCounter):
    """Opens the level that a new tree has more without noise."""

    def _run(self, state: State, noise: Noise) -> PanPrivateTreeRun:
        return UnopenedRun(self, state, noise)


class DeafRun(PanPrivateTreeRun):
    def announce(self) -> None:
        """Nothing."""


@dataclass(frozen=True, kw_only=True)
class IgnoresAnnouncements(PanPrivateTreeCounter):
    def _run(self, state: State, noise: Noise) -> PanPrivateTreeRun:
        return DeafRun(self, state, noise)


class ShallowRun(PanPrivateTreeRun):
    def announce(self) -> None:
        kept = self._open[1:].copy()
        super().announce()
        self._open[1:] = kept


@dataclass(frozen=True, kw_only=True)
class RefreshesSingleSteps(PanPrivateTreeCounter):
    """After an announcement, fresh noise on the open step alone and not on longer blocks."""

    def _run(self, state: State, noise: Noise) -> PanPrivateTreeRun:
        return ShallowRun(self, state, noise)
