"""Vectors of counters: every key must have noise of its own.

A counter of width n should be n counters: key k of a wide run shows, number by number, what a plain
run shows on that key's draws and inputs.  Draws come in the order step, level, key.  This is
compared on draws and inputs that look random, where a wrong weight is missed with probability
2^-20: in one feed, in single steps and in several feeds, with snapshots that are not used, and by
runs that are resumed before every step and every feed.

A vector that differs is observed as a whole, and its loss solved for: an input is then one step of
one key.  One noise for all keys has an infinite loss: the difference of two keys has no noise.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    some_inputs,
    with_snapshots,
)
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.noise import Tape

KEYS = 3
WAYS = (at_once, one_by_one, in_pieces, with_snapshots, resumed, resumed_feeds, in_numpy)
MOST_KEYS = 64


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
