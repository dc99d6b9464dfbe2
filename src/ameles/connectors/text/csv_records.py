r"""CSV records as RFC 4180 defines them, also with newlines inside quotes: for the owner's tools.

No run reads like this.  Here an open quote changes how the lines after it are read, so one event
could change many others (docs/decisions/quoted_newlines.md).

A broken record is reported with its line and the reason; reading goes on with the line after its
first line.

>>> import io
>>> text = io.StringIO('a,b\n1,"x\ny"\n2,z"\n3,u\n')
>>> for found in records(text):
...     print(found)
CsvRecord(line=1, fields=['a', 'b'])
CsvRecord(line=2, fields=['1', 'x\ny'])
Broken(line=4, why='a quote stands inside a field without quotes')
CsvRecord(line=5, fields=['3', 'u'])
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TextIO

LONGEST = 1 << 20  # characters of one record
_READ = 1 << 20
_REPLACED = "\ufffd"

_OPEN = "a quote is opened and not closed"
_INSIDE = "a quote stands inside a field without quotes"
_AFTER = "something follows a closing quote"
_RETURN = "a carriage return stands inside a field without quotes"
_LONG = "it is longer than a mebibyte"
_CHARACTERS = "it has characters that are broken"


@dataclass(frozen=True, slots=True)
class CsvRecord:
    """The fields of a record, and the line of the file on which it begins."""

    line: int
    fields: list[str] = field(repr=True)


@dataclass(frozen=True, slots=True)
class Broken:
    """A broken record: the line on which it begins, and what is wrong with it."""

    line: int
    why: str


def records(
    text: TextIO, *, delimiter: str = ",", quote: str = '"'
) -> Iterator[CsvRecord | Broken]:
    """All records of a text that was opened with ``newline=""``, without empty lines."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST))
    grammar = _Grammar(delimiter, quote)
    held, place, line, ended = "", 0, 1, False
    while True:
        if not ended and len(held) - place <= LONGEST + 1:
            piece = text.read(_READ)
            held, place, ended = held[place:] + piece, 0, not piece
            continue
        if place == len(held):
            return
        match = grammar.record.match(held, place, place + LONGEST + 2)
        last = ended and len(held) <= place + LONGEST + 2
        if match is None or not (last or match[0].endswith("\n")):
            yield Broken(line, grammar.problem(held, place, last=last))
            end = held.find("\n", place) + 1 or len(held)
            while not ended and end == len(held) and not held.endswith("\n"):
                piece = text.read(_READ)  # the rest of a very long line
                held, place, ended = piece, 0, not piece
                end = held.find("\n") + 1 or len(held)
            place, line = end, line + 1
            continue
        if _REPLACED in match[0]:
            yield Broken(line, _CHARACTERS)
            place, line = held.find("\n", place) + 1 or len(held), line + 1
            continue
        if match[0].rstrip("\r\n"):
            yield CsvRecord(line, grammar.fields(match[0]))
        place, line = match.end(), line + match[0].count("\n")


class _Grammar:
    """The grammar of a record for one delimiter and one quote; an empty quote means no quotes."""

    def __init__(self, delimiter: str, quote: str) -> None:
        self._quote = quote
        d, q = re.escape(delimiter), re.escape(quote)
        plain = f"[^{d}{q}\\r\\n]*+"
        quoted = f"{q}(?:[^{q}]|{q}{q})*+{q}"
        one = f"(?:{quoted}|{plain})" if quote else plain
        # Possessive, so that a long broken record causes no backtracking.
        self.record = re.compile(f"{one}(?:{d}{one})*+(?:\\r?\\n|\\Z)")
        self._sound = re.compile(f"(?:{one}{d})*+")
        self._closed = re.compile(quoted) if quote else None
        self._next: list[str] = []
        self._reader = csv.reader(  # shared: making a reader takes longer than reading a record
            iter(self._next.pop, None),
            delimiter=delimiter,
            quotechar=quote or None,
            quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
            strict=True,
        )

    def fields(self, record: str) -> list[str]:
        """The fields of a sound record."""
        self._next.append(record)
        return next(self._reader)

    def problem(self, held: str, place: int, *, last: bool) -> str:
        """Why the text at this place is not a record."""
        end = place + LONGEST + 2
        sound = self._sound.match(held, place, end)
        at = place if sound is None else sound.end()
        rest = held[at : min(end, len(held))]
        if self._closed is not None and rest.startswith(self._quote):
            if self._closed.match(rest):
                return _AFTER
            return _OPEN if last else _LONG
        first = re.search("\n|\r|" + (re.escape(self._quote) or "\n"), rest)
        if first is None:
            return _LONG
        return _RETURN if first[0] == "\r" else _INSIDE
