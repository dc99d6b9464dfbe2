"""A cascade of buffers: its encoder in exact fractions, its norms, its roundings."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest

from ameles.accounting.interval import Interval
from ameles.core.exceptions import StoreRefused
from ameles.mechanisms.counters.gaussian.cascade import Cascade, CascadeBuffer

HORIZON = 24
CASCADE = Cascade.near(HORIZON, 3)


def encoder(cascade: Cascade, steps: int) -> list[Fraction]:
    """c_0, c_1, ... from the weights."""
    later = [
        sum((w * kept ** (j - 1) for w, kept in cascade.terms), Fraction(0))
        for j in range(1, steps)
    ]
    return [Fraction(1), *later]


def decoder(cascade: Cascade, steps: int) -> list[Fraction]:
    """b_0, b_1, ...: a one through the sections, without roundings."""
    averages = [Fraction(0)] * len(cascade.sections)
    column = []
    for _ in range(steps):
        u = Fraction(1)  # the running sum of an impulse
        for i, section in enumerate(cascade.sections):
            average = averages[i]
            averages[i] += section.rate * (u - average)
            u -= section.share * average
        column.append(u)
    return column


def inside(value: Fraction, interval: Interval) -> bool:
    near = Fraction(interval.high) - Fraction(interval.low) < Fraction(1, 10**30)
    return near and Fraction(interval.low) <= value <= Fraction(interval.high)


@pytest.mark.parametrize("buffers", [2, 3, 6])
def test_encoder_and_decoder_make_the_prefix_sums_exactly(buffers: int) -> None:
    cascade = Cascade.near(HORIZON, buffers)
    b, c = decoder(cascade, 12), encoder(cascade, 12)
    for t in range(12):
        assert sum(b[j] * c[t - j] for j in range(t + 1)) == 1


def test_the_encoder_is_positive_and_falls() -> None:
    for cascade in (CASCADE, Cascade.near(2**20, 6), Cascade.near(2**30, 2)):
        assert all(weight > 0 for weight in cascade.weights)
        c = encoder(cascade, 5)
        assert all(earlier > later > 0 for earlier, later in pairwise(c))


@pytest.mark.parametrize("m", [1, 2, 5, HORIZON - 1, HORIZON])
def test_the_norm_is_that_of_the_columns(m: int) -> None:
    c = encoder(CASCADE, HORIZON)
    windows = [sum(c[max(0, t - m + 1) : t + 1], Fraction(0)) for t in range(HORIZON)]
    exact = sum((w * w for w in windows), Fraction(0))
    assert inside(exact, CASCADE.squared_norm(HORIZON, m))
    assert CASCADE.squared_norm(HORIZON, 10**6) == CASCADE.squared_norm(HORIZON, HORIZON)


def test_the_first_steps_are_the_worst() -> None:
    horizon = 8
    c = np.array([float(x) for x in encoder(CASCADE, horizon)])
    columns = [np.concatenate([np.zeros(s), c[: horizon - s]]) for s in range(horizon)]
    for m in range(1, horizon + 1):
        worst = max(
            float(np.sum(np.sum([columns[s] for s in changed], axis=0) ** 2))
            for changed in combinations(range(horizon), m)
        )
        claimed = float(CASCADE.squared_norm(horizon, m).up())
        assert claimed == pytest.approx(worst, rel=1e-12)


def test_the_spread_bounds_the_norm_and_grows_faster_than_its_steps() -> None:
    before = Fraction(0)
    for m in range(1, HORIZON + 5):
        c = encoder(CASCADE, HORIZON + m)
        exact = sum(
            (
                (m - abs(d)) * sum((c[j] * c[j + abs(d)] for j in range(HORIZON)), Fraction(0))
                for d in range(1 - m, m)
            ),
            Fraction(0),
        )
        spread = CASCADE.squared_spread(HORIZON, m)
        assert inside(exact, spread)
        assert Fraction(CASCADE.squared_norm(HORIZON, m).low) <= exact
        assert exact / m >= before
        before = exact / m
    assert float(CASCADE.squared_spread(HORIZON, 1).up()) == pytest.approx(
        float(CASCADE.squared_norm(HORIZON, 1).up())
    )


def test_roundings_pass_filters_of_at_most_the_stated_norm() -> None:
    # the L1 norms, numerically: (1 - z) C_i, and g z (1 - z) C_(i-1) / (1 - (1 - x_i) z)
    cascade, steps = Cascade.near(300, 4), 300
    total = 0.0
    for i, section in enumerate(cascade.sections):
        upto = [float(x) for x in encoder(Cascade(cascade.sections[: i + 1]), steps)]
        before = [1.0] + [0.0] * (steps - 1)
        if i:
            before = [float(x) for x in encoder(Cascade(cascade.sections[:i]), steps)]
        decay = float(1 - section.pole) ** np.arange(steps)
        total += np.abs(np.diff(upto, prepend=0)).sum()
        through = np.convolve(np.diff(before, prepend=0), decay)[:steps]
        total += float(section.share) * np.abs(through).sum()
    assert total <= float(cascade.rounding) <= 1.5 * total


def test_slack_covers_what_roundings_do_to_a_release() -> None:
    cascade, steps = Cascade.near(300, 4), 300
    exact = _without_roundings(cascade, steps)
    rounded = _with_roundings(cascade, steps)
    assert max(abs(a - b) for a, b in zip(exact, rounded, strict=True)) <= cascade.slack


def _noises(steps: int) -> list[int]:
    return [(k * k * 7919) % 2003 - 1001 for k in range(steps)]


def _without_roundings(cascade: Cascade, steps: int) -> list[float]:
    b = decoder_floats(cascade, steps)
    return [float(w) for w in np.convolve(b, _noises(steps))[:steps]]


def decoder_floats(cascade: Cascade, steps: int) -> list[float]:
    averages = [0.0] * len(cascade.sections)
    column = []
    for _ in range(steps):
        u = 1.0
        for i, section in enumerate(cascade.sections):
            average = averages[i]
            averages[i] += float(section.rate) * (u - average)
            u -= float(section.share) * average
        column.append(u)
    return column


def _with_roundings(cascade: Cascade, steps: int) -> list[int]:
    averages, walk, column = [0] * len(cascade.sections), 0, []
    for noise in _noises(steps):
        walk += noise
        u = walk
        for i, section in enumerate(cascade.sections):
            average = averages[i]
            averages[i] += (section.rate * (u - average)).__floor__()
            u -= (section.share * average).__floor__()
        column.append(u)
    return column


@pytest.mark.parametrize("horizon", [1, 2, 3, 17, 2**10, 2**20, 2**40])
@pytest.mark.parametrize("buffers", [2, 3, 4, 5, 6])
def test_rounded_rates_interlace_for_every_horizon(horizon: int, buffers: int) -> None:
    cascade = Cascade.near(horizon, buffers)  # its constructor refuses what does not
    assert Cascade.read(cascade.numbers) == cascade
    assert len(cascade.sections) == buffers


def test_rates_that_do_not_interlace_are_refused() -> None:
    slow, fast = CASCADE.sections[0], CASCADE.sections[-1]
    for sections in (
        (fast, slow),
        (slow, slow),
        (CascadeBuffer(3, 1, 1),),
        (CascadeBuffer(0, 4, 1),),
    ):
        with pytest.raises(StoreRefused, match="interlace"):
            Cascade(sections)


def test_gains_are_sums_of_squares() -> None:
    b = np.array(decoder_floats(CASCADE, HORIZON))
    gains = np.cumsum(b * b)
    for t in (1, 2, 10, HORIZON):
        assert CASCADE.gain(t) == pytest.approx(gains[t - 1], rel=1e-9)
        assert CASCADE.mean_gain(t) == pytest.approx(gains[:t].mean(), rel=1e-9)
