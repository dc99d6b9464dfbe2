"""Times in other formats than ISO 8601: strptime patterns, and counts since 1970.

DuckDB parses patterns the same way everywhere: names of months and days are English whatever the
locale, and a pattern must match the whole text, apart from spaces around it.  An ambiguous pattern
is refused when the plan is checked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from ameles.core.exceptions import PlanError
from ameles.measures.fields import literal

EPOCHS = {"epoch": 1_000_000, "epoch-ms": 1_000, "epoch-us": 1}  # microseconds of one unit

_FIELDS = {
    "Y": "year",
    "y": "year",
    "m": "month",
    "b": "month",
    "B": "month",
    "d": "day",
    "a": "weekday",
    "A": "weekday",
    "H": "hour",
    "I": "hour",
    "p": "half",
    "M": "minute",
    "S": "second",
    "f": "fraction",
    "z": "offset",
}
_LOCAL = "cxXrD"
_WEEKS = "jUWGVuw"
_DIRECTIVE = re.compile(r"%(-?.|$)", re.DOTALL)
_LONGEST = 100
_MOST = 20

# DuckDB reads "epoch" and "infinity" with any pattern: as 1970, or as a day in this range.
_SPECIAL = (-2_209_161_600_000_000, -2_208_816_000_000_000)  # 1899-12-30 to 1900-01-03
_YEARS = (-62_135_596_800_000_000, 253_402_300_799_999_999)  # 0001 to 9999


def check_time_format(formats: Sequence[str]) -> None:
    """Refuse a pattern that does not describe a day or a time."""
    if not 1 <= len(formats) <= _MOST:
        raise PlanError(f"There must be 1 to {_MOST} patterns.", tip='"%d.%m.%Y"')
    epochs = [text for text in formats if text in EPOCHS]
    if epochs and len(formats) > 1:
        raise PlanError(
            f'"{epochs[0]}" cannot be combined with other formats.',
            why="a number could then have more than one meaning",
            tip=f'time_format = "{epochs[0]}"',
        )
    if not epochs:
        for text in formats:
            _check_pattern(text)


def _check_pattern(text: str) -> None:
    shown = repr(text[:60])
    if len(text) > _LONGEST or not text.isprintable():
        raise PlanError(
            f"A pattern has at most {_LONGEST} characters, all of them printable.",
            tip='"%d.%m.%Y %H:%M"',
        )
    letters: dict[str, str] = {}
    for directive in _DIRECTIVE.findall(text):
        letter = directive.removeprefix("-")
        if directive == "%":
            continue
        field = _FIELDS.get(letter)
        if field is None:
            raise _unknown(shown, directive, letter)
        if field in letters:
            raise PlanError(f"The pattern {shown} has the {field} twice.", tip="it once")
        letters[field] = letter
    missing = [field for field in ("year", "month", "day") if field not in letters]
    if missing:
        raise PlanError(
            f"The pattern {shown} has no {missing[0]}.",
            why="an event needs a day"
            if letters or "%" in text
            else "a directive begins with a percent sign",
            tip='"%Y-%m-%d %H:%M:%S", or one of "epoch", "epoch-ms" and "epoch-us"',
        )
    _check_hours(shown, letters)
    if re.search(r"%-?[HIMSf]Z", text):
        raise PlanError(
            f"The pattern {shown} has the letter Z after a time.",
            why="it means UTC, but as a plain letter it would have no meaning",
            tip=repr(re.sub(r"(%-?[HIMSf])Z", r"\1%z", text)[:60]) + "; %z reads Z and offsets",
        )


def _check_hours(shown: str, letters: dict[str, str]) -> None:
    if (letters.get("hour") == "I") != ("half" in letters):
        raise PlanError(
            f"The pattern {shown} has only one of %I and %p.",
            why="an hour up to 12 may be before or after noon",
            tip="%H for an hour up to 23, or %I with %p",
        )
    parts = ["hour", "minute", "second", "fraction"]
    for larger, smaller in pairwise(parts):
        if smaller in letters and larger not in letters:
            raise PlanError(
                f"The pattern {shown} has a {smaller} and no {larger}.",
                tip="%H:%M:%S.%f, or its beginning",
            )


def _unknown(shown: str, directive: str, letter: str) -> PlanError:
    if letter and letter in _LOCAL:
        return PlanError(
            f"The pattern {shown} has %{directive}, which depends on the locale.",
            why="the same file must be read in the same way everywhere",
            tip="%Y-%m-%d or %H:%M:%S, written out in the order of the file",
        )
    if letter and letter in _WEEKS:
        return PlanError(
            f"The pattern {shown} has %{directive}, the number of a week or of a day in a year.",
            why="some such numbers are outside of the year and would become a day of another year",
            tip="leave time_format out: 2020-W04-3 and 2020-022 are read as ISO 8601",
        )
    if letter == "Z":
        return PlanError(
            f"The pattern {shown} has %Z, the name of a zone.",
            why="some of these names stand for several zones",
            tip="%z for an offset such as +01:00, or zone in [stream] for times without one",
        )
    if letter == "s":
        return PlanError(
            f"The pattern {shown} has %s.", tip='time_format = "epoch", for seconds since 1970'
        )
    return PlanError(
        f"The pattern {shown} has %{directive}, which is not a directive."
        if letter
        else f"The pattern {shown} ends with a percent sign.",
        tip=f"%{', %'.join(_FIELDS)}; %% is a percent sign",
    )


def epoch_cast(given: str) -> str:
    """SQL: the number of units since 1970, rounded to a BIGINT; NULL if it is not a number."""
    return f"TRY_CAST({given} AS BIGINT)"


def epoch_finished(format_name: str, given: str, value: str, type_name: str) -> str:
    """SQL: an instant, from the given value and the result of ``epoch_cast``."""
    one = EPOCHS[format_name]
    # The last digits of a DOUBLE come from its binary fraction, so they are rounded off.
    places = 6 if type_name in ("DOUBLE", "FLOAT") else 9
    number = f"TRY_CAST({given} AS DECIMAL(27, {places}))"
    exact = f"CAST(floor({number} * CAST({one} AS DECIMAL(7, 0))) AS BIGINT)"
    # Integers in the usual form need no fractions.
    plain = f"CAST({value} AS VARCHAR) = CAST({given} AS VARCHAR)"
    us = f"CASE WHEN {plain} THEN {value} * {one} ELSE {exact} END"
    years = f"{value} BETWEEN {_YEARS[0] // one} AND {_YEARS[1] // one}"
    return f"CASE WHEN {years} THEN make_timestamptz({us}) END"


def pattern_cast(patterns: Sequence[str], text: str) -> str:
    """SQL: an instant, by the first pattern that fits."""
    listed = f"[{', '.join(literal(pattern) for pattern in patterns)}]"
    if any(re.search(r"(?<!%)(%%)*%z", pattern) for pattern in patterns):
        zulu = f"CASE WHEN ends_with({text}, 'Z') THEN {text}[:-2] || '+00:00' ELSE {text} END"
        return f"try_strptime({zulu}, {listed})"
    read = f"try_strptime({text}, {listed})"
    # In UTC the wall clock is the instant; DuckDB chooses the branch when it plans the query.
    return (
        f"CASE WHEN current_setting('TimeZone') = 'UTC' THEN make_timestamptz(epoch_us({read})) "
        f"ELSE TRY_CAST({read} AS TIMESTAMPTZ) END"
    )


def pattern_finished(value: str, text: str) -> str:
    """SQL: the instant; NULL if the text is one of DuckDB's special words, which have no digit."""
    low, high = _SPECIAL
    maybe = f"epoch_us({value}) = 0 OR epoch_us({value}) BETWEEN {low} AND {high}"
    return (
        f"CASE WHEN NOT isfinite({value}) THEN NULL "
        f"WHEN NOT ({maybe}) OR regexp_matches({text}, '[0-9]') THEN {value} END"
    )
