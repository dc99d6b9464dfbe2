"""CSV as plans declare it: delimiter, quote, decimal sign, names of columns, spaces."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ameles.connectors.format import Format
from ameles.connectors.text.csv_lines import CsvLines
from ameles.connectors.text.line_blocks import handed_over
from ameles.core.exceptions import PlanError
from tests.connectors.opening import open_files
from tests.connectors.reading import rows
from tests.connectors.text.test_csv_lines import ABC, shared

COLUMNS = {"at": "timestamp", "region": "text", "age": "integer", "x": "number"}
START = 1_579_651_200_000_000  # 2020-01-22
GERMAN = Format(delimiter=";", decimal=",", time_format=("%d.%m.%Y",))


def read(dialect: CsvLines, block: bytes) -> list[tuple[Any, ...]]:
    """The rows of a block whose columns are those of the dialect, in their order."""
    rows: list[tuple[Any, ...]] = []
    for relation in handed_over(shared(), dialect, tuple(dialect.columns), [block]):
        rows += shared().execute(f"SELECT * FROM {relation}").fetchall()
    return rows


def parsed(lines: list[str], form: Format) -> list[tuple[Any, ...]]:
    block = "".join(line + "\n" for line in lines).encode()
    return sorted(read(CsvLines(ABC, form), block), key=repr)


def by_python(line: str, delimiter: str, quote: str) -> list[str] | None:
    """The fields of one line, by Python's reader; None where its quotes are not sound."""
    if not line:
        return None
    if not quote:
        return line.split(delimiter)
    q, d = re.escape(quote), re.escape(delimiter)
    field = f"({q}([^{q}]|{q}{q})*{q}|[^{q}{d}]*)"
    if not re.fullmatch(f"{field}({d}{field})*", line):
        return None
    return next(csv.reader([line], strict=True, delimiter=delimiter, quotechar=quote))


@settings(max_examples=120, deadline=None)
@given(
    lines=st.lists(st.text(st.sampled_from("ab\"';|\t,^] é.*$\\"), max_size=12), max_size=40),
    delimiter=st.sampled_from([",", ";", "\t", "|", "^", "]", "\\", ".", "$", " ", "\x01"]),
    quote=st.sampled_from(['"', "'", "", "*", "`"]),
)
@example(lines=["'a;b';c;d", "x'y;1;2", "a;'b''';'"], delimiter=";", quote="'")
@example(lines=["a]b]c", "*a]b*]c]**"], delimiter="]", quote="*")
def test_each_line_is_read_as_python_reads_it_alone(
    lines: list[str], delimiter: str, quote: str
) -> None:
    wanted = []
    for line in lines:
        fields = by_python(line, delimiter, quote)
        if fields is not None and len(fields) == 3:
            wanted.append(tuple(field or None for field in fields))
    form = Format(delimiter=delimiter, quote=quote)
    assert parsed(lines, form) == sorted(wanted, key=repr)


def test_a_german_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "region;at;x;age\n"
        "Köln;22.01.2020;1,5;3\n"
        '"a;b";23.01.2020;"2,5";4,0\n'
        "dots;2020-01-22;1.5;3\n"  # other dates and signs than the declared ones
        "thousands;22.01.2020;1.000,5;1.000\n",
        encoding="utf-8",
    )
    source = open_files("a.csv", COLUMNS, tmp_path, form=GERMAN)
    assert source.names() == ("region", "at", "x", "age")
    assert rows(source, COLUMNS) == sorted(
        [
            (START, "Köln", 3, 1.5),
            (START + 86_400_000_000, "a;b", 4, 2.5),
            (None, "dots", 3, None),
            (START, "thousands", None, None),
        ],
        key=repr,
    )


@pytest.mark.parametrize(
    ("text", "number", "integer"),
    [
        ("3,5", 3.5, None),
        ("3,0", 3.0, 3),
        ("-3", -3.0, -3),
        (" 3,0 ", 3.0, 3),
        ("1e3", 1000.0, None),
        ("3.5", None, None),
        ("3.0", None, None),
        ("3,5,5", None, None),
        ("1.000,5", None, None),
        ("nan", None, None),
        (",5", 0.5, None),
        ("", None, None),
    ],
)
def test_a_decimal_comma(text: str, number: float | None, integer: int | None) -> None:
    dialect = CsvLines({"a": "number", "b": "integer"}, Format(delimiter=";", decimal=","))
    assert read(dialect, f"{text};{text}\n".encode()) == [(number, integer)]


def test_a_weight_with_a_decimal_comma_is_clamped_too() -> None:
    dialect = CsvLines({"n": "weight"}, Format(delimiter=";", decimal=","))
    lines = b"3,0\n1e+17\n1,5\n3.0\n99999999999999\n"
    weights = [n for (n,) in read(dialect, lines)]
    assert weights == [3, 1 << 40, None, None, 1 << 40]


def test_files_without_a_first_line_of_names(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbf2020-01-22,north,3\n2020-01-22,south,4\n")
    columns = {"at": "timestamp", "age": "integer"}
    source = open_files("a.csv", columns, tmp_path, form=Format(header=("at", "region", "age")))
    assert source.names() == ("at", "region", "age")
    assert rows(source, columns) == [(START, 3), (START, 4)]
    (tmp_path / "a.csv").write_bytes(b"2020-01-22,north\n2020-01-22,south,4,\n2020-01-22,east,5\n")
    assert rows(source, columns) == [(START, 5)]


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (" a , b\t,\tc ", ("a", "b", "c")),
        (' "a, b" ,"c" , "d""e" ', ("a, b", "c", 'd"e')),
        ('" a ",b,c', ("a", "b", "c")),
        (' ," ",c', (None, None, "c")),
        ('"a" x,b,c', None),
        ('x "a",b,c', None),
        ("a b,c\u00a0,d", ("a b", "c\u00a0", "d")),
    ],
)
def test_spaces_around_fields(line: str, row: tuple[Any, ...] | None) -> None:
    assert parsed([line], Format(strip=True)) == ([] if row is None else [row])


def test_without_strip_spaces_are_part_of_a_field() -> None:
    assert parsed([" a , b,c ", ' "a",b,c'], Format()) == [(" a ", " b", "c ")]


def test_names_are_split_as_the_lines_are(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"'a|x'| b |c\n1|2|'|'\n")
    columns = {"a|x": "text", "c": "text"}
    source = open_files("a.csv", columns, tmp_path, form=Format(delimiter="|", quote="'"))
    assert source.names() == ("a|x", "b", "c")
    assert rows(source, columns) == [("1", "|")]
    (tmp_path / "a.csv").write_bytes(b'a"x;b\n"1;2\n')
    form = Format(delimiter=";", quote="")
    source = open_files("a.csv", {'a"x': "text"}, tmp_path, form=form)
    assert rows(source, {'a"x': "text"}) == [('"1',)]


def test_a_file_with_another_delimiter_is_named_with_the_fix(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a;b;c\n1;2;3\n")
    with pytest.raises(PlanError, match="no column 'a'") as caught:
        open_files("a.csv", ABC, tmp_path).names()
    assert "delimiter" in caught.value.tip
