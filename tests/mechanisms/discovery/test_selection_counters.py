from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ameles.mechanisms.discovery.selection_counters import TOP_BITS, SelectionCounters
from ameles.mechanisms.discovery.selection_law import SelectionLaw
from ameles.noise import System, Tape, Zero
from tests.mechanisms.discovery import exact_filters

LOOKS = 16
LAW = SelectionLaw.of((4, 2), LOOKS, rho=Fraction(1, 2), delta=Fraction(1, 10**6))
GAIN = Fraction(LAW.gain, 1 << 12)
NONE = np.empty(0, dtype=np.int64)
# far below every threshold, so that nothing is found whatever the draws are
DEEP = -(1 << 45)


def smoothed_by_the_code(draws: list[int], born: int, weight: int = 0) -> list[int]:
    """The smoothed values of one key that is named before a look, from that look on."""
    counters = SelectionCounters(LAW)
    tape = Tape(draws)
    weights = np.array([weight])
    shown = []
    for look in range(born, LOOKS + 1):
        counters.look(look, np.array([0]) if look == born else NONE, weights, tape)
        shown.append(int(counters.state[-1, 0]))
    assert tape.count == LOOKS
    return shown


@pytest.mark.parametrize("born", [1, 2, 9, LOOKS])
def test_smoothed_values_are_those_of_the_exact_rows_whenever_a_key_is_named(born: int) -> None:
    """Roundings raise them by at most ``raised``, which thresholds pay for."""
    rows = exact_filters.smoothed(exact_filters.decoder(LAW.noise), GAIN)
    for draws in (
        [0] * LOOKS,
        [DEEP] + [0] * (LOOKS - 1),
        [0] * (LOOKS // 2) + [DEEP] + [0] * (LOOKS - LOOKS // 2 - 1),
        System().gaussian(LAW.noise.variance / 4, LOOKS).tolist(),
    ):
        for look, value in enumerate(smoothed_by_the_code(draws, born), start=born):
            exact = sum(
                (part * draw for part, draw in zip(rows[look - 1], draws, strict=True)),
                Fraction(0),
            )
            assert value <= exact + LAW.raised
            # rounding down costs less than a unit for each piece, and for each step of smoothing
            assert value >= exact - LAW.raised - len(LAW.noise.columns.ends) - 1 / GAIN


def test_a_weight_is_smoothed_towards_itself() -> None:
    unit = 1 << LAW.noise.bits
    values = smoothed_by_the_code([0] * LOOKS, 1, weight=8)
    expected = [8 * unit * (1 - (1 - GAIN) ** look) for look in range(1, LOOKS + 1)]
    assert values == pytest.approx([float(each) for each in expected], abs=float(1 / GAIN) + 1)
    assert max(values) <= 8 * unit


def test_a_key_is_found_exactly_when_it_reaches_the_threshold() -> None:
    """Without noise, the smoothed value is moved to the threshold and to one unit below it."""
    for look in (2, LOOKS):
        for below, found in ((0, [0]), (1, [])):
            counters = SelectionCounters(LAW)
            counters.look(1, np.array([0]), np.array([0]), Zero())
            # the value that smoothing towards zero brings there; it is the last that does
            wanted = LAW.thresholds[look - 1] - below
            start = wanted * (1 << 12) // ((1 << 12) - LAW.gain)
            while start + (-start * LAW.gain >> 12) < wanted:
                start += 1
            while start + (-start * LAW.gain >> 12) > wanted:
                start -= 1
            counters.state[-1, 0] = start
            assert counters.look(look, NONE, np.array([0]), Zero()).tolist() == found


def test_enormous_weights_do_not_wrap() -> None:
    for weight in (1 << TOP_BITS, (1 << 62) - 1, 1 << (TOP_BITS - LAW.noise.bits)):
        counters = SelectionCounters(LAW)
        assert counters.look(1, np.array([0]), np.array([weight]), System()).tolist() == [0]


def test_keys_that_are_found_leave_and_the_others_stay_in_order() -> None:
    counters = SelectionCounters(LAW)
    weights = np.array([1, 10**6, 2, 10**6, 3])
    assert counters.look(1, np.arange(5), weights, Zero()).tolist() == [1, 3]
    assert counters.numbers.tolist() == [0, 2, 4]
    unit = 1 << LAW.noise.bits
    smooth = [int(weight * unit * LAW.gain) >> 12 for weight in (1, 2, 3)]
    assert counters.state[-1].tolist() == smooth
