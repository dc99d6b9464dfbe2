"""Pan-private counters with shares by place, with one mistake each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter
from ameles.mechanisms.pan_private.place_run import PanPrivatePlaceRun
from ameles.mechanisms.pan_private.place_shape import LADDER, PlaceShape, kind_of
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray


class UnopenedRun(PanPrivatePlaceRun):
    def _add_noise(self) -> None:
        """Nothing."""


@dataclass(frozen=True, kw_only=True)
class OpensWithoutNoise(PanPrivatePlaceCounter):
    """The first node of every level has no noise until it is published."""

    def _run(self, state: State, noise: Noise) -> PanPrivatePlaceRun:
        return UnopenedRun(self, state, noise)


class EarlyRun(PanPrivatePlaceRun):
    """Has the publication noise of the first step in its state, until that step ends."""

    def __init__(self, recipe: PanPrivatePlaceCounter, state: State, noise: Noise) -> None:
        super().__init__(recipe, state, noise)
        self._early = super()._draw(self._shape.nodes(0, np.array([0]))[1])

    def _draw(self, kinds: IntArray) -> IntArray:
        drawn = super()._draw(kinds)
        if self._t == 0 and hasattr(self, "_early"):
            drawn[0] = self._early[0]
        return drawn

    def _parts(self) -> tuple[IntArray, ...]:
        return (*super()._parts(), self._early.reshape(-1))


@dataclass(frozen=True, kw_only=True)
class PublicationNoiseInState(PanPrivatePlaceCounter):
    """Draws the publication noise of a step before its first event."""

    def _run(self, state: State, noise: Noise) -> PanPrivatePlaceRun:
        return EarlyRun(self, state, noise)


class GenerousShape(PlaceShape):
    """Leaves to children one rung more than nodes have left: shares add up to more than 1."""

    def nodes(self, level: int, numbers: IntArray) -> tuple[IntArray, IntArray]:
        places, kinds = super().nodes(level, numbers)
        rungs, below = np.divmod(kinds, len(LADDER))
        if level == 0:
            kinds = kind_of(np.maximum(rungs - 1, 0), below)
        return places, kinds


@dataclass(frozen=True, kw_only=True)
class SharesTooLarge(PanPrivatePlaceCounter):
    @cached_property
    def shape(self) -> PlaceShape:
        return GenerousShape(self.horizon, tuple(self.radices or ()), tuple(self.rungs or ()))


class PeekingRun(PanPrivatePlaceRun):
    """Estimates with the value of the open node of the top level, which is not published."""

    def _close(self) -> IntArray:
        release = super()._close()
        if self._t + 1 < self._shape.horizon:
            release += self._open[-1] - self._open[0]
        return release


@dataclass(frozen=True, kw_only=True)
class UsesUnpublishedValues(PanPrivatePlaceCounter):
    def _run(self, state: State, noise: Noise) -> PanPrivatePlaceRun:
        return PeekingRun(self, state, noise)


class CountingRun(PanPrivatePlaceRun):
    def _fold(self, row: IntArray) -> None:
        self._open += row


@dataclass(frozen=True, kw_only=True)
class FoldsIntoAbsentNodes(PanPrivatePlaceCounter):
    """Adds events where there is no node, and so no noise."""

    def _run(self, state: State, noise: Noise) -> PanPrivatePlaceRun:
        return CountingRun(self, state, noise)


class SilentRun(PanPrivatePlaceRun):
    def announce(self) -> None:
        """Adds noise to single steps alone."""
        kept = self._open[1:].copy()
        super().announce()
        self._open[1:] = kept


@dataclass(frozen=True, kw_only=True)
class RefreshesOneLevel(PanPrivatePlaceCounter):
    def _run(self, state: State, noise: Noise) -> PanPrivatePlaceRun:
        return SilentRun(self, state, noise)
