"""The error of the hybrid counter: totals of finished epochs, and the counter in the open one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ameles.mechanisms.counters.laplace_error import LaplaceError
from ameles.mechanisms.laplace.clusters import Cluster, Clusters
from ameles.mechanisms.laplace.confined import Band, Floats, Walk, either
from ameles.mechanisms.laplace.mixture import LaplaceMixture, LaplacePart
from ameles.noise.arrays import IntArray

if TYPE_CHECKING:
    from ameles.mechanisms.counters.hybrid import HybridCounter

LONGEST = 1 << 40  # no epoch is longer, since no bounded counter is


@lru_cache(maxsize=4096)
def epoch_end(epoch: int, first: int, growth: int) -> int:
    """The last step of an epoch, counted from 0; before the first, 0."""
    if epoch < 0:
        return 0
    end: int = first * growth**epoch
    return min(end, epoch_end(epoch - 1, first, growth) + LONGEST)


@dataclass(frozen=True)
class HybridError(LaplaceError):
    """The totals' noises and those of the counter inside."""

    recipe: HybridCounter

    @property
    def rounding(self) -> float:
        """A twelfth if the counter inside rounds; it does not round the few last steps."""
        return 1 / 12 if self.recipe.resolution > 1 else 0.0

    def law(self, t: int) -> LaplaceMixture:
        return replace(self.between(0, t), roundings=1)

    def between(self, before: int, t: int) -> LaplaceMixture:
        (old, passed), (new, steps) = self._place(before), self._place(t)
        if old == new:
            return LaplaceMixture(self._inside(new, passed, steps))
        parts = self._inside(old, 0, passed) + self._inside(new, 0, steps)
        return LaplaceMixture((LaplacePart(self._scale, 1.0, new - old), *parts))

    def _place(self, t: int) -> tuple[int, int]:
        """How many epochs have ended by t, and how far into the next one t is."""
        first, growth = self.recipe.first, self.recipe.growth
        ended = 0
        while epoch_end(ended, first, growth) <= t:
            ended += 1
        return ended, t - epoch_end(ended - 1, first, growth)

    def _inside(self, epoch: int, before: int, t: int) -> tuple[LaplacePart, ...]:
        """What the counter inside an epoch adds."""
        error = self._error(epoch) if before != t else None
        if error is None:
            return ()
        return (error.between(before, t) if before else error.law(t)).parts

    def _error(self, epoch: int) -> LaplaceError | None:
        """That of the counter inside an epoch."""
        if epoch not in self._errors:
            inner = self.recipe.within(epoch)
            self._errors[epoch] = inner.error if inner else None
        return self._errors[epoch]

    @cached_property
    def _errors(self) -> dict[int, LaplaceError | None]:
        """The errors of the counters inside that were asked for so far."""
        return {}

    @cached_property
    def _scale(self) -> Fraction:
        return self.recipe.scale

    def walk(self, steps: int) -> Walk | None:
        scale, inside = self._scale, []
        last, rest = self._place(steps)
        for epoch in range(last + 1):
            length = epoch_end(epoch, self.recipe.first, self.recipe.growth) - 1
            length -= epoch_end(epoch - 1, self.recipe.first, self.recipe.growth)
            length = rest if epoch == last else length
            error = self._error(epoch) if length else None
            inner = error.walk(length) if error else None
            if error and inner is None:
                return None
            inside.append(inner)
        walks = [inner for inner in inside if inner]

        def leaving(band: Band) -> Floats:
            after = band.inside
            for place, inner in enumerate(reversed(inside)):
                after = band.then(scale, after) if place else after
                after = either(inner.leaving(band), after) if inner else after
            return after

        terms = last + max((walk.terms for walk in walks), default=0)
        scales = frozenset((scale,)).union(*(walk.scales for walk in walks))
        return Walk(leaving, steps, terms, scales)

    def clusters(self, last: int) -> Clusters | None:
        errors = [self._error(epoch) for epoch in range(self._place(last)[0] + 1)]
        if any(error is not None and error.clusters(1) is None for error in errors):
            return None
        return lambda t, alone: self._clusters(t, last, alone=alone)

    def _clusters(self, t: IntArray, last: int, *, alone: bool) -> Iterator[Cluster]:
        """The blocks of the counter inside, with the totals of all epochs before."""
        first, growth = self.recipe.first, self.recipe.growth
        ends = [epoch_end(epoch, first, growth) for epoch in range(self._place(last)[0] + 1)]
        ended = np.searchsorted(np.array(ends), t, side="right")
        for epoch in np.unique(ended).tolist():
            places = np.flatnonzero(ended == epoch)
            start = epoch_end(epoch - 1, first, growth)
            error, steps = self._error(epoch), t[places] - start
            inner = error.clusters(last - start) if error and steps.any() else None
            at = np.flatnonzero(steps > 0)
            for part in inner(steps[at], alone) if inner else ():
                totals = np.ones((*part.weights.shape[:2], epoch))
                scales = np.full((len(part.places), epoch), float(self._scale))
                yield Cluster(
                    places[at[part.places]],
                    np.concatenate([totals, part.weights], axis=2),
                    np.concatenate([scales, part.scales], axis=1),
                    part.own,
                    part.valid,
                )
            rest = places[steps == 0] if inner else places
            if len(rest):
                yield Cluster(
                    rest,
                    np.ones((len(rest), 1, epoch)),
                    np.full((len(rest), epoch), float(self._scale)),
                    np.zeros(len(rest), dtype=np.int64),
                    np.ones((len(rest), 1), dtype=np.bool_),
                )

    def worst_law(self, steps: int) -> LaplaceMixture:
        # later epochs have more totals and longer counters, whose noise is larger
        epoch = self.recipe.epoch_of(steps)
        inner = self.recipe.within(epoch) or self.recipe.within(max(epoch - 1, 0))
        inside = inner.error.worst_law(inner.horizon).parts if inner else ()
        return LaplaceMixture((LaplacePart(self._scale, 1.0, epoch + 1), *inside), bounding=True)
