"""The wave rises once and falls once, region after region, over days and nights."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from numpy.typing import NDArray

from ameles.simulate.wave import OFFSET, REGIONS, expected, shares

START = date(2025, 10, 1)


def is_one_wave(daily: NDArray[np.float64]) -> bool:
    """Smoothed over a fifteenth of its length: low, then up to one top, then down, low again."""
    span = max(len(daily) // 15, 1)
    smooth = np.convolve(daily, np.ones(span) / span, mode="valid")
    top = int(smooth.argmax())
    tolerated = 0.1 * smooth.max()  # the weather of the days
    rises = bool((np.maximum.accumulate(smooth[:top]) - smooth[:top] <= tolerated).all())
    falling = smooth[top:][::-1]
    falls = bool((np.maximum.accumulate(falling) - falling <= tolerated).all())
    return rises and falls and smooth[0] < smooth[top] / 3 > smooth[-1]


def ill(days: int, seed: int = 0) -> NDArray[np.float64]:
    """Expected visits of the ill: a row for each day, a column for each region."""
    hourly = expected(days, START, seed)[:, 1::2]
    daily: NDArray[np.float64] = hourly.reshape(days, 24, -1).sum(axis=1)
    return daily


@pytest.mark.parametrize("days", [30, 182, 365])
def test_every_season_is_one_wave(days: int) -> None:
    for seed in range(3):
        assert is_one_wave(ill(days, seed).sum(axis=1))


def test_the_question_itself_tells_waves_from_others() -> None:
    day = np.arange(182.0)
    assert is_one_wave(np.exp(-(((day - 90) / 20) ** 2)))
    assert not is_one_wave(np.ones(182))
    assert not is_one_wave(day)
    assert not is_one_wave(np.exp(-(((day % 91 - 45) / 15) ** 2)))  # two of them


def test_regions_are_hit_one_after_the_other() -> None:
    tops = ill(182).argmax(axis=0)
    assert len(tops) == len(REGIONS)
    assert (np.diff(tops) > 0).all()


def test_nights_are_quiet_where_the_site_is() -> None:
    hours = expected(28, START, 0).sum(axis=1).reshape(28, 24).sum(axis=0)
    assert (hours.argmin() + OFFSET) % 24 == 4
    assert (hours.argmax() + OFFSET) % 24 == 19
    assert hours.max() > 10 * hours.min()


def test_mondays_are_busier_than_sundays() -> None:
    daily = expected(182, START, 0)[:, 0].reshape(182, 24).sum(axis=1)
    weekday = (START.weekday() + np.arange(182)) % 7
    assert daily[weekday == 0].mean() > 1.1 * daily[weekday == 6].mean()


def test_the_shares_of_the_regions_are_all_there_is() -> None:
    assert shares()[-1] == pytest.approx(1)
    assert (np.diff(shares()) > 0).all()
