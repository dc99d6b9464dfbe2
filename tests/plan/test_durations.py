"""Durations are read as people write them, and divide into whole steps or are refused."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.core.exceptions import BadInput
from ameles.plan.durations import DAY, SECOND, Duration


@pytest.mark.parametrize(
    ("text", "length"),
    [("1s", SECOND), ("10m", 600 * SECOND), ("24h", DAY), ("1d", DAY), ("2w", 14 * DAY)],
)
def test_lengths(text: str, length: int) -> None:
    assert Duration.read(text).microseconds == length
    assert str(Duration.read(text)) == text


@pytest.mark.parametrize("text", ["", "0d", "-1d", "1.5h", "1 d", "d", "1y", "1D", "01d", "1d\n"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="whole number and one of s, m, h, d, w"):
        Duration.read(text)


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(BadInput):
        assert Duration.read(text).microseconds > 0


def test_steps() -> None:
    minutes, day = Duration.read("10m"), Duration.read("1d")
    assert Duration.read("1h").steps(minutes, zone="Europe/Rome") == 6
    assert Duration.read("1d").steps(minutes, zone="UTC") == 144
    assert Duration.read("4w").steps(day, zone="Europe/Rome") == 28


def test_a_day_is_no_number_of_hours_where_clocks_change() -> None:
    with pytest.raises(BadInput, match="not a whole number of steps of 1h in the zone Europe/Rome"):
        Duration.read("1d").steps(Duration.read("1h"), zone="Europe/Rome")


@pytest.mark.parametrize(("window", "every"), [("90m", "1h"), ("30m", "1h"), ("10d", "1w")])
def test_what_is_no_whole_number_of_steps_is_refused(window: str, every: str) -> None:
    with pytest.raises(BadInput, match="not a whole number of steps"):
        Duration.read(window).steps(Duration.read(every), zone="UTC")
