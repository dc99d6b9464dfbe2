"""Normalised counter: its law from the code, its figures, and its state."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import ameles
from ameles.audit import Verdict, exact_loss
from ameles.core.exceptions import BadInput
from ameles.mechanisms.counters.gaussian.buffered import BufferedCounter
from ameles.mechanisms.counters.gaussian.cascade import Cascade
from ameles.mechanisms.counters.gaussian.cascade_process import Levels
from ameles.mechanisms.counters.gaussian.column_decoder import ColumnDecoder
from ameles.mechanisms.counters.gaussian.encoded import Encoding
from ameles.mechanisms.counters.gaussian.error import gaussian_lower_bound
from ameles.mechanisms.counters.gaussian.normalised import NormalisedCounter
from ameles.noise import System, Tape
from ameles.noise.arrays import IntArray
from tests.mechanisms.counters.twins import scattered


def in_sigma(recipe: NormalisedCounter | BufferedCounter, deviation: float) -> float:
    return deviation * math.sqrt(2 * recipe.spend)


def weights(recipe: NormalisedCounter) -> np.ndarray:
    """How much of each draw is in each count, from the code: row t, column s."""
    wide = NormalisedCounter(rho=recipe.rho, horizon=recipe.horizon, width=recipe.horizon)
    draws = (np.eye(recipe.horizon, dtype=np.int64) << 50).ravel()
    state = wide.process(Tape(), None).state()
    head = 1 + 2 * wide.columns
    state[head] = 12  # a coarse grid, so that counts show many digits
    return wide.process(Tape(draws.tolist()), state).take(recipe.horizon) / 2.0**38


def test_the_law_is_that_of_the_code() -> None:
    recipe = NormalisedCounter(rho=1, horizon=70)
    seen = weights(recipe)
    for t in (1, 2, 17, 40, 69, 70):
        assert recipe.filter.gain(t) == pytest.approx(float((seen[t - 1] ** 2).sum()), rel=1e-6)
    for before, t in ((0, 5), (3, 4), (10, 50), (69, 70), (1, 70)):
        start = seen[before - 1] if before else 0.0
        exact = float(((seen[t - 1] - start) ** 2).sum())
        assert recipe.filter.between(before, t) == pytest.approx(exact, rel=1e-6)
    assert recipe.filter.mean_gain(70) == pytest.approx(float((seen**2).sum() / 70), rel=1e-6)
    assert recipe.filter.largest(70) >= float((seen**2).sum(axis=1).max()) * (1 - 1e-9)


def test_a_mean_over_a_long_stream_is_near_that_of_all_steps() -> None:
    law = NormalisedCounter(rho=1, horizon=3000, buffers=3).filter
    every = law.gains(np.arange(1, 3001))
    assert law.mean_gain(3000) == pytest.approx(float(every.mean()), rel=1e-3)
    assert float(every.max()) <= law.largest(3000) <= 1.001 * float(every.max())
    assert law.largest(100) == pytest.approx(float(every[:100].max()), rel=0.01)


@pytest.mark.parametrize(
    ("horizon", "mean", "worst"),
    [(100, 2.269, 2.355), (2**10, 2.997, 3.089), (2**16, 4.312, 4.406), (2**20, 5.195, 5.292)],
)
def test_the_figures(horizon: int, mean: float, worst: float) -> None:
    recipe = NormalisedCounter(rho="1e-4", horizon=horizon)
    at = np.unique(np.geomspace(1, horizon, 300).astype(np.int64))
    last = [horizon + 1 - int(t) for t in at]
    seen = max(recipe.error.std(t) for t in {*at.tolist(), *last})
    assert in_sigma(recipe, recipe.error.rms(horizon)) == pytest.approx(mean, rel=1e-3)
    assert in_sigma(recipe, seen) == pytest.approx(worst, rel=2e-3)
    plain = BufferedCounter(rho="1e-4", horizon=horizon)
    assert recipe.error.rms(horizon) < 0.98 * plain.error.rms(horizon)


def test_the_goal_against_the_lower_bound() -> None:
    recipe = NormalisedCounter(rho="1e-4", horizon=2**20)
    encoding = recipe.encoding
    worst = recipe.filter.largest(2**20) * float(encoding.variance) / 4**encoding.bits
    assert in_sigma(recipe, worst**0.5) <= 1.04 * gaussian_lower_bound(2**20)


def test_all_steps_together_are_not_bounded_by_the_last_one() -> None:
    recipe = NormalisedCounter(rho="1/8", horizon=500)
    middle = max(range(1, 501), key=recipe.error.std)
    assert recipe.error.std(middle) > 1.02 * recipe.error.std(500)
    assert recipe.error.bound_all(500, 0.05) >= recipe.error.bound(middle, 0.05 / 500)


def test_the_noise_is_as_predicted() -> None:
    # 20,000 counters: a sample variance is off by sqrt(2 / n) = 1%; 6% is 6 standard errors,
    # a false alarm of 2e-9 at each of two steps
    recipe = NormalisedCounter(rho=1, horizon=120, width=20_000, buffers=3)
    seen = recipe.start(System()).feed(np.zeros((120, 20_000), dtype=np.int64))
    for t in (60, 120):
        assert float(seen[t - 1].var()) == pytest.approx(recipe.error.std(t) ** 2, rel=0.06)
    moved = (seen[119] - seen[99]).var()
    assert float(moved) == pytest.approx(recipe.error.between(100, 120).variance, rel=0.06)


def test_a_run_resumed_at_every_step_goes_on_with_the_same_numbers() -> None:
    recipe = NormalisedCounter(rho=1, horizon=40, width=2, buffers=3)
    inputs = np.array(scattered(80, 50)).reshape(40, 2)
    draws = scattered(80, 2**30, 9)
    whole = recipe.start(Tape(draws)).feed(inputs)
    process, shown = recipe.process(Tape(draws[:2]), None), []
    for t in range(40):
        process = recipe.process(Tape(draws[2 * t : 2 * t + 2]), process.state() if t else None)
        shown.append(process.take(1)[0])
    assert (np.cumsum(inputs, axis=0) + np.array(shown)).tolist() == whole.tolist()


def test_a_resumed_run_keeps_its_rates_and_its_grid() -> None:
    recipe = NormalisedCounter(rho=1, horizon=100, buffers=3)
    foreign = np.concatenate([[0, 0, 0], Levels.start(Cascade.near(90, 3), 15, 1).numbers()])
    tape = Tape()
    process = recipe.process(tape, foreign)
    process.take(1)
    assert process.state()[3:].tolist() == foreign[3:].tolist()
    assert tape.draws[0].scale == recipe.encoding_with(Cascade.near(90, 3), 15).variance


def test_the_chooser_takes_it() -> None:
    rows = ameles.compare(epsilon=1, delta=1e-6, horizon=2**20)
    assert rows[0].name == "NormalisedCounter"
    several = ameles.compare(epsilon=1, delta=1e-6, horizon=2**14, contributions=4)
    by_name = {row.name: row.mean for row in several}
    assert by_name["NormalisedCounter"] < by_name["BufferedCounter"]


def test_a_grid_that_has_no_room_for_parts_is_refused() -> None:
    with pytest.raises(BadInput, match="64 bits"):
        NormalisedCounter(rho="1e-15", horizon=2**30, bound=2**20)


# The audit ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {"horizon": 1},
        {"horizon": 9},
        {"horizon": 24, "contributions": 3, "bound": 2},
        {"horizon": 7, "width": 2, "contributions": 2},
    ],
)
def test_its_loss_is_certified(parameters: dict[str, Any]) -> None:
    finding = exact_loss(NormalisedCounter(rho="1/2", buffers=2, **parameters))
    assert finding.verdict is Verdict.CERTIFIED
    least = "0.498" if parameters.get("contributions", 1) == 1 else "0.46"
    assert Fraction(least) < finding.lower < finding.upper <= Fraction(1, 2)


@dataclass(frozen=True, kw_only=True)
class PlainScales(NormalisedCounter):
    """Noise for columns of norm 1, but every count adds the same: the first column is longer."""

    def units(self, steps: int) -> list[int]:
        return [1 << self.encoding.bits] * steps


@dataclass(frozen=True, kw_only=True)
class LaterScales(NormalisedCounter):
    """Uses the scale of a later step, which is larger."""

    def process(self, noise: Any, state: IntArray | None) -> Any:
        inner: Any = super().process(noise, state)
        scales = inner._decoder._scales
        inner._decoder._scales = type(scales)(scales.ends, (*scales.parts[1:], scales.parts[-1]))
        return inner


class _Peeking(ColumnDecoder):
    def decode(self, encoded: IntArray) -> IntArray:
        return super().decode(encoded) * 2


@dataclass(frozen=True, kw_only=True)
class OtherDecoder(NormalisedCounter):
    """Says that it decodes in another way than it does."""

    def decoder(self) -> ColumnDecoder:
        right = super().decoder()
        return _Peeking(right._scales, bits=right._bits, columns=self.columns)


@dataclass(frozen=True, kw_only=True)
class HalfTheColumns(NormalisedCounter):
    """Noise for columns of half the norm."""

    def encoding_with(self, cascade: Cascade, bits: int) -> Encoding:
        right = super().encoding_with(cascade, bits)
        return Encoding(right.bits, right.variance / 4)


@pytest.mark.parametrize("broken", [PlainScales, LaterScales, OtherDecoder, HalfTheColumns])
def test_mistakes_are_not_certified(broken: type[NormalisedCounter]) -> None:
    assert exact_loss(broken(rho=1, horizon=12, buffers=2)).verdict is not Verdict.CERTIFIED
