"""A line of CSV is read as RFC 4180 has it, and what is wrong with it is its own affair."""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ameles.connectors.duck import connect
from ameles.connectors.text.csv_lines import CsvLines
from ameles.connectors.text.line_blocks import handed_over
from ameles.core.exceptions import PlanError
from tests.connectors.reading import rows_in

COLUMNS = {"at": "timestamp", "region": "text", "age": "integer", "x": "number", "ok": "boolean"}
HEADER = b"at,region,age,x,ok\n"
GOOD = [
    b"2026-01-01,north,3,1.5,true",
    b'2026-01-02,"so, ""uth""",4,2.5,false',
    b"2026-01-03,,,,",
    b'"2026-01-04","east\x1f","5","3.5","true"',
    "2026-01-05,wüst,6,4.5,no".encode(),
]
ABC = {"a": "text", "b": "text", "c": "text"}
RFC_FIELD = r'("([^"]|"")*"|[^",]*)'
SOUND = re.compile(f"{RFC_FIELD}(,{RFC_FIELD})*", re.DOTALL)


@cache
def shared() -> duckdb.DuckDBPyConnection:
    return connect(zone="UTC", memory=128 << 20)


def parsed(lines: list[str]) -> list[tuple[Any, ...]]:
    """All lines as one block, by DuckDB."""
    block = "".join(line + "\n" for line in lines).encode()
    rows: list[tuple[Any, ...]] = []
    for relation in handed_over(shared(), CsvLines(ABC), ("c", "a", "b"), [block]):
        rows += shared().execute(f"SELECT a, b, c FROM {relation}").fetchall()
    return rows


def by_python(line: str) -> list[str] | None:
    """The fields of one line, by Python's reader; None where RFC 4180 has no such line."""
    if not line or not SOUND.fullmatch(line):
        return None
    return next(csv.reader([line], strict=True))


LINES = st.lists(
    st.one_of(
        st.text(st.sampled_from('ab",;é \t\x1f'), max_size=20),
        # Mostly sound: three fields, quoted or not.
        st.lists(
            st.text(st.sampled_from('ab",é'), max_size=5).map(
                lambda field: '"' + field.replace('"', '""') + '"'
            )
            | st.text(st.sampled_from("abé "), max_size=5),
            min_size=2,
            max_size=4,
        ).map(",".join),
    ),
    max_size=40,
)


@settings(max_examples=100, deadline=None)
@given(lines=LINES)
@example(lines=['"a,b",c,d', 'x"y,1,2', '"a"b,1,2', '"a""",b,c', 'a,"b', 'c",d,e', '"",",",""'])
def test_each_line_is_read_as_python_reads_it_alone(lines: list[str]) -> None:
    wanted = []
    for line in lines:
        fields = by_python(line)
        if fields is not None and len(fields) == 3:
            c, a, b = (field or None for field in fields)
            wanted.append((a, b, c))
    assert sorted(parsed(lines), key=repr) == sorted(wanted, key=repr)


BAD = {
    "an unbalanced quote": b'2026-01-01,"north,3,1.5,true',
    "a quote that opens at the end": b'2026-01-01,north,3,1.5,"',
    "text after a quote": b'2026-01-01,"north"x,3,1.5,true',
    "a quote in the middle": b'2026-01-01,no"rth,3,1.5,true',
    "a NUL": b"2026-01-01,no\0rth,3,1.5,true",
    "too few fields": b"2026-01-01,north,3,1.5",
    "too many fields": b"2026-01-01,north,3,1.5,true,",
    "a long line": b"2026-01-01," + b"x" * (1 << 20) + b",3,1.5,true",
    "an empty line": b"",
    "a carriage return": b"\r",
}


PLAIN = [line for line in GOOD if b'"' not in line]  # read the faster way without a bad line


def content(lines: list[bytes]) -> bytes:
    return HEADER + b"".join(line + b"\n" for line in lines)


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("good", [GOOD, PLAIN], ids=["quotes", "no quotes"])
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_bad_line_counts_nowhere_and_touches_no_neighbour(
    bad: bytes, good: list[bytes], place: int, tmp_path: Path
) -> None:
    without = rows_in(tmp_path / "without.csv", content(good), COLUMNS)
    with_bad = [*good[:place], bad, *good[place:]]
    assert len(without) == len(good)
    assert rows_in(tmp_path / "with.csv", content(with_bad), COLUMNS) == without


def test_a_reader_whose_quotes_span_lines_would_be_caught() -> None:
    def read(lines: list[bytes]) -> list[list[str]]:
        return [row for row in csv.reader(content(lines).decode().splitlines(True)) if row]

    without = read(GOOD)
    bad = read([GOOD[0], BAD["an unbalanced quote"], *GOOD[1:]])
    assert without[2] not in bad, "it has swallowed its neighbour"


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (b"2026-01-01,n\xff\xfeh,3,1.5,true", (0, "n\ufffd\ufffdh", 3, 1.5, True)),
        (b"2026-01-01,n\xc3,3,1.5,true", (0, "n\ufffd", 3, 1.5, True)),
        (b"nonsense,north,3,1.5,true", (None, "north", 3, 1.5, True)),
        (b"2026-01-01,north,3.7,1.5,true", (0, "north", None, 1.5, True)),
        (b"2026-01-01,north,3,inf,true", (0, "north", 3, None, True)),
        (b"2026-01-01,north,3,1.5,maybe", (0, "north", 3, 1.5, None)),
        (b"2026-01-01,north,3,1.5,true\r", (0, "north", 3, 1.5, True)),
        (b'2026-01-01,"",3,1.5,true', (0, None, 3, 1.5, True)),
    ],
)
def test_a_wrong_value_is_null_in_its_own_column(
    line: bytes, row: tuple[Any, ...], tmp_path: Path
) -> None:
    start = 1_767_225_600_000_000
    wanted = row if row[0] is None else (start, *row[1:])
    without = rows_in(tmp_path / "a.csv", HEADER + b"\n".join(GOOD), COLUMNS)
    rows = rows_in(tmp_path / "b.csv", HEADER + b"\n".join([*GOOD[:2], line, *GOOD[2:]]), COLUMNS)
    assert rows == sorted([*without, wanted], key=repr)


def test_a_byte_order_mark_line_ends_and_a_missing_last_newline_make_no_difference(
    tmp_path: Path,
) -> None:
    plain = HEADER + b"\n".join(GOOD)
    wanted = rows_in(tmp_path / "a.csv", plain, COLUMNS)
    assert len(wanted) == len(GOOD)
    for other in (
        b"\xef\xbb\xbf" + plain,
        plain + b"\n",
        plain.replace(b"\n", b"\r\n"),
        plain.replace(b"\n", b"\r\n") + b"\r\n\r\n",
        plain.replace(b"\n", b"\n\n").replace(b"ok\n\n", b"ok\n"),
    ):
        assert rows_in(tmp_path / "b.csv", other, COLUMNS) == wanted


def test_columns_are_read_by_name(tmp_path: Path) -> None:
    columns = {"region": "text", "age": "integer"}
    content = b'other,"age", region \n1,2,3\n'
    assert rows_in(tmp_path / "a.csv", content, columns) == [("3", 2)]


@pytest.mark.parametrize("header", ["a,b", "a,b,c,c", 'a,b,"c', ""])
def test_a_header_without_the_column_or_with_two_of_it_is_refused(header: str) -> None:
    dialect = CsvLines(ABC)
    with pytest.raises(PlanError, match="in its first line"):
        dialect.check(dialect.names(header), "events.csv")


@settings(max_examples=50, deadline=None)
@given(junk=st.binary(max_size=300).filter(lambda junk: b"\n" not in junk))
def test_no_bytes_in_a_line_make_a_reading_fail_or_touch_a_neighbour(junk: bytes) -> None:
    around = [b"1,2,3\n", b'"4","5","6"\n']
    rows: list[tuple[Any, ...]] = []
    block = around[0] + junk + b"\n" + around[1]
    for relation in handed_over(shared(), CsvLines(ABC), ("a", "b", "c"), [block]):
        rows += shared().execute(f"SELECT a, b, c FROM {relation}").fetchall()
    assert {("1", "2", "3"), ("4", "5", "6")} <= set(rows)
    assert len(rows) <= 3
