"""A season: exact in number, in order, bounded in memory, the same again, and like people."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from datetime import date
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ameles.core.exceptions import BadInput
from ameles.simulate import REGIONS, Season, season
from ameles.simulate.draws import low, words
from ameles.simulate.visits import BLOCK, FEVER, Visits


def column(of: Season, name: str) -> NDArray[Any]:
    return np.concatenate([getattr(block, name) for block in of])


def same(one: Visits, other: Visits) -> bool:
    return all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name))
        for field in fields(Visits)
    )


@pytest.fixture(scope="module")
def winter() -> Season:
    return season(events=BLOCK + 1000, seed=1)


def test_there_are_exactly_as_many_events_as_asked_for_in_blocks(winter: Season) -> None:
    assert [len(block) for block in winter] == [BLOCK, 1000]
    assert [len(block) for block in season(events=BLOCK)] == [BLOCK]
    assert [len(block) for block in season(events=1)] == [1]


def test_the_same_seed_gives_the_same_events_and_another_others(winter: Season) -> None:
    assert same(winter.block(1), season(events=BLOCK + 1000, seed=1).block(1))
    assert not same(winter.block(1), season(events=BLOCK + 1000, seed=2).block(1))


def test_a_block_far_out_is_made_without_those_before_it() -> None:
    endless = season(events=10**12, visitors=2**31)
    last = endless.block(10**12 // BLOCK)
    assert 0 < len(last) < BLOCK
    assert last.reported_at[-1] < np.datetime64("2026-04-01")


@pytest.mark.parametrize("days", [1, 7, 182, 3660])
def test_events_are_in_order_and_within_the_season(days: int) -> None:
    made = season(days=days, events=20_000, start="2024-02-28")
    times = column(made, "reported_at")
    assert (np.diff(times) >= np.timedelta64(0)).all()
    assert times[0] >= np.datetime64("2024-02-28")
    assert times[-1] < np.datetime64("2024-02-28") + np.timedelta64(days, "D")
    assert len(np.unique(times.astype("datetime64[D]"))) == days


def test_fever_is_a_temperature_of_38_or_more(winter: Season) -> None:
    temperature = column(winter, "temperature")
    assert np.array_equal(column(winter, "fever"), temperature >= FEVER)
    assert 35 < temperature.min() < 36.5
    assert 40 < temperature.max() < 42
    assert np.array_equal(temperature, np.rint(10 * temperature) / 10)


def test_fever_and_cough_come_with_the_wave(winter: Season) -> None:
    day = (column(winter, "reported_at") - np.datetime64("2025-10-01")).astype("timedelta64[D]")
    top = (day.astype(int) > 80) & (day.astype(int) < 110)
    calm = day.astype(int) < 30
    for name in ("fever", "cough"):
        symptom = column(winter, name)
        assert symptom[top].mean() > 1.8 * symptom[calm].mean()


def test_a_device_has_one_region_and_one_age(winter: Season) -> None:
    device = column(winter, "device").astype(np.uint64)
    seen = len(np.unique(device))
    for name in ("region", "age"):
        pairs = device * np.uint64(256) + column(winter, name)
        assert len(np.unique(pairs)) == seen


def test_regions_have_their_shares_and_ages_are_those_of_people(winter: Season) -> None:
    # The shares of the events vary with the weather, 7% a day, hardly over a season.
    shares = np.bincount(column(winter, "region")) / winter.events
    assert shares == pytest.approx([0.30, 0.35, 0.20, 0.15], abs=0.01)
    assert len(shares) == len(REGIONS)
    age = column(winter, "age")
    assert age.max() < 100
    assert 0.2 < (age < 25).mean() < 0.4
    assert 0.05 < (age >= 65).mean() < 0.25


def is_heavy_tailed(visits: NDArray[np.int64]) -> bool:
    """The hundredth part of the visitors who come most often make a twentieth of all visits.

    By the law they make a tenth: of all n visitors, the first k make sqrt(k / n) of the visits.
    Where all are equally likely to come, three times on average, they make a thirtieth.
    """
    often = np.sort(visits)[-max(len(visits) // 100, 1) :]
    return bool(often.sum() > visits.sum() / 20)


def test_a_few_visitors_come_very_often(winter: Season) -> None:
    visits = np.unique(column(winter, "device"), return_counts=True)[1]
    assert is_heavy_tailed(visits)
    assert np.median(visits) <= 2
    equal = low(words(1, "equal", 0, rows=winter.events, each=1)[0]) * winter.visitors
    assert not is_heavy_tailed(np.bincount(equal.astype(np.int64)))


def test_no_two_visitors_have_one_device() -> None:
    # 100 events for each of 2000 visitors: number k has at least 50, so one stays away with
    # probability exp(-50).
    devices = column(season(visitors=2000, events=200_000), "device")
    assert len(np.unique(devices)) == 2000


@pytest.mark.parametrize("visitors", [1, 2, 3, 5])
def test_a_handful_of_visitors_is_enough(visitors: int) -> None:
    devices = column(season(visitors=visitors, events=1000), "device")
    assert len(np.unique(devices)) <= visitors


def test_one_of_visitors_and_events_follows_from_the_other() -> None:
    assert season(visitors=50).events == 150
    assert season(events=150).visitors == 50
    assert season(events=1).visitors == 1
    both = season(events=10, visitors=4, start=date(2026, 1, 1))
    assert (both.events, both.visitors) == (10, 4)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: season(days=0), "'days'"),
        (lambda: season(events=0), "'events'"),
        (lambda: season(visitors=0), "'visitors'"),
        (lambda: season(visitors=2**31 + 1), "'visitors'"),
        (lambda: season(start="yesterday"), "'start'"),
        (lambda: season(start="0001-01-01"), "'start'"),
        (lambda: season(seed=-1), "'seed'"),
        (lambda: season(flaws=1.5), "'late'"),
        (lambda: season(flaws=math.nan), "'late'"),
    ],
)
def test_what_cannot_be_is_refused(wrong: Callable[[], object], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        wrong()
