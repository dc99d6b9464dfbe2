"""Locality in every format: the same crowd, written otherwise, shows the same numbers, and one line
more, of whatever bytes, changes its own cell alone."""

from __future__ import annotations

import re
from pathlib import Path
from zlib import crc32

import pytest

from tests.engine.crowds import FIRST, NORTH, SECOND, line, with_line
from tests.engine.neighbours import Line, Site, View, check, violations

TIME = re.compile(rb"(2026)-(\d\d)-(\d\d)T(\d\d:\d\d:\d\d)")


def german(text: bytes) -> bytes:
    """Semicolons, decimal commas and dates as 27.03.2026; ``;`` in place of what was a comma."""
    return TIME.sub(rb"\3.\2.\1 \4", text).replace(b",", b";").replace(b".5;", b",5;") + b"\n"


def in_utf_16(text: bytes) -> bytes:
    """Each byte as a character."""
    return (text.decode("latin-1") + "\n").encode("utf-16-le")


def with_bars(text: bytes) -> bytes:
    """Other quotes, bars, and spaces around fields."""
    return b" " + text.replace(b"|", b"").replace(b",", b" | ").replace(b'"', b"'") + b"\n"


FORMS = {
    "german": (
        'time_format = ["%d.%m.%Y %H:%M:%S", "%d.%m.%Y"]\ndelimiter = ";"\ndecimal = ","\n'
        'encoding = "windows-1252"\n',
        german,
    ),
    "utf-16": ('encoding = "utf-16-le"\n', in_utf_16),
    "bars": ('delimiter = "|"\nquote = "\'"\nstrip = true\n', with_bars),
}
EVENT = Line(line(), NORTH, 4)
NOWHERE = {
    "an open quote": b'"' + line(),
    "NUL": line(who="zo\0e"),
    "bytes of no character": b"\x81\xff\xfe\r\x00\xd8",
    "too long": line(who="z" * (1 << 20)),
    "another format": line().replace(b",", b"\t").replace(b"T", b"?"),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> View:
    return Site(tmp_path_factory.mktemp("plain"), "user").view("base", FIRST, SECOND)


@pytest.mark.parametrize("form", FORMS)
def test_more_lines_in_another_format(form: str, plain: View, tmp_path: Path) -> None:
    keys, written = FORMS[form]
    site = Site(tmp_path, "user", keys=keys, written=written)
    base = site.view("base", FIRST, SECOND)
    assert base.rows == plain.rows  # the same crowd
    event = site.view("event", *with_line(EVENT.text, 1))
    assert check(site, base, event, EVENT, 1) == []
    assert event.rows != base.rows  # it counts
    first, second = [*FIRST], [*SECOND]
    for place, more in enumerate(NOWHERE.values()):
        lines = first if place % 2 else second
        lines.insert(crc32(more) % (len(lines) + 1), more)
    nowhere = site.view("nowhere", first, second)
    assert violations(site, base, nowhere, keys=frozenset(), step=None) == []
    assert nowhere.rows == base.rows
