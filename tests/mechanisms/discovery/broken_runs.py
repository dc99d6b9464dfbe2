"""Runs with one mistake each, which the checks of key discovery must catch."""

from __future__ import annotations

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.discovery import DiscoveryRun, KeyDiscovery, KeyInputs
from ameles.mechanisms.discovery.discovery_run import FRESH, PUBLIC, SEEN
from ameles.mechanisms.discovery.selection_counters import SelectionCounters
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray


class StartsWithTheKey(SelectionCounters):
    """Draws no noise for the looks that a key missed."""

    def _join(self, born: IntArray, look: int, noise: Noise) -> None:
        self._table.join(born.size)
        self.numbers = np.concatenate([self.numbers, born])


class NoiseStartsWithTheKey(DiscoveryRun):
    """Its selection noise begins when a key is first named."""

    def __init__(self, recipe: KeyDiscovery, state: State, noise: Noise) -> None:
        super().__init__(recipe, state, noise)
        self._selection = StartsWithTheKey(recipe.selection)


class LiveByRecords(DiscoveryRun):
    """Looks at every key that a record has named, also without a slot."""

    def _take(self, x: KeyInputs) -> None:
        super()._take(x)
        self._status[x.number[self._status[x.number] == SEEN]] = FRESH


class LooksAtAll(DiscoveryRun):
    """Looks at every key that has a number, also if nobody has named it."""

    def _take(self, x: KeyInputs) -> None:
        super()._take(x)
        known = self._status[: len(self._names)]
        known[known == SEEN] = FRESH


class TellsFirstSight(DiscoveryRun):
    """Publishes keys that are found together in the order of their secret numbers."""

    def _look(self) -> IntArray:
        before = self._public_numbers.size
        found = np.sort(super()._look())
        self._public_numbers[before:] = found
        return found


class DropsByTheTruth(DiscoveryRun):
    """Drops a key whose exact count has not grown."""

    def _quiet(self, values: IntArray) -> IntArray:
        period = self._recipe.drop_after
        if period is None or self._t % period:
            return np.empty(0, dtype=np.int64)
        exact = self._amounts[self._public_numbers]
        judged = self._since <= self._t - period
        quiet = judged & (exact <= self._marks).all(axis=1)
        self._marks = exact.copy()
        return self._public_numbers[quiet]


class ForgetsNothing(DiscoveryRun):
    """Lets a dropped key keep its number, so that users who named it cannot name it again."""

    def _drop(self, numbers: IntArray) -> None:
        super()._drop(numbers)
        self._status[numbers] = np.where(self._status[numbers] == PUBLIC, PUBLIC, SEEN)
