"""The list source and the list sink by themselves, without a plan."""

from __future__ import annotations

from contextlib import closing

import duckdb
import pytest

from ameles.connectors.duck import connect
from ameles.core.release import COLUMNS
from ameles.testing import Crash, ListSink, ListSource


def read(source: ListSource, duck: duckdb.DuckDBPyConnection, position: str) -> list[str | None]:
    """The regions of all rows beyond a position."""
    regions: list[str | None] = []
    for relation in source.reading(position).scans(duck):
        regions += [row[0] for row in duck.execute(f"SELECT region FROM {relation}").fetchall()]
    return regions


def test_a_source_crashes_once_amid_its_rows() -> None:
    source = ListSource({"region": "text"})
    source.add(*({"region": name} for name in "abcd"))
    source.crash_next = True
    with closing(connect(zone="UTC", memory=1 << 28)) as duck:
        relations = source.reading("0").scans(duck)
        first = duck.execute(f"SELECT region FROM {next(relations)} ORDER BY 1").fetchall()
        assert first == [("a",), ("b",)]
        with pytest.raises(Crash):
            next(relations)
        assert sorted(map(str, read(source, duck, "1"))) == ["b", "c", "d"]


def test_a_text_is_what_a_file_would_have() -> None:
    source = ListSource({"region": "text"})
    source.add({"region": True}, {"region": 7}, {"region": None}, {"region": ""})
    with closing(connect(zone="UTC", memory=1 << 28)) as duck:
        assert set(read(source, duck, "0")) == {"true", "7", None, ""}
        assert read(source, duck, "4") == []


def test_a_reading_ends_where_the_list_ended() -> None:
    source = ListSource({"region": "text"})
    source.add({"region": "a"})
    ends = source.ends()
    source.add({"region": "b"})
    assert (source.reading(source.at_launch(), ends).position, source.reading(None).position) == (
        "1",
        "2",
    )
    assert source.names() == ("region",)


def test_a_sink_crashes_once_and_then_has_each_row_once() -> None:
    sink, step = ListSink(), COLUMNS.index("step")
    rows = [tuple(n // 2 + 1 if i == step else n for i in range(len(COLUMNS))) for n in range(6)]
    sink.crash_at = 2
    with pytest.raises(Crash):
        sink.write(rows, 3)
    assert [row["step"] for row in sink.rows] == [1, 1, 2]
    assert (sink.last(), sink.first_needed(0)) == (2, 1)
    sink.write(rows, 3)
    assert [row["step"] for row in sink.rows] == [1, 1, 2, 2, 3, 3]
    assert (sink.last(), sink.first_needed(0)) == (3, 4)
