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

from ameles.core.release import Release

from .transport import sent

START = datetime(2026, 1, 3, tzinfo=UTC)
RELEASE = Release(
    stream="flu",
    name="fever",
    key=("north", "adult"),
    step=3,
    start=START,
    end=START + timedelta(days=1),
    value=17,
    low=11,
    high=23,
    mechanism="BinaryCounter",
    entry=1,
)


def test_a_record_has_every_field_in_order() -> None:
    assert RELEASE.to_dict() == {
        "stream": "flu",
        "name": "fever",
        "key": ["north", "adult"],
        "step": 3,
        "start": "2026-01-03T00:00:00+00:00",
        "end": "2026-01-04T00:00:00+00:00",
        "value": 17,
        "low": 11,
        "high": 23,
        "mechanism": "BinaryCounter",
        "entry": 1,
    }
    assert list(RELEASE.to_dict()) == [each.name for each in fields(Release)]


def test_a_stream_without_a_clock_has_no_times() -> None:
    timeless = replace(RELEASE, start=None, end=None).to_dict()
    assert (timeless["start"], timeless["end"]) == (None, None)


@given(
    st.lists(st.text(), max_size=3).map(tuple),
    st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    st.none() | st.datetimes(timezones=st.just(UTC)),
)
def test_a_record_is_json_that_means_the_release(
    key: tuple[str, ...], value: int | float, start: datetime | None
) -> None:
    release = replace(RELEASE, key=key, value=value, start=start)
    record = json.loads(json.dumps(release.to_dict(), allow_nan=False))
    times = {
        edge: record[edge] and datetime.fromisoformat(record[edge]) for edge in ("start", "end")
    }
    assert Release(**{**record, **times, "key": tuple(record["key"])}) == release


def test_a_time_keeps_its_own_zone() -> None:
    there = START.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert replace(RELEASE, start=there).to_dict()["start"] == "2026-01-03T05:30:00+05:30"


def test_a_record_is_not_shared_with_its_release() -> None:
    RELEASE.to_dict()["key"].append("changed")
    assert RELEASE.key == ("north", "adult")


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
