r"""Releases as lines of text, for files and for answers over HTTP.

>>> row = ("flu", "fever", "=north", 1, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z",
...        17, 11.5, None, "", "BinaryCounter", 2)
>>> csv_lines([row])
"flu,fever,'=north,1,2026-01-01T00:00:00Z,2026-01-02T00:00:00Z,17,11.5,,,BinaryCounter,2\n"

A spreadsheet takes a cell that begins with ``=``, ``+``, ``-`` or ``@`` for a formula, and a
declared key may begin with one of these.  So such a text has an apostrophe before it:

>>> [shielded(text) for text in ("=1+1", "+south", "-1", "'east", "west")]
["'=1+1", "'+south", '-1', "''east", 'west']
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from ameles.core.release import COLUMNS

CSV_HEADER = ",".join(COLUMNS) + "\n"
_TEXTS = COLUMNS.index("key"), COLUMNS.index("label")  # declared in a plan: any text
# Characters that begin a formula, also in full width; and the apostrophe, so that removing one
# apostrophe always gives the key.
_FORMULA = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20'"
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")


def csv_lines(rows: Iterable[tuple[Any, ...]]) -> str:
    """Records as RFC 4180 has them, with a newline as the end of a line; a missing value is
    empty."""
    lines = _Lines()
    # With this line ending, the writer quotes a carriage return in a key.
    csv.writer(lines, lineterminator="\r\n").writerows(map(_shielded_row, rows))
    return "".join([line[:-2] + "\n" for line in lines])


class _Lines(list[str]):
    """What a writer wrote, a line at a time."""

    write = list[str].append


def json_line(row: Sequence[object]) -> str:
    """A record as a JSON object, without its newline; a missing value is null."""
    record = dict(zip(COLUMNS, row, strict=True))
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def shielded(text: str) -> str:
    """A cell that no spreadsheet takes for a formula; a plain number stays as it is."""
    computed = text[:1] in _FORMULA and text and not _NUMBER.fullmatch(text)
    return "'" + text if computed else text


def _shielded_row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    if all(row[place][:1] not in _FORMULA for place in _TEXTS if row[place]):
        return row
    return tuple(
        shielded(cell) if place in _TEXTS and cell else cell for place, cell in enumerate(row)
    )
