"""Times and durations of queries: what cannot be one is refused, and nothing overflows."""

from __future__ import annotations

import pytest

from ameles.service.metrics.query_times import EARLIEST, LATEST, LONGEST, duration, moment
from ameles.service.metrics.refusals import QueryRefused


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "1e300",
        "253402300800",
        "-62135596801",
        "2026-02-30T00:00:00Z",
        "2026-01-01T25:00:00Z",
        "2026-01-01T00:00:00+99:00",
        "2026-01-01T00:00:00",
    ],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(QueryRefused):
        moment(text)


def test_the_first_and_the_last_time() -> None:
    assert moment("-62135596800") == moment("0001-01-01T00:00:00Z") == EARLIEST
    assert moment("253402300799.999") == moment("9999-12-31T23:59:59.999Z") == LATEST


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "0.0009", "0ms", "101y", "1e300", "999999999999999y", "1x", "s", "1m1h"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(QueryRefused):
        duration(text)


def test_the_shortest_and_the_longest_duration() -> None:
    assert duration("0.001") == duration("1ms") == 1
    assert duration(str(LONGEST // 1000)) == LONGEST
