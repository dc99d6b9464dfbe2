"""Each flaw befalls its part of the visits, alone, and leaves the others as they were.

The seeds are fixed; a share is off by 4.42 standard errors once in 1e5 seeds.
"""

from __future__ import annotations

import math
from typing import SupportsInt

import numpy as np
import pytest

from ameles.simulate import Flaws, season
from ameles.simulate.flaws import DAMAGES
from ameles.simulate.visits import ABROAD, Visits

EVENTS = 50_000
PART = 0.05
CLEAN = season(events=EVENTS, seed=3).block(0)


def flawed(flaws: Flaws) -> Visits:
    return season(events=EVENTS, seed=3, flaws=flaws).block(0)


def is_the_part(count: SupportsInt) -> bool:
    return abs(int(count) - PART * EVENTS) < 4.42 * math.sqrt(PART * (1 - PART) * EVENTS)


def changed(visits: Visits) -> set[str]:
    """The columns in which some row differs from the season without flaws."""
    names = ("reported_at", "device", "region", "age", "fever", "cough", "temperature", "damage")
    differ = set()
    for name in names:
        column = getattr(visits, name)
        if np.ma.is_masked(column) or not np.array_equal(column, getattr(CLEAN, name)):
            differ.add(name)
    return differ


def test_late_rows_happened_up_to_three_days_before() -> None:
    visits = flawed(Flaws(late=PART))
    back = CLEAN.reported_at - visits.reported_at
    assert is_the_part(np.count_nonzero(back))
    assert back.min() == np.timedelta64(0)
    assert np.timedelta64(70, "h") < back.max() <= np.timedelta64(72, "h")
    assert visits.reported_at.min() >= np.datetime64("2025-10-01")
    assert changed(visits) == {"reported_at"}


def test_duplicated_rows_follow_the_first() -> None:
    visits = flawed(Flaws(duplicated=PART))
    assert is_the_part(len(visits) - EVENTS)
    kept = np.ones(len(visits), dtype=bool)
    kept[1:] = np.diff(visits.device.astype(np.int64)) != 0
    assert set(visits.device[kept]) == set(CLEAN.device)


def test_unparsable_rows_are_broken_in_every_way() -> None:
    visits = flawed(Flaws(unparsable=PART))
    assert is_the_part(np.count_nonzero(visits.damage))
    assert set(visits.damage) == set(range(DAMAGES + 1))
    assert changed(visits) == {"damage"}


def test_missing_values_are_masked_one_a_row() -> None:
    visits = flawed(Flaws(missing=PART))
    names = ("device", "region", "age", "temperature")
    masks = [np.ma.getmaskarray(getattr(visits, name)) for name in names]
    assert is_the_part(np.count_nonzero(masks))
    assert np.sum(masks, axis=0).max() == 1
    assert all(mask.any() for mask in masks)
    assert changed(visits) == set(names)


def test_undeclared_regions_are_abroad() -> None:
    visits = flawed(Flaws(undeclared=PART))
    assert is_the_part(np.count_nonzero(visits.region == ABROAD))
    assert changed(visits) == {"region"}


def test_without_flaws_nothing_is_masked_or_changed() -> None:
    assert changed(flawed(Flaws())) == set()
    assert not Flaws().any
    assert Flaws.all(0.1).any


@pytest.mark.parametrize("part", [0.0, 1.0])
def test_none_and_all_are_parts(part: float) -> None:
    visits = season(events=1000, flaws=Flaws(undeclared=part, duplicated=part)).block(0)
    assert len(visits) == 1000 * (1 + part)
    assert np.count_nonzero(visits.region == ABROAD) == len(visits) * part
