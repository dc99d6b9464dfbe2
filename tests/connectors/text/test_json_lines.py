"""A line of JSON is one event or none, and touches no other."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.connectors.duck import connect
from ameles.connectors.format import Format
from ameles.connectors.text.json_lines import JsonLines
from ameles.connectors.text.line_blocks import handed_over
from tests.connectors.reading import rows_in

COLUMNS = {"region": "text", "age": "integer", 'a/b~"c': "number", "ok": "boolean"}
GOOD = [
    b'{"region":"north","age":3,"a/b~\\"c":1.5,"ok":true}',
    b'{"age":"4","region":null}',
    b'  {"region":{"x":[1,2]},"age":3.7,"extra":[1,2]}',
    b"{}",
]
ROWS: list[tuple[Any, ...]] = [
    ("north", 3, 1.5, True),
    (None, 4, None, None),
    ('{"x":[1,2]}', None, None, None),
    (None, None, None, None),
]
BAD = {
    "half an object": b'{"region":"north","age":',
    "an open string": b'{"region":"north',
    "no object": b"[1, 2]",
    "a number": b"3",
    "null": b"null",
    "two objects": b'{"region":"x"} {"region":"y"}',
    "a lone surrogate": b'{"region":"\\ud800"}',
    "a NUL": b'{"region":"\0"}',
    "no JSON": b"region=north",
    "a long line": b'{"region":"' + b"x" * (1 << 20) + b'"}',
    "many brackets": b'{"region":' + b"[" * 100_000,
    "an empty line": b"",
}


def test_objects_are_events(tmp_path: Path) -> None:
    rows = rows_in(tmp_path / "a.jsonl", b"\n".join(GOOD), COLUMNS)
    assert rows == sorted(ROWS, key=repr)


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("place", [0, 2, len(GOOD)])
def test_a_bad_line_counts_nowhere_and_touches_no_neighbour(
    bad: bytes, place: int, tmp_path: Path
) -> None:
    lines = [*GOOD[:place], bad, *GOOD[place:]]
    rows = rows_in(tmp_path / "a.ndjson", b"\xef\xbb\xbf" + b"\r\n".join(lines), COLUMNS)
    assert rows == sorted(ROWS, key=repr)


@cache
def shared() -> duckdb.DuckDBPyConnection:
    return connect(zone="UTC", memory=128 << 20)


@settings(max_examples=100, deadline=None)
@given(
    junk=st.binary(max_size=200).filter(lambda junk: b"\n" not in junk)
    | st.text(st.sampled_from('{}[]":,\\u0d8a1eE.-tnf '), max_size=60).map(str.encode)
)
def test_no_bytes_in_a_line_make_a_reading_fail_or_touch_a_neighbour(junk: bytes) -> None:
    block = GOOD[0] + b"\n" + junk + b"\n" + GOOD[1] + b"\n"
    rows: list[tuple[Any, ...]] = []
    for relation in handed_over(shared(), JsonLines(COLUMNS), tuple(COLUMNS), [block]):
        rows += shared().execute(f"SELECT * FROM {relation}").fetchall()
    assert {ROWS[0], ROWS[1]} <= set(rows)
    assert len(rows) <= 3


NESTED = (
    b'{"user":{"id":"nested","a.b":1,"":{"x":2}},"user.id":"flat","list":[{"n":5},6],'
    b'"back\\\\slash":3}\n{"user":"x"}\n{"user":null}\n{"user":["y"]}\n'
)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("user.id", ["nested", None, None, None]),
        (r"user\.id", ["flat", None, None, None]),
        (r"user.a\.b", ["1", None, None, None]),
        ("user..x", ["2", None, None, None]),
        ("list.0.n", ["5", None, None, None]),
        ("list.1", ["6", None, None, None]),
        ("user.0", [None, None, None, "y"]),
        (r"back\\slash", ["3", None, None, None]),
        (r"back\slash", ["3", None, None, None]),
        ("user.id.more", [None] * 4),
        ("user.", ['{"x":2}', None, None, None]),
        (".user", [None] * 4),
    ],
)
def test_a_dot_is_a_path(name: str, values: list[str | None]) -> None:
    assert path_values(name, Format()) == values


def test_a_stream_that_was_launched_before_has_no_paths() -> None:
    assert path_values("user.id", Format(rules=1)) == ["flat", None, None, None]
    assert path_values(r"user\.id", Format(rules=1)) == [None] * 4


def path_values(name: str, form: Format) -> list[str | None]:
    values: list[str | None] = []
    for relation in handed_over(shared(), JsonLines({name: "text"}, form), (name,), [NESTED]):
        values += [v for (v,) in shared().execute(f"SELECT * FROM {relation}").fetchall()]
    return values


def test_an_id_in_a_path_has_one_form() -> None:
    dialect = JsonLines({"user.id": "text id"}, raw=True)
    lines = b'{"user":{"id":7}}\n{"user":{"id":7.0}}\n{"user":{"id":true}}\n{"user":{}}\n'
    for relation in handed_over(shared(), dialect, ("user.id",), [lines]):
        rows = shared().execute(f"SELECT * FROM {relation}").fetchall()
    assert rows == [("7", "7"), ("7", "7.0"), (None, "true"), (None, None)]
