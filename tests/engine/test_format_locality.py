"""Locality in every format: the same crowd, written otherwise, shows the same numbers, and one line
more, of whatever bytes, changes its own cell alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.engine.crowds import FIRST, NORTH, SECOND, line, with_line
from tests.engine.neighbours import Line, Site, View, check

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
MORE = {
    "an event": Line(line(), NORTH, 4),
    "an open quote": Line(b'"' + line()),
    "NUL": Line(line(who="zo\0e")),
    "bytes of no character": Line(b"\x81\xff\xfe\r\x00\xd8"),
    "too long": Line(line(who="z" * (1 << 20))),
    "another format": Line(line().replace(b",", b"\t").replace(b"T", b"?")),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> View:
    return Site(tmp_path_factory.mktemp("plain"), "user").view("base", FIRST, SECOND)


@pytest.mark.parametrize("form", FORMS)
def test_one_line_more_in_another_format(form: str, plain: View, tmp_path: Path) -> None:
    keys, written = FORMS[form]
    site = Site(tmp_path, "user", keys=keys, written=written)
    base = site.view("base", FIRST, SECOND)
    assert base.rows == plain.rows  # the same crowd
    for number, (name, more) in enumerate(MORE.items()):
        part = 1 + number % 2
        other = site.view(str(number), *with_line(more.text, part))
        assert check(site, base, other, more, part) == [], name
        assert (other.rows != base.rows) == (more.keys == NORTH), name
