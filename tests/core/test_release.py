"""Releases: plain public records."""

from __future__ import annotations

import copy
import json
from dataclasses import FrozenInstanceError, fields, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.core.exceptions import BadInput
from ameles.core.release import COLUMNS, Release

from .transport import sent

START = datetime(2026, 1, 3, tzinfo=UTC)
RELEASE = Release(
    stream="flu",
    release="fever",
    key="north/adult",
    step=3,
    start=START,
    end=START + timedelta(days=1),
    value=17,
    low=11,
    high=23,
    label="",
    mechanism="BinaryCounter",
    entry=1,
)


def test_a_record_has_every_field_in_order() -> None:
    assert RELEASE.to_dict() == {
        "stream": "flu",
        "release": "fever",
        "key": "north/adult",
        "step": 3,
        "start": "2026-01-03T00:00:00Z",
        "end": "2026-01-04T00:00:00Z",
        "value": 17,
        "low": 11,
        "high": 23,
        "label": "",
        "mechanism": "BinaryCounter",
        "entry": 1,
    }
    assert tuple(RELEASE.to_dict()) == COLUMNS == tuple(each.name for each in fields(Release))


def test_a_stream_without_a_clock_has_no_times() -> None:
    timeless = replace(RELEASE, start=None, end=None).to_dict()
    assert (timeless["start"], timeless["end"]) == (None, None)


NUMBERS = st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)


@given(st.text(), NUMBERS, NUMBERS, st.none() | st.datetimes(timezones=st.just(UTC)))
def test_a_record_is_json_that_means_the_release(
    key: str, value: int | float | None, low: int | float | None, start: datetime | None
) -> None:
    release = replace(RELEASE, key=key, value=value, low=low, start=start)
    record = json.loads(json.dumps(release.to_dict(), allow_nan=False))
    times = {
        edge: record[edge] and datetime.fromisoformat(record[edge]) for edge in ("start", "end")
    }
    assert Release(**{**record, **times}) == release


def test_every_time_is_written_in_utc() -> None:
    there = START.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert replace(RELEASE, start=there).to_dict()["start"] == "2026-01-03T00:00:00Z"
    late = START + timedelta(microseconds=250)
    assert replace(RELEASE, start=late).to_dict()["start"] == "2026-01-03T00:00:00.000250Z"


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(BadInput, match="times with a zone"):
        replace(RELEASE, start=START.replace(tzinfo=None)).to_dict()


def test_what_was_published_does_not_change() -> None:
    writable: Any = RELEASE
    for each in fields(Release):
        with pytest.raises(FrozenInstanceError):
            setattr(writable, each.name, 0)


def test_a_release_survives_copies_and_pipes() -> None:
    assert RELEASE == copy.copy(RELEASE) == copy.deepcopy(RELEASE) == sent(RELEASE)
    assert len({RELEASE, sent(RELEASE)}) == 1


def test_every_field_must_be_given_by_name() -> None:
    make: Any = Release
    with pytest.raises(TypeError, match="positional"):
        make("flu")
    for each in fields(Release):
        others = {f.name: getattr(RELEASE, f.name) for f in fields(Release) if f is not each}
        with pytest.raises(TypeError, match=each.name):
            make(**others)
