"""The clock of a test."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ameles.testing import ManualClock, PlanTest
from tests.testing.plans import plan


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-07-01", "2026-06-30T22:00:00+00:00"),
        ("2026-07-01T09:30", "2026-07-01T07:30:00+00:00"),
        ("2026-07-01T09:30:00Z", "2026-07-01T09:30:00+00:00"),
    ],
)
def test_a_text_without_an_offset_is_in_the_zone(text: str, expected: str) -> None:
    clock = ManualClock(text, "Europe/Rome")
    assert clock.now.astimezone(UTC).isoformat() == expected
    clock.set("2020-01-01")
    clock.set(text)
    assert clock() == int(datetime.fromisoformat(expected).timestamp()) * 1_000_000


def test_it_stands_still_until_it_is_moved() -> None:
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    assert clock() == clock()
    clock.advance(days=1, hours=2, minutes=3, seconds=4.5)
    assert repr(clock) == "ManualClock('2026-01-02T02:03:04.500000+00:00')"


def test_a_test_begins_with_its_stream_in_its_zone() -> None:
    test = PlanTest(plan(stream='zone = "Europe/Rome"'))
    assert test.clock.now.astimezone(UTC).isoformat() == "2025-12-31T23:00:00+00:00"
    assert test.run().released == 0
    test.clock.set("2026-01-02")
    assert test.run().released == 1
    assert test.run(through=1).released == 1  # a clock that is later stays
    assert test.clock.now.isoformat() == "2026-01-02T00:00:00+01:00"
