"""A Parquet file is cut by row groups: its parts have its rows together, each once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from ameles.connectors.reading import Reading
from ameles.connectors.typed_columns import IDS
from tests.connectors.opening import open_files
from tests.connectors.parquet.test_scan import write
from tests.connectors.reading import rows_of

USERS = {"n": "integer", "who": IDS["text"]}


def parquet(folder: Path, **more: Any) -> Reading:
    """Row groups, in some of which ids are broken, and a small file."""
    ids = [b"ada", b"z???", b"what?", b"zz\xe2\x82", b"bob"]
    write(folder / "a.parquet", *ids, times=2000, **more)
    write(folder / "b.parquet", b"eve", **more)
    return open_files("*.parquet", USERS, folder).reading(None)


def test_parquet_is_cut_by_row_groups(tmp_path: Path) -> None:
    reading = parquet(tmp_path)
    every = rows_of(reading, USERS)
    assert len(every) == 10_001
    finest = reading.cut(1)
    parts = [piece.size for piece in finest.pieces]
    assert finest.cut(1).pieces == finest.pieces
    cuts = [finest, reading.cut(parts[0] + parts[1]), reading.cut(reading.size)]
    assert len(parts) > len(cuts[1].pieces) > len(cuts[2].pieces) == 1
    for cut in cuts:
        assert rows_of(cut, USERS) == every


def test_a_part_of_parquet_reads_no_other_row_groups(tmp_path: Path) -> None:
    """Otherwise each of many tasks would read all of a file."""
    with duckdb.cursor() as duck:
        duck.execute(
            "COPY (SELECT range AS n, CAST(range AS VARCHAR) AS who FROM range(20000)) "
            f"TO '{tmp_path}/a.parquet' (FORMAT parquet, ROW_GROUP_SIZE 2048)"
        )
    reading = open_files("a.parquet", USERS, tmp_path).reading(None)
    piece = reading.cut(1).pieces[4]
    whole = (tmp_path / "a.parquet").read_bytes()
    first = [group[0] for group in _data_starts(tmp_path / "a.parquet")]
    damaged = bytearray(whole)
    for place in (first[0], first[-1]):
        damaged[place : place + 64] = b"\xff" * 64
    (tmp_path / "a.parquet").write_bytes(damaged)
    with duckdb.connect() as duck:
        relation = next(piece.scans(duck))
        read = duck.execute(f"SELECT min(n), max(n), count(*) FROM {relation}").fetchall()
    assert read == [(8192, 10239, 2048)]


def _data_starts(file: Path) -> list[tuple[int]]:
    query = f"SELECT min(data_page_offset) FROM parquet_metadata('{file}') GROUP BY row_group_id"
    with duckdb.cursor() as duck:
        return sorted(duck.execute(query).fetchall())


def test_parquet_whose_columns_hide_the_places_of_rows_is_not_cut(tmp_path: Path) -> None:
    reading = parquet(tmp_path, more=", 0 AS File_Row_Number")
    cut = reading.cut(1)
    assert len(cut.pieces) == 2
    assert rows_of(cut, USERS) == rows_of(reading, USERS)


def test_parquet_that_is_gone_is_told_by_whoever_reads_it(tmp_path: Path) -> None:
    reading = parquet(tmp_path)
    (tmp_path / "a.parquet").write_bytes(b"junk")
    assert len(reading.cut(1).pieces) == 2
