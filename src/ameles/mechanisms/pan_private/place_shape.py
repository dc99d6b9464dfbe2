"""The shape of a tree whose nodes have shares of epsilon by their place among their siblings.

A node of level l has ``radices[l - 1]`` children; level 0 are single steps, and the top level has
``radices[-1]`` nodes.  What a group of siblings may spend of epsilon is a rung of a ladder,
``LADDER``: rung 0 is all of it, and every ten rungs it halves.  A node takes its children as many
rungs down as its level and its place say, and has the difference for itself.  Single steps go down
to the bottom, where nothing is left.  So whatever the rungs are, an event spends exactly epsilon in
all of its nodes.

A node that takes its children down by 0 rungs has no share and does not exist: the last of a
group never does, because its parent ends with it.  All shares are whole numbers of ``PARTS``.

The estimate of a node that has ended is (1 - w) times its own value plus w times the sum of its
children's estimates, with the w of the smallest variance, rounded to 2**-5.

>>> shape = PlaceShape(horizon=12, radices=(4, 3), rungs=(10, 5))
>>> shape.spans, shape.steps[1]
((1, 4), (10, 5, 0))
>>> [shape.share(1, 0, place) for place in range(3)]
[Fraction(1, 2), Fraction(4799, 16384), Fraction(0, 1)]
>>> [shape.share(0, rung, 0) for rung in (10, 5, 0)]
[Fraction(1, 2), Fraction(11585, 16384), Fraction(1, 1)]
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from operator import mul
from typing import TypeVar

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.noise.arrays import BoolArray, IntArray

# Shares are multiples of one over this.
PARTS = 1 << 16
# Every so many rungs the ladder halves.
HALVES = 10
# The last rung above the bottom.
LAST = 100
# The most bits of a weight, and of an estimate.
MOST_BITS, ALL_BITS = 5, 40


def _rung(n: int) -> int:
    """PARTS times 2^(-n / HALVES), rounded down: a root in whole numbers, the same everywhere."""
    low, high = 0, PARTS
    while low < high:
        middle = (low + high + 1) // 2
        below = middle**HALVES << n <= PARTS**HALVES
        low, high = (middle, high) if below else (low, middle - 1)
    return low


LADDER = (*(_rung(n) for n in range(LAST + 1)), 0)
BOTTOM = LAST + 1


Rung = TypeVar("Rung", int, IntArray)


@dataclass(frozen=True)
class PlaceShape:
    """How many children nodes have, and how many rungs each place takes its children down."""

    horizon: int
    radices: tuple[int, ...]
    rungs: tuple[int, ...]  # from level 1 to the top, of all places but the last

    def __post_init__(self) -> None:
        if (
            not self.radices
            or min(self.radices[:-1], default=2) < 2
            or not self.spans[-1] * (self.radices[-1] - 1) < self.horizon <= self.all_steps
            or len(self.rungs) != sum(self.radices[1:]) - (self.levels - 1)
            or min(self.rungs, default=0) < 0
            or sum(max(row) for row in self.steps) > LAST
        ):
            raise BadInput(
                "These radices and rungs are not those of a tree for this horizon.",
                why=f"the top level must end with the horizon, each level from 1 on needs a rung "
                f"for every place but the last, and no path may go down more than {LAST} rungs",
                tip="leave them out: the best ones for the horizon are found",
            )

    @property
    def levels(self) -> int:
        """How many levels there are, the single steps included."""
        return len(self.radices)

    @cached_property
    def spans(self) -> tuple[int, ...]:
        """How many steps a node of each level has."""
        return tuple(accumulate(self.radices[:-1], mul, initial=1))

    @property
    def all_steps(self) -> int:
        """How many steps the tree has room for."""
        return self.spans[-1] * self.radices[-1]

    @cached_property
    def steps(self) -> tuple[tuple[int, ...], ...]:
        """By level and place, how many rungs a node takes its children down; 0 for single steps."""
        rows, used = [(0,) * self.radices[0]], 0
        for size in self.radices[1:]:
            rows.append((*self.rungs[used : used + size - 1], 0))
            used += size - 1
        return tuple(rows)

    def below(self, level: int, rung: int, place: int) -> int:
        """The rung of a node's children, if its group is on a rung; the same: there is no node."""
        return rung + self.steps[level][place] if level else BOTTOM

    def share(self, level: int, rung: int, place: int) -> Fraction:
        """The share of epsilon of a node whose group is on a rung; 0 if there is no node."""
        return share_of(kind_of(rung, self.below(level, rung, place)))

    def nodes(self, level: int, numbers: IntArray) -> tuple[IntArray, IntArray]:
        """The places of nodes, which are numbered from 0, and their kinds: what share they have."""
        places = numbers % self.radices[level]
        above = numbers // self.radices[level]
        rungs = np.zeros(len(numbers), dtype=np.int64)
        for size, steps in zip(self.radices[level + 1 :], self.steps[level + 1 :], strict=True):
            rungs += np.array(steps)[above % size]
            above //= size
        below: IntArray = np.full_like(rungs, BOTTOM)
        if level:
            below = rungs + np.array(self.steps[level])[places]
        return places, kind_of(rungs, below)

    def exist(self, level: int, places: IntArray) -> BoolArray:
        """Whether there are nodes at these places."""
        exist: BoolArray = np.array(self.steps[level])[places] > 0 if level else places >= 0
        return exist

    def open_at(self, step: int) -> list[int]:
        """The levels that have a node with this step in it; steps are numbered from 0."""
        levels = [0]
        for level in range(1, self.levels):
            if self.steps[level][step // self.spans[level] % self.radices[level]]:
                levels.append(level)
        return levels

    def cover(self, t: int) -> list[tuple[int, int, int]]:
        """The nodes that a count is made of: the level, the rung, and how many, from the top."""
        rung, nodes = 0, []
        left = min(t, self.all_steps)
        for level in range(self.levels - 1, -1, -1):
            digit, left = divmod(left, self.spans[level])
            nodes.append((level, rung, digit))
            if level and digit < self.radices[level]:
                rung = self.below(level, rung, digit)
        return nodes

    def corrects(self, level: int, count: int) -> bool:
        """Whether the estimates of a group's first nodes have weights other than 1."""
        return any(map(any, (*self.steps[:level], self.steps[level][:count])))

    @property
    def bits(self) -> int:
        """The weights of nodes are multiples of 2**-bits."""
        return bits_of(self.levels)

    @property
    def fraction(self) -> int:
        """Estimates are multiples of two to minus this."""
        return self.bits * (self.levels - 1)

    @cached_property
    def weights(self) -> tuple[tuple[int, ...], ...]:
        """By level and place, the weight of the children in a node's estimate, times 2**bits."""
        one = 1 << self.bits
        rows, below = [(0,) * self.radices[0]], float(self.radices[0])
        for steps in self.steps[1:]:
            weights, variances = zip(*(weighted(below, step, one) for step in steps), strict=True)
            rows.append(weights)
            below = sum(variances)
        return tuple(rows)


def kind_of(rung: Rung, below: Rung) -> Rung:
    """A number for what a node has of epsilon: from one rung to another."""
    return rung * len(LADDER) + below


def share_of(kind: int) -> Fraction:
    """The share of epsilon of nodes of a kind."""
    rung, below = divmod(kind, len(LADDER))
    return Fraction(LADDER[rung] - LADDER[below], PARTS)


def bits_of(levels: int) -> int:
    """How many bits weights have: fewer in deep trees, whose estimates have those of all levels."""
    return min(MOST_BITS, ALL_BITS // max(1, levels - 1))


def weighted(below: float, step: int, one: int) -> tuple[int, float]:
    """The weight of a node's children, times ``one``, and the variance of its estimate.

    Variances are those of noise of scale 1 for all of its group's epsilon; that of the children's
    sum is ``below`` if they have it all.
    """
    left = LADDER[step] / PARTS
    children = below / (left * left)
    if not step:
        return one, children
    own = 1 / ((1 - left) * (1 - left))
    weight = min(max(round(one * own / (own + children)), 1), one - 1)
    w = weight / one
    return weight, (1 - w) * (1 - w) * own + w * w * children
