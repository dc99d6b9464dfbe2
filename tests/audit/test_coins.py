"""The audit of counters of bits: the loss is that of their coins, and planted mistakes are seen."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.accounting.interval import Interval
from ameles.audit import Finding, Verdict, exact_loss
from ameles.audit.coins import coin_bounds
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.mechanisms.counters.recipe import CounterRun
from ameles.mechanisms.local import RandomizedResponseCounter
from ameles.mechanisms.local.response_counter import ResponseCounterRun
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import BoolArray, IntArray


@pytest.mark.parametrize("odds", ["3", "3/2", "19/7"])
def test_the_loss_is_the_logarithm_of_the_odds(odds: str) -> None:
    recipe = RandomizedResponseCounter(odds=odds)
    bounds = coin_bounds(recipe, 3)
    assert bounds.ratio == Fraction(odds)
    exact = Interval.of(Fraction(odds)).ln()
    assert (bounds.lower, bounds.upper) == (exact.down(), exact.up())
    finding = exact_loss(recipe, steps=3)
    assert finding.verdict is Verdict.CERTIFIED
    assert finding.claimed == Pure(exact.up())
    assert len(finding.to_dict()["worst"]["seen"]) == 4


def test_a_unit_pays_for_each_of_its_bits() -> None:
    twice = coin_bounds(RandomizedResponseCounter(odds=3, contributions=2), 5)
    assert (twice.ratio, len(twice.steps)) == (9, 2)
    # a stream that is shorter than what a unit may change
    assert coin_bounds(RandomizedResponseCounter(odds=3, contributions=7), 2).ratio == 9


# Broken counters ------------------------------------------------------------------------------


class TooSure(ResponseCounterRun):
    """Flips one draw less than it should."""

    def __init__(self, recipe: Any, state: State, noise: Noise) -> None:
        super().__init__(recipe, state, noise)
        self._kept += 1


class SureOnce(ResponseCounterRun):
    """Keeps the third bit with more certainty than the others."""

    def _reported(self, rows: IntArray) -> BoolArray:
        self._kept = 25 if self._noises == 2 else 19
        return super()._reported(rows)


class Never(ResponseCounterRun):
    """Flips nothing."""

    def __init__(self, recipe: Any, state: State, noise: Noise) -> None:
        super().__init__(recipe, state, noise)
        self._kept = self._every


class OneCoin(ResponseCounterRun):
    """Uses the coin of the step before for every other step."""

    _last: Any = None

    def _reported(self, rows: IntArray) -> BoolArray:
        drawn = self._noise.uniform(self._every, rows.shape)
        if self._noises % 2:
            drawn = self._last
        self._last = drawn
        kept: BoolArray = drawn < self._kept
        return np.equal(kept, rows > 0)


class TwoCoins(ResponseCounterRun):
    """Draws a coin too many."""

    def _reported(self, rows: IntArray) -> BoolArray:
        self._noise.uniform(2, rows.shape)
        return super()._reported(rows)


class Islands(ResponseCounterRun):
    """Keeps bits for some of the highest draws, too."""

    def _reported(self, rows: IntArray) -> BoolArray:
        drawn = self._noise.uniform(self._every, rows.shape)
        kept: BoolArray = (drawn < self._kept) | (drawn == self._every - 1)
        return np.equal(kept, rows > 0)


class Upside(ResponseCounterRun):
    """Flips bits for low draws."""

    def _reported(self, rows: IntArray) -> BoolArray:
        return ~super()._reported(rows)


class Tells(ResponseCounterRun):
    """Releases more than its reports."""

    _truth = 0

    def _fold(self, row: IntArray) -> None:
        self._truth += int(row[0])
        super()._fold(row)

    def _close(self) -> Any:
        return super()._close() + self._truth * 2.0**-40


class Remembers(Tells):
    """Has more than its reports in its state."""

    def _close(self) -> Any:
        return ResponseCounterRun._close(self)

    def _parts(self) -> tuple[IntArray, ...]:
        return *super()._parts(), np.array([self._truth])


def audited(kind: type[ResponseCounterRun]) -> Finding:
    @dataclass(frozen=True, kw_only=True)
    class Broken(RandomizedResponseCounter):
        def _run(self, state: State, noise: Noise) -> CounterRun:
            return kind(self, state, noise)

    return exact_loss(Broken(odds="19/7"), steps=4)


def test_the_plain_counter_is_certified() -> None:
    assert audited(ResponseCounterRun).verdict is Verdict.CERTIFIED


@pytest.mark.parametrize("kind", [TooSure, Never])
def test_coins_that_are_too_sure_are_refuted(kind: type[ResponseCounterRun]) -> None:
    assert audited(kind).verdict is Verdict.REFUTED


def test_one_coin_that_is_too_sure_is_refuted() -> None:
    finding = audited(SureOnce)
    assert finding.verdict is Verdict.REFUTED
    assert finding.worst is not None
    assert finding.worst.changes == ((3, 1),)


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (OneCoin, "another step"),
        (TwoCoins, "one uniform draw"),
        (Islands, "one cut"),
        (Upside, "lowest draw"),
        (Tells, "more than the reported bits"),
        (Remembers, "more than the reported bits"),
    ],
)
def test_what_are_no_coins_is_not_certified(kind: type[ResponseCounterRun], why: str) -> None:
    finding = audited(kind)
    assert finding.verdict is Verdict.NOT_LINEAR
    assert why in finding.how
