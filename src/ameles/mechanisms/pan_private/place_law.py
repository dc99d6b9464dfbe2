"""Laws of the estimates of a tree with shares by place, node by node and group by group.

An estimate has the noises of all nodes inside, millions of them in a long stream, with weights that
are products along a path.  So noises of nearly the same size are put together, as fewer ones of
a size that is at most 4.4% larger and with the same variance.  That never makes the tail
lighter: the logarithm of E exp(h Y) is convex in the square of the size (Chernoff).

A discrete variable of scale b and weight a counts as a continuous one of size a sqrt(b^2 + 1/6).
Its variance is kept, and this size makes E exp(h Y) no smaller at any h.  If scales below 1 occur,
each keeps its own, since the lattice shows then.

>>> round(Spectrum.of(10.0, 2, smooth=True).times(0.5).variance, 1)
99.9
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from ameles.mechanisms.laplace.mixture import SMOOTH, LaplacePart
from ameles.mechanisms.pan_private.place_shape import PlaceShape

Floats = NDArray[np.float64]
# Sizes between two powers of 2 that are told apart.
SIZES = 16
# Continuous noise is written as noise on so fine a lattice that it is as good as that.
FINE = 1 << 20
# The largest 1 / (2 scale) that is told apart from no noise.
STEEPEST = 300.0


def variance_of(scale: float) -> float:
    """The variance of discrete Laplace noise."""
    return 0.5 / math.sinh(min(0.5 / scale, STEEPEST)) ** 2


def size_of(scale: float) -> float:
    """The size of continuous noise that discrete noise of a scale counts as."""
    return math.sqrt(scale**2 + 1 / 6)


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Independent noises, as how much there is of each size.

    ``bases``: the scales of discrete variables, or 0 for continuous ones.  ``sizes``: the weight of
    the one, the size of the other.  ``amounts``: how many, times the square of that.
    """

    bases: Floats
    sizes: Floats
    amounts: Floats

    @classmethod
    def of(cls, scale: float, count: float, *, smooth: bool) -> Spectrum:
        """So many noises of a scale."""
        base, size, amount = scale, 1.0, float(count)
        if smooth:
            base, size = 0.0, size_of(scale)
            amount = count * variance_of(scale) / 2
        return cls(np.array([base]), np.array([size]), np.array([amount]))

    @classmethod
    def joined(cls, spectra: Iterable[Spectrum]) -> Spectrum:
        """All noises of some, with those of nearly the same size put together."""
        empty = np.empty(0)
        parts = [(one.bases, one.sizes, one.amounts) for one in spectra]
        bases, sizes, amounts = map(np.concatenate, zip(*parts, (empty, empty, empty), strict=True))
        places = np.ceil(SIZES * np.log2(sizes) - 1e-9)
        keys, kinds = np.unique(bases + 1j * places, return_inverse=True)
        total = np.bincount(kinds, weights=amounts, minlength=len(keys)).astype(np.float64)
        return cls(keys.real, 2.0 ** (keys.imag / SIZES), total)

    def times(self, weight: float) -> Spectrum:
        """The noises, each times a weight."""
        if not weight:
            return Spectrum.joined(())
        return Spectrum(self.bases, self.sizes * weight, self.amounts * weight**2)

    def repeated(self, times: int) -> Spectrum:
        """So many times as many noises."""
        return Spectrum(self.bases, self.sizes, self.amounts * times)

    @property
    def variance(self) -> float:
        """The variance of the sum."""
        each = [variance_of(base) if base else 2.0 for base in self.bases.tolist()]
        return float(self.amounts @ np.array(each))

    @property
    def parts(self) -> tuple[LaplacePart, ...]:
        """The same for the law of a sum."""
        parts = []
        for base, size, amount in zip(
            self.bases.tolist(), self.sizes.tolist(), self.amounts.tolist(), strict=True
        ):
            scale, weight = Fraction(base), size
            if not base:
                scale, weight = Fraction(math.ceil(size * FINE)), 1 / FINE
                size = float(scale) / FINE
            parts.append(LaplacePart(scale, weight, amount / size**2))
        return tuple(parts)


class NodeLaws:
    """Variances and laws of estimates, by level, the rung of the group, and the place in it.

    ``scale`` is that of a node with all of epsilon.  What was computed is kept.
    """

    def __init__(self, shape: PlaceShape, scale: Fraction) -> None:
        self.shape = shape
        self.smooth = scale >= SMOOTH
        self._scale = scale
        self._one = 1 << shape.bits
        self._spectra: dict[tuple[int, int, int], Spectrum] = {}
        self._some: dict[tuple[int, int, range], Spectrum] = {}
        self._sums: dict[tuple[int, int], list[float]] = {}
        self._totals: dict[tuple[int, int, int], float] = {}
        self._worst: dict[tuple[int, int, int], float] = {}
        self._announced: dict[tuple[int, int], Spectrum] = {}
        self._above: tuple[object, tuple[LaplacePart, ...]] | None = None

    def scale(self, level: int, rung: int, place: int) -> Fraction | None:
        """The scale of a node's noises; None if there is no node."""
        share = self.shape.share(level, rung, place)
        return self._scale / share if share else None

    def weight(self, level: int, place: int) -> float:
        """The weight of the children in a node's estimate."""
        return self.shape.weights[level][place] / self._one

    def own(self, level: int, rung: int, place: int, count: int = 2) -> Spectrum:
        """The noises of a node itself, with their weight in its estimate."""
        scale = self.scale(level, rung, place)
        if scale is None:
            return Spectrum.joined(())
        noises = Spectrum.of(float(scale), count, smooth=self.smooth)
        return noises.times(1 - self.weight(level, place)) if level else noises

    def spectrum(self, level: int, rung: int, place: int) -> Spectrum:
        """The noises of a node's estimate."""
        key = (level, rung, place)
        if key not in self._spectra:
            own = self.own(*key)
            if level:
                below = self.group(level - 1, self.shape.below(*key))
                own = Spectrum.joined((own, below.times(self.weight(level, place))))
            self._spectra[key] = own
        return self._spectra[key]

    def some(self, level: int, rung: int, places: range) -> Spectrum:
        """The noises of the estimates of some nodes of a group."""
        key = (level, rung, places)
        if key not in self._some:
            each = (self.spectrum(level, rung, place) for place in places)
            self._some[key] = Spectrum.joined(each)
        return self._some[key]

    def parts_above(
        self, nodes: tuple[tuple[int, int, int], ...], announcements: int
    ) -> tuple[LaplacePart, ...]:
        """The noises of nodes that are longer than a step (level, rung, how many), and of
        announcements.

        Those of the last call are kept: most counts have the same as the count before.
        """
        asked, kept = (nodes, announcements), self._above
        if kept is not None and kept[0] == asked:
            return kept[1]
        each = [self.some(level, rung, range(count)) for level, rung, count in nodes]
        parts = Spectrum.joined([*each, self.all_announced(announcements)]).parts
        self._above = asked, parts
        return parts

    def all_announced(self, times: int) -> Spectrum:
        """The noises that so many announcements add to a count, at worst."""
        return self.worst_announced.repeated(times) if times else Spectrum.joined(())

    def group(self, level: int, rung: int) -> Spectrum:
        """The noises of all estimates of a group."""
        return self.some(level, rung, range(self.shape.radices[level]))

    def sums(self, level: int, rung: int) -> list[float]:
        """The variances of the sums of a group's first 0, 1, 2, ... estimates."""
        key = (level, rung)
        if key not in self._sums:
            each = (
                self._variance(level, rung, place) for place in range(self.shape.radices[level])
            )
            self._sums[key] = list(accumulate(each, initial=0.0))
        return self._sums[key]

    def _variance(self, level: int, rung: int, place: int) -> float:
        """The variance of a node's estimate."""
        scale = self.scale(level, rung, place)
        own = 2 * variance_of(float(scale)) if scale else 0.0
        if not level:
            return own
        below = self.sums(level - 1, self.shape.below(level, rung, place))[-1]
        weight = self.weight(level, place)
        return (1 - weight) ** 2 * own + weight**2 * below

    @cached_property
    def total(self) -> float:
        """The sum of the variances of all counts."""
        top = self.shape.levels - 1
        if self.shape.horizon == self.shape.all_steps:
            return self._total_inside(top, 0, self.shape.horizon) + self.sums(top, 0)[-1]
        return self._total_inside(top, 0, self.shape.horizon + 1)

    def _total_inside(self, level: int, rung: int, count: int) -> float:
        """The sum for the first so many counts inside of a group, from 0 steps on."""
        key = (level, rung, count)
        if key not in self._totals:
            span, total = self.shape.spans[level], 0.0
            for place, before in enumerate(self.sums(level, rung)[: -(-count // span)]):
                inside = min(span, count - place * span)
                total += before * inside
                if level:
                    below = self.shape.below(level, rung, place)
                    total += self._total_inside(level - 1, below, inside)
            self._totals[key] = total
        return self._totals[key]

    @cached_property
    def worst(self) -> float:
        """The largest variance of a count."""
        top = self.shape.levels - 1
        if self.shape.horizon == self.shape.all_steps:
            return max(self.sums(top, 0)[-1], self._worst_inside(top, 0, self.shape.horizon))
        return self._worst_inside(top, 0, self.shape.horizon + 1)

    def _worst_inside(self, level: int, rung: int, count: int) -> float:
        """The largest variance of the first so many counts inside of a group, from 0 steps on."""
        key = (level, rung, count)
        if key not in self._worst:
            span, sums = self.shape.spans[level], self.sums(level, rung)
            variances = sums[: -(-count // span)]
            if level:
                variances = [
                    before
                    + self._worst_inside(
                        level - 1,
                        self.shape.below(level, rung, place),
                        min(span, count - place * span),
                    )
                    for place, before in enumerate(variances)
                ]
            self._worst[key] = max(variances)
        return self._worst[key]

    def announced(self, level: int, rung: int) -> Spectrum:
        """The noises that one announcement adds to the estimate of a node of a group, at worst."""
        key = (level, rung)
        if key not in self._announced:
            paths = []
            for place in range(self.shape.radices[level]):
                path = [self.own(level, rung, place, count=1)]
                if level:
                    below = self.announced(level - 1, self.shape.below(level, rung, place))
                    path.append(below.times(self.weight(level, place)))
                paths.append(Spectrum.joined(path))
            self._announced[key] = max(paths, key=lambda path: path.variance)
        return self._announced[key]

    @property
    def groups(self) -> Iterator[tuple[int, int]]:
        """The levels and rungs of all groups that occur."""
        rungs = {0}
        for level in range(self.shape.levels - 1, -1, -1):
            yield from ((level, rung) for rung in sorted(rungs))
            rungs = {rung + step for rung in rungs for step in self.shape.steps[level]}

    @cached_property
    def largest(self) -> float:
        """The largest size that a noise has in a count."""
        scales = (
            (self.scale(level, rung, place), 1 - self.weight(level, place) if level else 1.0)
            for level, rung in self.groups
            for place in range(self.shape.radices[level] if level else 1)
        )
        return max(size_of(float(scale)) * weight for scale, weight in scales if scale)

    @cached_property
    def worst_announced(self) -> Spectrum:
        """The noises that one announcement adds to a count, at worst."""
        return max(
            (self.announced(*group) for group in self.groups), key=lambda path: path.variance
        )


@lru_cache(maxsize=64)
def laws_of(shape: PlaceShape, scale: Fraction) -> NodeLaws:
    """The laws of a recipe, which every error of it asks for."""
    return NodeLaws(shape, scale)
