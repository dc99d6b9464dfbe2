"""Whatever a plan declares, many lines give what each gives alone: no bytes move a neighbour."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.connectors.format import Format
from ameles.connectors.text.csv_lines import CsvLines
from ameles.connectors.text.dialect import Dialect
from ameles.connectors.text.json_lines import JsonLines
from ameles.connectors.text.line_blocks import handed_over
from tests.connectors.text.test_csv_lines import shared

COLUMNS = {"at": "timestamp", "user.id": "text", "n": "integer", "x": "number", "ok": "boolean"}
NAMES = tuple(COLUMNS)

FORMS = {
    "default": Format(),
    "first rules": Format(rules=1),
    "semicolons": Format(delimiter=";"),
    "tabs": Format(delimiter="\t", strip=True),
    "other quotes": Format(delimiter="|", quote="'"),
    "no quotes": Format(quote=""),
    "decimal comma": Format(delimiter=";", decimal=","),
    "names": Format(header=NAMES),
    "spaces": Format(strip=True),
    "one pattern": Format(time_format=("%d.%m.%Y",)),
    "patterns": Format(time_format=("%d.%m.%Y %H:%M", "%Y-%m-%dT%H:%M:%S%z")),
    "seconds": Format(time_format=("epoch",)),
    "milliseconds": Format(time_format=("epoch-ms",)),
    "microseconds": Format(time_format=("epoch-us",)),
}
DIALECTS: dict[str, Callable[[Format], Dialect]] = {
    "csv": lambda form: CsvLines(COLUMNS, form),
    "jsonl": lambda form: JsonLines(COLUMNS, form),
}

FIELDS = st.sampled_from(
    [
        *("2020-01-22", "22.01.2020", "22.01.2020 10:15", "20200122T10Z", "2020-W04-3", "epoch"),
        *("1579688100", "1579688100123.5", "9" * 30, "nan", "1,5", "1.5", "-3", "true", "", " a "),
        *('"', '""', '"a,b"', "'", "'a|b'", '"a', 'b"', "\\", "{", '{"at":', "\ufeff", "é", "\r"),
    ]
)
TIMES = ("2020-01-22", "22.01.2020", "22.01.2020 10:15", "1579688100")
OBJECTS = st.builds(
    lambda at, who, n: f'{{"at":{at},"user":{{"id":{who}}},"user.id":"w","n":{n}}}',
    st.sampled_from(['"2020-01-22"', "1579688100", '"22.01.2020"', "null", '"2020-022"']),
    st.sampled_from(['"a"', "1", "1.0", "null", "[1]", '"\\u0000"', '"\\ud800"']),
    st.sampled_from(["3", '"3"', "3.5", "{", "1e400"]),
)
LINES = st.one_of(
    st.lists(FIELDS, min_size=4, max_size=6).flatmap(
        lambda fields: st.sampled_from([d.join(fields).encode() for d in (",", ";", "\t", "|")])
    ),
    OBJECTS.map(str.encode),
    st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")),
    st.sampled_from([b"x" * 70_000, b'"' + b"y," * 40_000, b"z" * (1 << 20) + b"zz"]),
)


def neighbours(form: Format, kind: str) -> list[bytes]:
    """Lines that are read, full ones and one with nothing, between which the others are put."""
    if kind == "csv":
        fields = [(time, "a", "3", "1.5".replace(".", form.decimal), "true") for time in TIMES]
        return [form.delimiter.join(each).encode() for each in [*fields, ("",) * 5]]
    values = {"user": {"id": "a"}, "n": 3, "x": 1.5, "ok": True}
    return [*(json.dumps({"at": time} | values).encode() for time in TIMES), b"{}"]


def rows_of(dialect: Dialect, lines: list[bytes]) -> Counter[Any]:
    block = b"".join(line + b"\n" for line in lines)
    rows: Counter[Any] = Counter()
    asked = ", ".join(f'"{name}"' for name in NAMES).replace('"at"', 'epoch_us("at")')
    for relation in handed_over(shared(), dialect, NAMES, [block] if block else []):
        rows += Counter(shared().execute(f"SELECT {asked} FROM {relation}").fetchall())
    return rows


def check(dialect: Dialect, lines: list[bytes], around: Sequence[bytes] = ()) -> None:
    """``around`` are put between the lines, one after the other."""
    alone: Counter[Any] = Counter()
    together = list(around)
    for place, line in enumerate(lines):
        own = read_alone(dialect, line)
        assert own.total() <= 1, "a line is one event or none"
        alone += own
        together.insert(place * 2 + 1, line)
    for line in around:
        alone += read_alone(dialect, line)
    assert rows_of(dialect, together) == alone


@cache
def read_alone(dialect: Dialect, line: bytes) -> Counter[Any]:
    """Once for a line: long ones come again and again."""
    return rows_of(dialect, [line])


@pytest.mark.parametrize("kind", DIALECTS)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_many_lines_give_what_each_gives_alone(kind: str, form: Format) -> None:
    search(DIALECTS[kind](form), neighbours(form, kind))


def search(dialect: Dialect, around: list[bytes]) -> None:
    @settings(max_examples=6, deadline=None)
    @given(lines=st.lists(LINES, max_size=6))
    def holds(lines: list[bytes]) -> None:
        check(dialect, lines, around)

    assert read_alone(dialect, around[-1]).total() == 1
    holds()


class Spanning(CsvLines):
    """Broken: an RFC 4180 reader, whose quotes reach across lines."""

    def prepared(self, chunk: bytes) -> tuple[bytes, bool]:
        text = chunk.decode("utf-8", errors="replace")
        held = io.StringIO()
        with_newlines = csv.reader(io.StringIO(text, newline=""))
        for fields in with_newlines:
            csv.writer(held, lineterminator="\n").writerow([f.replace("\n", " ") for f in fields])
        return super().prepared(held.getvalue().encode())


class Remembering(CsvLines):
    """Broken: what is missing is what the line before had."""

    def relation(self, names: tuple[str, ...], *, slower: bool) -> str:
        inner = super().relation(names, slower=slower)
        kept = ", ".join(
            f'coalesce("{name}", lag("{name}") OVER ()) AS "{name}"' for name in self.columns
        )
        return f"(SELECT {kept} FROM {inner})"


class Guessing(CsvLines):
    """Broken: one date that does not fit makes all of them texts of another pattern."""

    def relation(self, names: tuple[str, ...], *, slower: bool) -> str:
        inner = super().relation(names, slower=slower)
        whole = 'CASE WHEN count("at") OVER () = count(*) OVER () THEN "at" END AS "at"'
        return f"(SELECT * REPLACE ({whole}) FROM {inner})"


@pytest.mark.parametrize("broken", [Spanning, Remembering, Guessing])
def test_a_reader_that_looks_at_its_neighbours_is_caught(broken: type[CsvLines]) -> None:
    lines = [b'2020-01-22,"a,3,1.5,true', b"2020-01-22,a,3,1.5,true", b'22.01.2020,b",,,', b",,,,"]
    with pytest.raises((AssertionError, duckdb.Error)):
        check(broken(COLUMNS), lines)
    check(CsvLines(COLUMNS), lines)


@pytest.mark.parametrize("broken", [Remembering, Guessing])
def test_it_is_caught_by_any_lines_at_all(broken: type[CsvLines]) -> None:
    around = neighbours(Format(), "csv")
    with pytest.raises(AssertionError):
        check(broken(COLUMNS), [], around)
