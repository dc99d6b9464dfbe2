"""Vectors of counters: every key must have noise of its own.

A counter of width n should be n counters: key k of a wide run shows, number by number, what a plain
run shows on that key's draws and inputs.  Draws come in the order step, level, key.  This is
compared on draws and inputs that look random, where a wrong weight is missed with probability
2^-20: in one feed, in single steps and in several feeds, with snapshots that are not used, and by
runs that are resumed before every step and every feed.

A mistake may begin at some width only, so more widths are compared, up to thousands of keys: with
plain counters where they are few, and with narrower vectors, which were compared before.

A vector that differs is observed as a whole, and its loss solved for: an input is then one step of
one key.  One noise for all keys has an infinite loss: the difference of two keys has no noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ameles.audit.instant import Place
from ameles.audit.observation import Block, Observer
from ameles.audit.ways import (
    Way,
    at_once,
    in_numpy,
    in_pieces,
    one_by_one,
    resumed,
    resumed_feeds,
    same,
    script,
    scripted,
    some_inputs,
    with_snapshots,
)
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.noise import Tape
from ameles.noise.arrays import IntArray

KEYS = 3
WAYS = (at_once, one_by_one, in_pieces, with_snapshots, resumed, resumed_feeds, in_numpy)
MOST_KEYS = 64
# Up to this width every one is compared with plain counters.
FEW_KEYS = 9
WIDTHS = (*range(1, FEW_KEYS + 1), 12, 16, 17, 33, 64, 65, 129, 1000, 4096)
# Wider ones are compared in one feed of so few steps, up to this width.
WIDE_STEPS = 2
MOST_WIDTH = 1 << 16


def widened(recipe: CounterRecipe, keys: int) -> CounterRecipe:
    """The same counter for so many keys."""
    return replace(recipe, width=keys)


def differing_way(
    recipe: CounterRecipe, keys: int, laws: Sequence[tuple[str, Any]], steps: int
) -> Way | None:
    """A way to call a vector in which it is not that many plain counters, if there is one.

    ``laws`` are the draws of a plain counter.
    """
    wide = widened(recipe, keys)
    inputs = [some_inputs(recipe, steps, 11 + key) for key in range(keys)]
    draws = [script(laws, 1_000 + key) for key in range(keys)]
    alone = [at_once(recipe, Tape(draws[k]), inputs[k]) for k in range(keys)]
    expected = list(np.asarray(alone).T)
    together = [value for each in zip(*draws, strict=True) for value in each]
    rows = list(np.array(inputs).T)
    each = [law for law in laws for _ in range(keys)]
    for way in WAYS:
        tape = Tape(together)
        if not same(way(wide, tape, rows), expected) or tape.laws[: len(each)] != each:
            return way
    return None


def differing_width(recipe: CounterRecipe, steps: int, own: int | None) -> tuple[int, Way] | None:
    """The first width at which a vector is not that many counters, and how it was called.

    ``own`` is compared besides ``WIDTHS``.
    """
    plain, few = replace(recipe, width=None), min(steps, WIDE_STEPS)
    long, short = _Keyed(plain, steps), _Keyed(plain, few)
    for width in sorted({*WIDTHS, min(own or 1, MOST_WIDTH)}):
        keyed = long if width <= FEW_KEYS else short
        wide = widened(plain, width)
        expected = [
            keyed.shown(narrow, first, size) for narrow, first, size in _parts(plain, width)
        ]
        for way in (at_once, one_by_one) if width <= FEW_KEYS else (at_once,):
            if not np.array_equal(
                keyed.shown(wide, 0, width, way), np.concatenate(expected, axis=1)
            ):
                return width, way
    return None


def _parts(plain: CounterRecipe, width: int) -> Iterator[tuple[CounterRecipe, int, int]]:
    """Narrower vectors that were compared before, with the first key and the number of keys."""
    if width <= FEW_KEYS:
        yield from ((plain, key, 1) for key in range(width))
        return
    first = 0
    while first < width:
        size = next(
            size for size in (64, 8, width - first) if size <= width - first and size < width
        )
        yield widened(plain, size), first, size
        first += size


class _Keyed:
    """Draws and inputs that differ from key to key, and what vectors of some keys show."""

    def __init__(self, plain: CounterRecipe, steps: int) -> None:
        tape = Tape()
        at_once(plain, tape, [0] * steps)
        self._laws = tape.laws
        self._steps = steps
        self._known: dict[tuple[int | None, int, int], Block] = {}

    def shown(self, recipe: CounterRecipe, first: int, size: int, way: Way = at_once) -> Block:
        """What these keys show, as columns; nothing if their draws are of other laws."""
        place = recipe.width, first, size
        if way is not at_once or size > MOST_KEYS or place not in self._known:
            self._known[place] = self._run(recipe, first, size, way)
        return self._known[place]

    def _run(self, recipe: CounterRecipe, first: int, size: int, way: Way) -> Block:
        keys = range(first, first + size)
        draws = [
            scripted(law, scale, _mixed(1, place, keys)) + np.zeros(size, dtype=np.int64)
            for place, (law, scale) in enumerate(self._laws)
        ]
        rows = [_mixed(2, step, keys) for step in range(self._steps)]
        rows = [row & 1 if recipe.bits else row - (1 << 19) for row in rows]
        tape = Tape(np.array(draws, dtype=np.int64).ravel().tolist())
        given = rows if recipe.width is not None else [int(row[0]) for row in rows]
        shown = np.array(way(recipe, tape, given)).reshape(self._steps, size)
        return shown if self._drawn_alike(tape.laws, size) else shown[:0]

    def _drawn_alike(self, laws: Sequence[tuple[str, Any]], size: int) -> bool:
        """Whether each draw of a plain counter was drawn for each key."""
        one: dict[tuple[str, int], Any] = {}  # equal laws as one object, which is compared quickly
        equal = dict(zip(self._laws, self._laws, strict=True))
        equal_laws = [equal[law] for law in self._laws]
        each = []
        for law in laws:
            place = law[0], id(law[1])
            if place not in one:
                one[place] = equal.get(law)
            each.append(one[place])
        return each[: len(self._laws) * size] == [law for law in equal_laws for _ in range(size)]


def _mixed(number: int, place: int, keys: range) -> IntArray:
    """Whole numbers below 2^20 that look random, one for each key."""
    mixed = np.arange(keys.start, keys.stop, dtype=np.uint64) * np.uint64(0xBF58476D1CE4E5B9)
    mixed += np.uint64((number << 40) + place)
    for shift, factor in ((30, 0x94D049BB133111EB), (27, 0x9E3779B97F4A7C15)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed >> np.uint64(44)).astype(np.int64)


class VectorObserver(Observer):
    """Observes the outputs of a vector; every step of every key is an input of its own."""

    def __init__(self, recipe: CounterRecipe, steps: int, keys: int, way: Way) -> None:
        super().__init__(widened(recipe, keys), steps * keys, decoded=True)
        self.steps_too = False
        self._keys = keys
        self.contributions = 1  # two inputs may be of one step, which a unit changes only once
        self._way = way

    def shown(self, tape: Tape, inputs: Sequence[Any]) -> list[tuple[Place | None, Block]]:
        """What all keys show."""
        rows = list(np.array(inputs).reshape(-1, self._keys))
        return [(None, np.asarray(self._way(self.recipe, tape, rows)))]
