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
    """SQL: the instant that a text names, or NULL; without an offset, in the session's zone."""
    parts = ", ".join(literal(name) for name in _PARTS)
    fields = f"regexp_extract(upper(trim({text})), {literal(f'^{_DATE}{_TIME}$')}, [{parts}])"
    # First the parts, then microseconds of the wall clock: each is computed once, used several
    # times.
    wall = f"{{'us': {_date_us()} + {_time_us()}, 'off': {_offset_us()}}}"
    with_offset = "make_timestamptz(w.us - w.off)"
    local = "TRY_CAST(make_timestamp(w.us) AS TIMESTAMPTZ)"
    instant = f"CASE WHEN w.off IS NULL THEN {local} ELSE {with_offset} END"
    steps = f"list_transform([{fields}], lambda p: {wall})"
    return f"list_transform({steps}, lambda w: {instant})[1]"


def _number(name: str, kind: str = "INTEGER") -> str:
    return f"TRY_CAST(p.{name} AS {kind})"


def _date_us() -> str:
    """SQL: midnight of the day, in microseconds; NULL if there is no such day."""
    year = "TRY_CAST(p.year || '-01-01' AS DATE)"
    fourth = f"({year} + 3)"  # of January: always in the first week
    monday = f"({fourth} - CAST(isodow({fourth}) - 1 AS INTEGER))"
    week = f"({monday} + 7 * ({_number('week')} - 1) + {_number('weekday')} - 1)"
    ordinal = f"({year} + {_number('ordinal')} - 1)"
    calendar = "TRY_CAST(p.year || '-' || p.month || '-' || p.day AS DATE)"
    basic = "TRY_CAST(p.year || '-' || p.basic_month || '-' || p.basic_day AS DATE)"
    whole = _number("year")
    date = (
        f"CASE WHEN p.year IN ('', '0000') THEN NULL "
        f"WHEN p.month <> '' THEN {calendar} WHEN p.basic_month <> '' THEN {basic} "
        f"WHEN p.week <> '' THEN CASE WHEN isoyear({week}) = {whole} THEN {week} END "
        f"WHEN p.ordinal <> '' THEN CASE WHEN year({ordinal}) = {whole} THEN {ordinal} END END"
    )
    return f"epoch_us(CAST({date} AS TIMESTAMP))"


def _time_us() -> str:
    """SQL: microseconds since midnight; 24:00 is the end of the day."""
    units = {"hour": _HOUR, "minute": _MINUTE, "second": _SECOND}
    whole = " + ".join(
        f"coalesce({_number(name, 'BIGINT')}, 0) * {unit}" for name, unit in units.items()
    )
    last = (
        f"CASE WHEN p.second <> '' THEN {_SECOND} WHEN p.minute <> '' THEN {_MINUTE} "
        f"ELSE {_HOUR} END"
    )
    numerator = f"CAST(rpad(left(p.fraction, {_DIGITS}), {_DIGITS}, '0') AS HUGEINT)"
    us = f"({whole} + CAST(({numerator} * {last}) // {10**_DIGITS} AS BIGINT))"
    return f"CASE WHEN {us} <= {_DAY} THEN {us} END"


def _offset_us() -> str:
    """SQL: the offset from UTC in microseconds; NULL if there is none."""
    hours = _number("offset_hour", "BIGINT")
    minutes = f"coalesce({_number('offset_minute', 'BIGINT')}, 0)"
    ahead = f"({hours} * {_HOUR} + {minutes} * {_MINUTE})"
    return (
        f"CASE WHEN p.zulu <> '' THEN 0 WHEN p.sign = '-' THEN -{ahead} "
        f"WHEN p.sign = '+' THEN {ahead} END"
    )
