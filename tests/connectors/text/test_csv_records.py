"""Strict CSV: what csv.writer writes is read as it was, and what is broken is named by its line."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.connectors.text.csv_records import LONGEST, Broken, CsvRecord, records


def records_of(text: str, **form: str) -> list[tuple[int, Any]]:
    """The line of each record, with its fields or with what is wrong."""
    return [
        (one.line, one.fields if isinstance(one, CsvRecord) else one.why)
        for one in records(io.StringIO(text, newline=""), **form)
    ]


INSIDE = "a quote stands inside a field without quotes"
AFTER = "something follows a closing quote"
OPEN = "a quote is opened and not closed"
LONG = "it is longer than a mebibyte"
CASES = {
    "newlines between quotes": ('a,"b\nc\r\nd"\ne,f\n', [(1, ["a", "b\nc\r\nd"]), (4, ["e", "f"])]),
    "quotes that are doubled": ('"a ""b""",c\n', [(1, ['a "b"', "c"])]),
    "no newline at the end": ("a,b\nc,d", [(1, ["a", "b"]), (2, ["c", "d"])]),
    "empty lines": ("\n\na\n\r\nb\n", [(3, ["a"]), (5, ["b"])]),
    "empty fields": (',""\n', [(1, ["", ""])]),
    "a quote inside": ('a,b\nc,d"\ne,f\n', [(1, ["a", "b"]), (2, INSIDE), (3, ["e", "f"])]),
    "an open quote": ('a,"b\nc,d\n', [(1, OPEN), (2, ["c", "d"])]),
    "one that another closes": (
        'a,"b\nc,"d"\ne,f\n',
        [(1, AFTER), (2, ["c", "d"]), (3, ["e", "f"])],
    ),
    "after a quote": ('"a"b,c\nd,e\n', [(1, AFTER), (2, ["d", "e"])]),
    "a carriage return": (
        "a\rb,c\nd,e\n",
        [(1, "a carriage return stands inside a field without quotes"), (2, ["d", "e"])],
    ),
    "broken characters": (
        "a,\ufffd\nb,c\n",
        [(1, "it has characters that are broken"), (2, ["b", "c"])],
    ),
    "a long line": (f"a\n{'x' * (3 * LONGEST)}\nb\n", [(1, ["a"]), (2, LONG), (3, ["b"])]),
    "the longest": (f"{'x' * LONGEST}\nb\n", [(1, ["x" * LONGEST]), (2, ["b"])]),
    "a long quote": (f'"{"x" * (2 * LONGEST)}\n', [(1, LONG)]),
    "nothing": ("", []),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES.keys())
def test_a_text_as_records(text: str, expected: list[tuple[int, Any]]) -> None:
    assert records_of(text) == expected


def test_other_delimiters_and_quotes() -> None:
    assert records_of("a;'b;c'\n", delimiter=";", quote="'") == [(1, ["a", "b;c"])]
    assert records_of('a\t"b\n', delimiter="\t", quote="") == [(1, ["a", '"b'])]
    assert records_of("a|b^c]\n", delimiter="|", quote="^") == [(1, INSIDE)]


TEXTS = st.text(st.sampled_from("ab,;\"'\r\n ^]-\\é"), max_size=6)


@settings(deadline=None, max_examples=300)
@given(
    rows=st.lists(st.lists(TEXTS, min_size=2, max_size=4), max_size=5),
    delimiter=st.sampled_from(",;\t|^]-\\"),
    ends=st.sampled_from(["\n", "\r\n"]),
)
def test_what_a_program_writes_is_read_as_it_was(
    rows: list[list[str]], delimiter: str, ends: str
) -> None:
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=delimiter, lineterminator=ends)
    if ends == "\n":  # else Python would leave a carriage return without quotes
        writer = csv.writer(
            written, delimiter=delimiter, lineterminator=ends, quoting=csv.QUOTE_ALL
        )
    writer.writerows(rows)
    text, lines, line = written.getvalue(), [], 1
    for row in rows:
        lines.append((line, row))
        line += 1 + sum(value.count("\n") for value in row)
    assert records_of(text, delimiter=delimiter) == lines


@settings(deadline=None, max_examples=300)
@given(text=st.text(st.sampled_from('ab,"\r\n'), max_size=40))
def test_no_text_fails_and_every_line_is_of_some_record(text: str) -> None:
    """What is sound is what Python's strict reader takes too, read by itself."""
    for one in records(io.StringIO(text, newline="")):
        if isinstance(one, Broken):
            continue
        rest = text.split("\n", one.line - 1)[one.line - 1]
        assert next(csv.reader(io.StringIO(rest, newline=""), strict=True)) == one.fields
