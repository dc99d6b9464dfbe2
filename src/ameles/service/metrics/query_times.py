"""Times and durations in queries, as Prometheus reads them, in milliseconds.

>>> moment("1767225600.5"), moment("2026-01-01T00:00:00+01:00")
(1767225600500, 1767222000000)
>>> duration("1.5"), duration("1m30s"), duration("2w")
(1500, 90000, 1209600000)
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta

from ameles.service.metrics.refusals import QueryRefused

EARLIEST, LATEST = -62_135_596_800_000, 253_402_300_799_999  # the years 1 and 9999
LONGEST = 100 * 366 * 86_400_000
_NUMBER = re.compile(r"[+-]?([0-9]{1,20}(\.[0-9]{0,20})?|\.[0-9]{1,20})([eE][+-]?[0-9]{1,3})?")
_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,30})?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})"
)
_UNITS = {
    "y": 365 * 86_400_000,
    "w": 7 * 86_400_000,
    "d": 86_400_000,
    "h": 3_600_000,
    "m": 60_000,
    "s": 1_000,
    "ms": 1,
}
_DURATION = re.compile("".join(f"(?:([0-9]{{1,15}}){unit})?" for unit in _UNITS))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(text: str) -> int:
    """A time: seconds since 1970, or as RFC 3339 has it."""
    if _NUMBER.fullmatch(text):
        seconds = float(text)
        if EARLIEST <= seconds * 1000 <= LATEST:
            whole = math.trunc(seconds)
            return whole * 1000 + round((seconds - whole) * 1000)
    if _INSTANT.fullmatch(text):
        try:
            return (datetime.fromisoformat(text) - _EPOCH) // timedelta(milliseconds=1)
        except (ValueError, OverflowError):  # the 30th of February, or hours that do not exist
            pass
    raise QueryRefused("A time must be in seconds since 1970, or as RFC 3339 has it.")


def duration(text: str) -> int:
    """A duration above zero: seconds, or with units like 1h30m."""
    length = 0.0
    if _NUMBER.fullmatch(text):
        length = float(text) * 1000
    elif text and (read := _DURATION.fullmatch(text)):
        length = sum(
            int(number) * unit
            for number, unit in zip(read.groups(), _UNITS.values(), strict=True)
            if number
        )
    if not 1 <= length <= LONGEST:
        raise QueryRefused("A step must be a duration above zero, in seconds or like 1h30m.")
    return math.floor(length)
