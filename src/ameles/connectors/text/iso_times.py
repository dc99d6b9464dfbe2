"""SQL for the forms of ISO 8601 that DuckDB's own cast does not read.

    20200122T101500Z        the basic form
    2020-W04-3, 2020W043    a day of a week
    2020-022, 2020022       a day of a year
    2020-01-22T10:15,5Z     a fraction of the last part, with a comma or a dot
    2020-01-22t10z          small letters, and less precision than seconds

A month or a week alone is not a time, because it names no day.  Fractions of a microsecond are cut
off.
"""

from __future__ import annotations

from ameles.measures.fields import literal

_DATE = (
    "([0-9]{4})"
    "(?:-([0-9]{2})-([0-9]{2})|([0-9]{2})([0-9]{2})"  # calendar
    "|-?W([0-9]{2})-?([1-7])"  # week
    "|-?([0-9]{3}))"  # ordinal
)
_TIME = (
    "(?:[T ]([01][0-9]|2[0-4])(?::?([0-5][0-9])(?::?([0-5][0-9]))?)?(?:[.,]([0-9]+))?"
    "(?:(Z)|([+-])([01][0-9]|2[0-3])(?::?([0-5][0-9]))?)?)?"
)
_PARTS = (
    *("year", "month", "day", "basic_month", "basic_day", "week", "weekday", "ordinal"),
    *("hour", "minute", "second", "fraction", "zulu", "sign", "offset_hour", "offset_minute"),
)

_DAY = 86_400_000_000
_HOUR, _MINUTE, _SECOND = 3_600_000_000, 60_000_000, 1_000_000
_DIGITS = 12  # digits of a fraction that are used: an hour has 3.6e9 microseconds


def iso_time(text: str) -> str:
    """SQL: the instant that a text names, or NULL; without an offset, in the session's zone.

    It is planned anew with each query, so what is used several times is written only once: first
    the parts, then the day and the microseconds since its midnight.
    """
    parts = ", ".join(literal(name) for name in _PARTS)
    fields = f"regexp_extract(upper(trim({text})), {literal(f'^{_DATE}{_TIME}$')}, [{parts}])"
    wall = (
        f"{{'day': {_date()}, 'us': {_time_us()}, 'off': {_offset_us()}, "
        f"'year': {_number('year')}, 'weekly': p.week <> ''}}"
    )
    # A week or a day that its year does not have is one of another year; 24:00 is the end of a day.
    there = (
        f"CASE WHEN w.weekly THEN isoyear(w.day) ELSE year(w.day) END = w.year AND w.us <= {_DAY}"
    )
    us = "epoch_us(CAST(w.day AS TIMESTAMP)) + w.us"
    with_offset = f"make_timestamptz({us} - w.off)"
    local = f"TRY_CAST(make_timestamp({us}) AS TIMESTAMPTZ)"
    instant = (
        f"CASE WHEN {there} THEN CASE WHEN w.off IS NULL THEN {local} ELSE {with_offset} END END"
    )
    steps = f"list_transform([{fields}], lambda p: {wall})"
    return f"list_transform({steps}, lambda w: {instant})[1]"


def _number(name: str) -> str:
    return f"TRY_CAST(p.{name} AS INTEGER)"


def _long_or_0(name: str) -> str:
    return f"CAST('0' || p.{name} AS BIGINT)"


def _date() -> str:
    """SQL: the day; NULL if there is no such day, or one of another year."""
    year = "TRY_CAST(p.year || '-01-01' AS DATE)"
    monday = f"CAST(date_trunc('week', {year} + 3) AS DATE)"  # 4 January is in the first week
    week = f"{monday} + 7 * ({_number('week')} - 1) + {_number('weekday')} - 1"
    ordinal = f"{year} + {_number('ordinal')} - 1"
    # a part that the text does not have is empty
    calendar = "p.year || '-' || p.month || p.basic_month || '-' || p.day || p.basic_day"
    return (
        f"CASE WHEN p.year IN ('', '0000') THEN NULL WHEN p.week <> '' THEN {week} "
        f"WHEN p.ordinal <> '' THEN {ordinal} ELSE TRY_CAST({calendar} AS DATE) END"
    )


def _time_us() -> str:
    """SQL: microseconds since midnight."""
    units = {"hour": _HOUR, "minute": _MINUTE, "second": _SECOND}
    whole = " + ".join(f"{_long_or_0(name)} * {unit}" for name, unit in units.items())
    last = (
        f"CASE WHEN p.second <> '' THEN {_SECOND} WHEN p.minute <> '' THEN {_MINUTE} "
        f"ELSE {_HOUR} END"
    )
    numerator = f"CAST(rpad(left(p.fraction, {_DIGITS}), {_DIGITS}, '0') AS HUGEINT)"
    return f"{whole} + CAST(({numerator} * {last}) // {10**_DIGITS} AS BIGINT)"


def _offset_us() -> str:
    """SQL: the offset from UTC in microseconds; NULL if there is none."""
    hours, minutes = _long_or_0("offset_hour"), _long_or_0("offset_minute")
    signed = "CASE WHEN p.sign = '-' THEN -1 ELSE 1 END"
    return (
        f"CASE WHEN p.zulu <> '' THEN 0 "
        f"WHEN p.sign <> '' THEN {signed} * ({hours} * {_HOUR} + {minutes} * {_MINUTE}) END"
    )
