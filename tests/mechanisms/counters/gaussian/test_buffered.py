"""Buffered counter: its certified sensitivity from the code, its figures, its speed paths."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.mechanisms.counters.gaussian.buffered import BufferedCounter
from ameles.mechanisms.counters.gaussian.cascade import Cascade
from ameles.mechanisms.counters.gaussian.cascade_process import FEW, CascadeProcess, Levels
from ameles.mechanisms.counters.gaussian.encoded import Encoding
from ameles.mechanisms.counters.gaussian.error import gaussian_lower_bound
from ameles.noise import System, Tape
from ameles.noise.arrays import IntArray
from tests.mechanisms.counters.twins import scattered, shift, squares

STEPS = 16


def certified(recipe: BufferedCounter, bits: int) -> Fraction:
    return recipe.encoding_with(recipe.filter, bits).variance * 2 * recipe.spend


def encoding_shift(
    recipe: BufferedCounter, noises: Sequence[int], change: Sequence[int], bits: int
) -> list[int]:
    """On the grid of 2^-bits; a process on the grid of whole numbers gives the encoding itself."""
    start = Levels.start(recipe.filter, 0, 1).numbers()
    return shift(recipe.process, start, noises, [step << bits for step in change])


@settings(max_examples=80, deadline=None)
@given(
    noises=st.lists(st.integers(-(2**30), 2**30), min_size=STEPS, max_size=STEPS),
    changed=st.sets(st.integers(0, STEPS - 1), min_size=1, max_size=3),
    sizes=st.lists(st.sampled_from([-2, -1, 1, 2]), min_size=3, max_size=3),
    bits=st.sampled_from([0, 4, 16]),
    buffers=st.sampled_from([2, 4, 6]),
)
def test_no_neighbours_exceed_the_certificate(
    noises: list[int], changed: set[int], sizes: list[int], bits: int, buffers: int
) -> None:
    recipe = BufferedCounter(rho=1, horizon=STEPS, contributions=3, bound=2, buffers=buffers)
    change = [0] * STEPS
    for step, size in zip(sorted(changed), sizes, strict=False):
        change[step] = size
    assert squares(encoding_shift(recipe, noises, change, bits)) <= certified(recipe, bits)


def test_noises_that_seek_the_worst_roundings_stay_within_the_certificate() -> None:
    # at each step the noise, of 16, after which the twins are furthest apart
    recipe = BufferedCounter(rho=1, horizon=STEPS, buffers=4)
    change = [1] + [0] * STEPS
    noises: list[int] = []

    def apart(noise: int) -> int:
        tried = [*noises, noise, 0]  # a noise shows in the step after it
        return squares(encoding_shift(recipe, tried, change[: len(tried)], 2))

    for seed in range(STEPS - 1):
        noises.append(max(scattered(16, 2**12, seed), key=apart))
    linear = float(recipe.filter.squared_norm(STEPS, 1).up()) * 16
    assert 1.05 * linear < apart(0) <= certified(recipe, 2)


def test_a_certificate_without_the_roundings_is_caught() -> None:
    recipe = BufferedCounter(rho=1, horizon=STEPS)
    change, _ = recipe._sensitivity(recipe.filter)
    for bits in (4, recipe.encoding.bits):  # coarse, and as it is used
        without = Encoding.of(change=change, rounding=Fraction(0), bits=bits, rho=recipe.spend)
        worst = max(
            squares(encoding_shift(recipe, scattered(STEPS, 2**28, seed), [1] + [0] * 15, bits))
            for seed in range(20)
        )
        assert without.variance * 2 < worst <= certified(recipe, bits)


def test_a_certificate_for_fewer_contributions_is_caught() -> None:
    recipe = BufferedCounter(rho=1, horizon=STEPS)
    two = BufferedCounter(rho=1, horizon=STEPS, contributions=2)
    shift = squares(encoding_shift(recipe, [0] * STEPS, [1, 1] + [0] * 14, 16))
    assert certified(recipe, 16) < shift <= certified(two, 16)
    assert shift == pytest.approx(float(certified(two, 16)), rel=0.01)


def test_the_certificate_is_hardly_larger_than_the_columns() -> None:
    for horizon in (2**10, 2**20, 2**30):
        recipe = BufferedCounter(epsilon=1, delta=1e-6, horizon=horizon)
        columns = float(recipe.filter.squared_norm(horizon, 1).up())
        used = float(recipe.encoding.variance * 2 * recipe.spend) / 4**recipe.encoding.bits
        assert 1 < used / columns < 1.001


@pytest.mark.parametrize(
    ("horizon", "buffers", "mean", "worst"),
    [
        (2**10, 4, 3.110, 3.273),
        (2**10, 6, 3.110, 3.273),
        (2**16, 4, 4.450, 4.617),
        (2**16, 6, 4.435, 4.597),
        (2**20, 4, 5.382, 5.564),
        (2**20, 6, 5.323, 5.485),
    ],
)
def test_the_figures_of_the_frontier(horizon: int, buffers: int, mean: float, worst: float) -> None:
    recipe = BufferedCounter(rho="1e-4", horizon=horizon, buffers=buffers)
    sigma = float(1 / (2 * recipe.spend)) ** 0.5
    # what the grid and its roundings cost is below 0.1%
    assert recipe.error.rms(horizon) / sigma == pytest.approx(mean, rel=1e-3)
    assert recipe.error.std(horizon) / sigma == pytest.approx(worst, rel=1e-3)


@pytest.mark.parametrize(("buffers", "goal"), [(4, 1.13), (6, 1.08)])
@pytest.mark.parametrize("horizon", [2**20, 2**23, 2**26])
def test_the_goals_against_the_lower_bound(horizon: int, buffers: int, goal: float) -> None:
    recipe = BufferedCounter(rho="1e-4", horizon=horizon, buffers=buffers)
    sigma = float(1 / (2 * recipe.spend)) ** 0.5
    assert recipe.error.std(horizon) / sigma <= goal * gaussian_lower_bound(horizon)


def test_an_impulse_of_noise_shows_the_decoder() -> None:
    recipe = BufferedCounter(rho=1, horizon=3000, buffers=5)
    start = Levels.start(recipe.filter, 0, 1).numbers()
    decoder = recipe.process(Tape([2**40]), start).take(3000)[:, 0] / 2.0**40
    assert np.cumsum(decoder**2)[-1] == pytest.approx(recipe.filter.gain(3000), rel=1e-6)
    encoder = [1.0]
    for j in range(1, 3000):
        encoder.append(sum(float(w) * float(kept) ** (j - 1) for w, kept in recipe.filter.terms))
    assert np.convolve(decoder, encoder)[:3000] == pytest.approx(np.ones(3000), abs=1e-6)


@pytest.mark.parametrize("spread", [2**20, 2**42])
def test_one_counter_many_and_wide_products_give_the_same_integers(spread: int) -> None:
    columns, steps = FEW + 1, 60
    cascade = Cascade.near(1000, 4)
    noises = scattered(columns * steps, spread)

    def releases(noise: Noise, width: int, *, wide: bool) -> IntArray:
        process = CascadeProcess(noise, Levels.start(cascade, 5, width), Fraction(1), 1000)
        process._wide = wide
        return process.take(steps)

    wide = releases(Tape(noises), columns, wide=True)
    if spread < 2**30:  # products of 12 bits fit
        assert (releases(Tape(noises), columns, wide=False) == wide).all()
    for key in (0, 7, FEW):
        assert (releases(Tape(noises[key::columns]), 1, wide=False)[:, 0] == wide[:, key]).all()


def test_long_noise_uses_wide_products() -> None:
    short = BufferedCounter(rho=1, horizon=2**10)
    long = BufferedCounter(rho=1, horizon=2**40)
    for recipe, wide in ((short, False), (long, True)):
        process = recipe.process(Tape(), None)
        assert isinstance(process, CascadeProcess)
        assert process._wide == wide


def test_a_resumed_run_keeps_its_rates_and_its_grid() -> None:
    # as if another machine's floats had rounded to other rates
    recipe = BufferedCounter(rho=1, horizon=100, buffers=3)
    foreign = Levels.start(Cascade.near(90, 3), 9, 1)
    tape = Tape()
    process = recipe.process(tape, foreign.numbers())
    process.take(1)
    assert process.state().tolist() == foreign.numbers().tolist()
    assert tape.draws[0].scale == recipe.encoding_with(foreign.cascade, 9).variance


@pytest.mark.parametrize("buffers", [0, 1, 7, 2.5])
def test_buffers_are_two_to_six(buffers: int) -> None:
    with pytest.raises(BadInput, match="from 2 to 6"):
        BufferedCounter(rho=1, horizon=8, buffers=buffers)


def test_more_keys_that_one_unit_can_touch_cost_more_roundings() -> None:
    one = BufferedCounter(rho=1, horizon=64, width=50)
    many = BufferedCounter(rho=1, horizon=64, width=50, contributions=4, bound=5)
    assert (one.touched, many.touched) == (1, 20)
    assert BufferedCounter(rho=1, horizon=64, width=3, bound=5).touched == 3
    assert many._sensitivity(many.filter)[1] > 4 * one._sensitivity(one.filter)[1]


def test_correlated_noise_is_as_predicted_late_in_a_stream() -> None:
    # 20,000 counters: a sample variance is off by sqrt(2 / n) = 1%; 6% is 6 standard errors,
    # a false alarm of 2e-9
    recipe = BufferedCounter(rho=1, horizon=200, width=20_000, buffers=3)
    seen = recipe.start(System()).feed(np.zeros((200, 20_000), dtype=np.int64))
    assert float(seen[-1].var()) == pytest.approx(recipe.error.std(200) ** 2, rel=0.06)
