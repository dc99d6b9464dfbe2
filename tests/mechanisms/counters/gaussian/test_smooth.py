"""Smooth counter: good wherever a stream ends, certified, and the same when it is resumed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import ameles
from ameles.audit import Verdict, exact_loss
from ameles.mechanisms.counters.gaussian.buffered import BufferedCounter
from ameles.mechanisms.counters.gaussian.buffered_optimum import (
    SMOOTH_FROM,
    best_rates,
    smooth_rates,
)
from ameles.mechanisms.counters.gaussian.cascade import Cascade
from ameles.mechanisms.counters.gaussian.encoded import Encoding
from ameles.mechanisms.counters.gaussian.segments import SegmentedCounter
from ameles.mechanisms.counters.gaussian.smooth import SmoothCounter
from ameles.noise import System, Tape
from tests.mechanisms.counters.twins import scattered

ENDLESS = SmoothCounter(rho="1e-4")


@pytest.mark.parametrize("power", [8, 9, 10, 13, 16, 20, 22, 24])
def test_the_goal_wherever_the_stream_ends(power: int) -> None:
    steps = 2**power - (power == 24)  # the last step of the first segment is its total
    bounded = BufferedCounter(rho="1e-4", horizon=steps)
    assert ENDLESS.error.std(steps) <= 1.2 * bounded.error.std(steps)
    assert ENDLESS.error.rms(steps) <= 1.205 * bounded.error.rms(steps)


def test_short_streams_and_those_after_the_first_segment_have_more() -> None:
    for steps, least, most in ((1, 1.9, 2.1), (64, 1.28, 1.33), (2**26, 1.5, 1.6)):
        bounded = BufferedCounter(rho="1e-4", horizon=steps)
        assert least < ENDLESS.error.std(steps) / bounded.error.std(steps) < most


def test_it_is_more_accurate_than_segments() -> None:
    cut = SegmentedCounter(rho="1e-4")
    for power in (4, 10, 14, 18, 20, 22):
        assert ENDLESS.error.rms(2**power) < cut.error.rms(2**power)


def test_its_memory_does_not_grow() -> None:
    recipe = SmoothCounter(rho=1)
    run = recipe.start(Tape())
    run.feed([0] * 5000)
    assert recipe.memory < 1100
    process = recipe.process(Tape(), None)
    sizes = []
    for _ in range(3):
        process.take(1000)
        sizes.append(len(process.state()))
    assert len(set(sizes)) == 1


def test_short_horizons_have_the_best_rates() -> None:
    assert smooth_rates(SMOOTH_FROM, 3) == best_rates(SMOOTH_FROM, 3)
    assert smooth_rates(2 * SMOOTH_FROM, 3) != best_rates(2 * SMOOTH_FROM, 3)


def test_the_noise_is_as_predicted() -> None:
    # 20,000 counters: a sample variance is off by sqrt(2 / n) = 1%; 6% is 6 standard errors,
    # a false alarm of 2e-9
    recipe = SmoothCounter(rho=1, width=20_000)
    seen = recipe.start(System()).feed(np.zeros((60, 20_000), dtype=np.int64))
    assert float(seen[-1].var()) == pytest.approx(recipe.error.std(60) ** 2, rel=0.06)


def test_a_run_resumed_at_every_step_goes_on_with_the_same_numbers() -> None:
    recipe = SmoothCounter(rho=1, width=2, first=12, growth=3)
    draws = scattered(120, 2**30, 9)
    whole = recipe.process(Tape(draws), None).take(60).tolist()
    process, shown = recipe.process(Tape(), None), []
    for t in range(60):
        process = recipe.process(Tape(draws[2 * t : 2 * t + 2]), process.state() if t else None)
        shown += process.take(1).tolist()
    assert shown == whole


def test_a_resumed_run_keeps_its_rates() -> None:
    recipe = SmoothCounter(rho=1, first=1000, buffers=3)
    process = recipe.process(Tape(), None)
    process.take(1)
    state = process.state()
    foreign = np.concatenate([state[:3], np.array(Cascade.near(90, 3).numbers), state[12:]])
    again = recipe.process(Tape(), foreign)
    again.take(1)
    assert again.state()[3:12].tolist() == foreign[3:12].tolist()


def test_the_chooser_takes_it() -> None:
    names = [row.name for row in ameles.compare(epsilon=1, delta=1e-6)]
    assert names[0] == "SmoothCounter"
    assert names.index("SegmentedCounter") > 0


@pytest.mark.parametrize("contributions", [1, 3])
def test_its_loss_is_certified(contributions: int) -> None:
    recipe = SmoothCounter(
        rho="1/2", first=6, growth=2, buffers=2, share="1/5", contributions=contributions
    )
    finding = exact_loss(recipe, steps=16)
    assert finding.verdict is Verdict.CERTIFIED
    assert finding.upper <= Fraction(1, 2)


def test_rates_of_a_long_first_segment_are_certified() -> None:
    finding = exact_loss(SmoothCounter(rho=1, first=SMOOTH_FROM + 40, buffers=2), steps=300)
    assert finding.verdict is Verdict.CERTIFIED
    assert finding.upper > Fraction(9, 10)


@dataclass(frozen=True, kw_only=True)
class Quiet(SmoothCounter):
    """Noise for a square root that ends at once."""

    def encoding_with(self, segment: int, cascade: Cascade, bits: int) -> Encoding:
        right: Any = super().encoding_with(segment, cascade, bits)
        return Encoding(right.bits, right.variance * 9 / 10)


def test_too_little_noise_is_refuted() -> None:
    assert (
        exact_loss(Quiet(rho=1, first=9, growth=2, buffers=2), steps=8).verdict is Verdict.REFUTED
    )
