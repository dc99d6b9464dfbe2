from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ameles.mechanisms.counters.gaussian.cascade import Cascade
from ameles.mechanisms.counters.gaussian.cascade_process import filter_rows
from ameles.mechanisms.counters.gaussian.column_scales import PART_BITS, ColumnScales
from ameles.mechanisms.counters.gaussian.encoded import root_up
from ameles.mechanisms.discovery import KeyDiscovery
from ameles.mechanisms.discovery.certified_gains import smoothed_gains
from ameles.mechanisms.discovery.encoded_noise import EncodedNoise
from ameles.mechanisms.discovery.noise_table import NoiseTable, settle
from ameles.mechanisms.discovery.selection_law import selection_cascade
from ameles.noise import System, Tape
from ameles.noise.arrays import IntArray
from tests.mechanisms.discovery import exact_filters

STEPS = 24
LOUD = 1 << 40
RHO = Fraction(1, 2)
CASCADES = {"selection": selection_cascade(STEPS), "values": Cascade.near(STEPS, 3)}


def law(cascade: Cascade) -> EncodedNoise:
    return EncodedNoise.of(cascade, STEPS, change=Fraction(1), touched=1, rho=RHO)


def check_columns(noise: EncodedNoise) -> None:
    """No column of the encoder is longer than 1, in exact fractions; nor is much given away."""
    columns = zip(*exact_filters.encoder(noise), strict=True)
    for column in columns:
        assert Fraction(99, 100) < exact_filters.squared(list(column)) <= 1


def decoded_by_the_code(noise: EncodedNoise, draws: Sequence[int], first: int = 1) -> list[int]:
    """What the code decodes from these draws, for a counter that joins at a step."""
    table = NoiseTable(noise)
    table.join(1)
    shown = []
    for t, draw in enumerate(draws, start=first):
        row = np.array([[draw]], dtype=np.int64)
        settle(noise, row, table.state, t)
        shown.append(int(row[0, 0]))
    return shown


@pytest.mark.parametrize("kind", CASCADES)
def test_no_column_is_longer_than_one(kind: str) -> None:
    check_columns(law(CASCADES[kind]))


class TooLong(EncodedNoise):
    """Rounds the parts up where they must be rounded down."""

    @property
    def columns(self) -> ColumnScales:
        right = super().columns
        return replace(right, parts=tuple(min(part + 1, 1 << PART_BITS) for part in right.parts))


def test_columns_that_are_a_little_too_long_are_caught() -> None:
    right = law(CASCADES["values"])
    with pytest.raises(AssertionError):
        check_columns(TooLong(right.cascade, right.horizon, right.bits, right.variance))


@pytest.mark.parametrize("kind", CASCADES)
def test_decoder_times_encoder_is_the_prefix_sums(kind: str) -> None:
    """Exactly: so the release is a function of the encoded inputs and their noise."""
    noise = law(CASCADES[kind])
    left, right = exact_filters.decoder(noise), exact_filters.encoder(noise)
    for t in range(STEPS):
        for s in range(STEPS):
            product = sum((left[t][k] * right[k][s] for k in range(s, t + 1)), Fraction(0))
            assert product == (s <= t)


@pytest.mark.parametrize("kind", CASCADES)
def test_the_code_has_this_decoder(kind: str) -> None:
    """A loud draw at each step shows its column, for counters that join then or earlier."""
    noise = law(CASCADES[kind])
    rows = exact_filters.decoder(noise)
    room = 2 * float(noise.cascade.slack) + len(noise.columns.ends)
    for place in range(STEPS):
        for first in {1, place + 1, max(1, place - 2)}:
            draws = [LOUD * (t == place + 1) for t in range(first, STEPS + 1)]
            for t, value in enumerate(decoded_by_the_code(noise, draws, first), start=first):
                assert abs(value - LOUD * rows[t - 1][place]) <= 2 * room


@pytest.mark.parametrize("kind", CASCADES)
def test_variances_are_those_of_the_exact_rows(kind: str) -> None:
    noise = law(CASCADES[kind])
    rows = exact_filters.decoder(noise)
    scale = float(noise.variance) / 4**noise.bits
    for t in (1, 2, 7, STEPS):
        for before in {0, 1, t // 2}:
            old = rows[before - 1] if before else [Fraction(0)] * STEPS
            changed = [new - was for new, was in zip(rows[t - 1], old, strict=True)][:t]
            expected = [float(exact_filters.squared(changed[since:])) * scale for since in range(t)]
            got = noise.variances(t, before if before < t else 0)
            if before < t:
                assert got == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("gain", [Fraction(1), Fraction(2100, 4096)])
@pytest.mark.parametrize("kind", CASCADES)
def test_certified_gains_enclose_the_exact_ones_and_waste_nothing(
    kind: str, gain: Fraction
) -> None:
    noise = law(CASCADES[kind])
    rows = exact_filters.smoothed(exact_filters.decoder(noise), gain)
    for row, (squares, total) in zip(rows, smoothed_gains(noise, gain), strict=True):
        exact, sizes = exact_filters.squared(row), sum(map(abs, row), Fraction(0))
        assert exact <= squares <= exact * (1 + Fraction(1, 10**11))
        assert sizes <= total <= sizes * (1 + Fraction(1, 10**11))


def encoded(noise: EncodedNoise, inputs: IntArray, draws: IntArray) -> IntArray:
    """The encoded values that the code has before it decodes them."""
    state = np.zeros((len(noise.cascade.sections) + 1, 1), dtype=np.int64)
    rows = draws.reshape(-1, 1).copy()
    filter_rows(noise.cascade, rows, state, noise.wide)
    units = np.array(noise.columns.units(noise.horizon, noise.bits))
    result: IntArray = rows[:, 0] + np.cumsum(units * inputs)
    return result


def hiding_draws(noise: EncodedNoise, inputs: IntArray, values: IntArray) -> IntArray:
    """The draws with which other inputs give the same encoded values."""
    state = np.zeros((len(noise.cascade.sections) + 1, 1), dtype=np.int64)
    units = np.array(noise.columns.units(noise.horizon, noise.bits))
    added = np.cumsum(units * inputs)
    draws = []
    for t in range(noise.horizon):
        without = np.zeros((1, 1), dtype=np.int64)
        filter_rows(noise.cascade, without, state.copy(), noise.wide)
        draw = int(values[t] - added[t] - without[0, 0])
        filter_rows(noise.cascade, np.array([[draw]]), state, noise.wide)
        draws.append(draw)
    return np.array(draws)


@pytest.mark.parametrize("kind", CASCADES)
def test_a_change_is_hidden_by_draws_that_differ_by_no_more_than_is_paid_for(kind: str) -> None:
    """On the code itself, roundings included: the sum of the squared differences of draws."""
    noise = law(CASCADES[kind])
    rounding = noise.cascade.rounding * root_up(STEPS)
    paid = (1 << noise.bits) + rounding
    assert paid**2 <= 2 * RHO * noise.variance
    draws = System().gaussian(noise.variance, STEPS)
    inputs = np.arange(STEPS) % 3
    values = encoded(noise, inputs, draws)
    for step in range(STEPS):
        changed = inputs.copy()
        changed[step] += 1
        other = hiding_draws(noise, changed, values)
        assert np.array_equal(encoded(noise, changed, other), values)
        moved = sum(int(x) ** 2 for x in other - draws)
        assert moved <= paid**2
        assert moved >= Fraction(98, 100) * (1 << 2 * noise.bits)


def test_rules_of_rates_come_close_to_the_best_that_a_search_found() -> None:
    """The largest deviation of the smoothed counter; searched with two real buffers."""
    for looks, best in ((25, 1.5748), (50, 1.631), (100, 1.6635)):
        noise = EncodedNoise.of(
            selection_cascade(looks), looks, change=Fraction(1), touched=1, rho=RHO
        )
        gain = Fraction(round((1 << 12) / (1 + looks / 25)), 1 << 12)
        worst = max(math.sqrt(squares) for squares, _ in smoothed_gains(noise, gain))
        assert worst <= 1.01 * best


def test_every_draw_of_a_value_reaches_its_own_key_through_the_decoder() -> None:
    """The whole run, on the tape: keys that are found at different steps, with two cells each."""
    recipe = KeyDiscovery(epsilon=6, delta="1e-6", horizon=8, records=4, cells=2)
    many = 10**6
    steps = [{"a": (many, 1, 2)}, {}, {"b": (many, 3, 4), "c": (many, 5, 6)}, {}, {"a": (0, 7, 8)}]
    noise = recipe.values
    rows = exact_filters.decoder(noise)
    quiet = Tape()
    run = recipe.start(quiet)
    truth = [run.step(step) for step in steps]
    laws = quiet.laws
    drawn = [place for place, law in enumerate(laws) if law == ("gaussian", noise.variance)]
    places = [(t, cell) for t, out in enumerate(truth, 1) for cell in range(2 * out.public.size)]
    assert len(drawn) == len(places)
    for place, (step, cell) in zip(drawn, places, strict=True):
        shown = recipe.start(Tape([0] * place + [LOUD])).feed(steps)
        for t, (out, plain) in enumerate(zip(shown, truth, strict=True), 1):
            moved = (out.values - plain.values).reshape(-1)
            expected = np.zeros(moved.size)
            if t >= step:
                expected[cell] = LOUD * rows[t - 1][step - 1] / (1 << noise.bits)
            assert np.abs(moved - expected).max() <= 1
