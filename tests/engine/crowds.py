"""Lines of a file of events: a crowd, and lines that are put among it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from zlib import crc32

from tests.engine.neighbours import HORIZON, REGIONS, Line

NORTH = frozenset({"north"})
OTHER = frozenset({"other"})
LATES = ("next", "drop")


def at(day: int, hour: int = 12) -> str:
    """A time on a day of the stream, in the zone of the plan."""
    month, number = (3, 26 + day) if day <= 5 else (4, day - 5)
    return f"2026-{month:02}-{number:02}T{hour:02}:30:00"


def line(
    day: int = 4,
    who: str = "zoe",
    region: str = "north",
    age: Any = 40,
    amount: Any = 3,
    fever: Any = "true",
    time: str | None = None,
) -> bytes:
    return f"{time or at(day)},{who},{region},{age},{amount},{fever}".encode()


def crowd(numbers: Iterable[int]) -> list[bytes]:
    """Nine users, each at home in one region, most of them beyond their bounds."""
    return [
        line(
            1 + (5 * n + n // 9) % HORIZON,
            who=f"u{n % 9}",
            region=REGIONS[n % 3],
            age=(7 * n) % 90,
            amount=n % 23 - 4,
            fever="true" if n % 4 else "false",
            time=at(1 + (5 * n + n // 9) % HORIZON, n % 24),
        )
        for n in numbers
    ]


FIRST, SECOND = crowd(range(60)), crowd(range(60, 110))

# What counts nowhere, whatever the unit.
NOWHERE = {
    "no time": line(time="yesterday"),
    "no time at all": b",zoe,north,40,3,true",
    "a time in the year 292278": line(time="292278-01-01T00:00:00Z"),
    "infinitely late": line(time="infinity"),
    "after the horizon": line(time="2026-04-03T00:00:00"),
    "years ahead": line(time="9999-12-31T23:59:59Z"),
    "before the start": line(time="2026-03-26T23:59:59.999999"),
    "before Christ": line(time="0044-03-15 (BC)"),
    "an open quote": b'"' + line(),
    "an open quote inside": line(region='"north'),
    "an open quote at the end": line(fever='"true'),
    "a stray quote": line(region='no"rth'),
    "NUL": line(who="zo\0e"),
    "a field too few": line().rpartition(b",")[0],
    "a field too many": line() + b",1",
    "nothing": b"",
    "spaces": b"   ",
    "a separator of another kind": line().replace(b",", b";"),
    "too long": line(who="z" * (1 << 20)),
    "half a character": b"\xff\xfe",
}
# What counts in cells of its own; the step is that of its time.
SOMEWHERE = {
    "an event": Line(line(), NORTH, 4),
    "early": Line(line(1), NORTH, 1),
    "in an open step": Line(line(6), NORTH, 6),
    "in quotes": Line(line(who='"zoe, the ""other"""', region='"north"'), NORTH, 4),
    "an undeclared key": Line(line(region="west"), OTHER, 4),
    "a key in capitals": Line(line(region="North"), OTHER, 4),
    "a key with a space": Line(line(region=" north"), OTHER, 4),
    "invalid UTF-8 in a key": Line(line().replace(b"north", b"n\xc3\x28rth"), OTHER, 4),
    "no key": Line(line(region=""), OTHER, 4),
    "no age": Line(line(age=""), NORTH, 4),
    "no amount": Line(line(amount=""), NORTH, 4),
    "no fever": Line(line(fever=""), NORTH, 4),
    "an age that is none": Line(line(age="forty"), NORTH, 4),
    "an age of 2**63 - 1": Line(line(age=2**63 - 1), NORTH, 4),
    "an age of 2**63": Line(line(age=2**63), NORTH, 4),
    "an amount of 1e308": Line(line(amount="1e308"), NORTH, 4),
    "an amount of -1e999": Line(line(amount="-1e999"), NORTH, 4),
    "an amount that is NaN": Line(line(amount="nan"), NORTH, 4),
    "a carriage return": Line(line() + b"\r", NORTH, 4),
    # The clocks go from 2 to 3 that night.
    "in the hour that was left out": Line(line(time="2026-03-29T02:30:00"), NORTH, 3),
    "the last moment of a short day": Line(line(time="2026-03-29T21:59:59.999999Z"), NORTH, 3),
    "the first moment after it": Line(line(time="2026-03-29T22:00:00Z"), NORTH, 4),
    "the first moment of all": Line(line(time="2026-03-26T23:00:00Z"), NORTH, 1),
    "the last moment of all": Line(line(time="2026-04-02T21:59:59.999999Z"), NORTH, 7),
}
LINES = {name: Line(text) for name, text in NOWHERE.items()} | SOMEWHERE


def with_line(more: bytes, part: int) -> tuple[list[bytes], list[bytes]]:
    """The crowd with one line more in one of its parts, at a place that depends on the line."""
    first, second = [*FIRST], [*SECOND]
    lines = first if part == 1 else second
    lines.insert(crc32(more) % (len(lines) + 1), more)
    return first, second


# All events of one user: in every step and cell, before their step closed and late, some twice.
EVE_FIRST = [line(1 + n % 7, who="eve", region=REGIONS[n % 3], age=n, amount=20) for n in range(25)]
EVE_LATER = [line(1 + n % 7, who="eve", region=REGIONS[n % 2], amount=20) for n in range(15)] * 2
ANYWHERE = frozenset({*REGIONS, "other"})


def with_eve() -> tuple[list[bytes], list[bytes]]:
    return [*EVE_FIRST[::2], *FIRST, *EVE_FIRST[1::2]], [*SECOND, *EVE_LATER]
