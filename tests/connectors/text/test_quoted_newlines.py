"""Why a newline ends an event: what one line does to others where quotes may reach across lines.

All files of up to eight short lines are read, and each is compared with all that differ from it in
one line.  How many records differ, at the most, grows with the file: there is no c such that one
event changes at most c others.  docs/decisions/quoted_newlines.md has the table.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import pytest

LINES = ("a", "b", '"')  # two without a quote, and one that opens or closes
MOST = 8

Reader = Callable[[tuple[str, ...]], list[str]]


def by_line(lines: tuple[str, ...]) -> list[str]:
    """As Ameles: a newline ends an event, and a line with unsound quotes counts nowhere."""
    return [line for line in lines if '"' not in line]


def rfc_4180(lines: tuple[str, ...]) -> list[str]:
    """Quotes reach across lines; a record with unsound quotes counts nowhere."""
    return _records(lines, len(lines))


def three_lines(lines: tuple[str, ...]) -> list[str]:
    """A record has at most three lines; if its quote is open then, its first counts nowhere."""
    return _records(lines, 3)


def _records(lines: tuple[str, ...], most: int) -> list[str]:
    records: list[str] = []
    place = 0
    while place < len(lines):
        end = place
        if lines[place] == '"':
            within = range(place + 1, min(place + most, len(lines)))
            closing = next((n for n in within if lines[n] == '"'), None)
            if closing is None and most >= len(lines):
                return records  # the quote is open to the end of the file
            end = place if closing is None else closing
        if lines[place] != '"' or end > place:
            records.append("\n".join(lines[place : end + 1]))
        place = end + 1
    return records


def most_moved(read: Reader, size: int) -> int:
    """How many records differ at the most between two files of a size that differ in one line."""
    records = {lines: Counter(read(lines)) for lines in itertools.product(LINES, repeat=size)}
    most = 0
    for lines, here in records.items():
        for place, line in itertools.product(range(size), LINES):
            if line <= lines[place]:
                continue  # seen from the other side
            there = records[(*lines[:place], line, *lines[place + 1 :])]
            most = max(most, ((here - there) + (there - here)).total())
    return most


@pytest.mark.parametrize(
    ("read", "moved"),
    [
        (by_line, [2, 2, 2, 2, 2, 2, 2, 2]),  # one away, another in its place
        (rfc_4180, [2, 2, 3, 4, 5, 6, 7, 8]),
        (three_lines, [2, 2, 3, 4, 5, 6, 7, 8]),
    ],
)
def test_what_one_line_moves(read: Reader, moved: list[int]) -> None:
    assert [most_moved(read, size) for size in range(1, MOST + 1)] == moved
