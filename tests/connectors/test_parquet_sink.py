"""A Parquet file of all releases is there whole, or as it was."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ameles.connectors.sink import Sink, open_sink
from ameles.core.exceptions import AmelesError, PlanError, StoreRefused
from ameles.core.release import COLUMNS
from tests.connectors.records import records


def sink(folder: Path, identity: str = "one") -> Sink:
    return open_sink("parquet", "r.parquet", folder, stream="flu", identity=identity)


def bring(folder: Path, through: int) -> None:
    here = sink(folder)
    here.write(records(here.first_needed(0), through), through)
    assert here.last() == sink(folder).last() == through


def read(folder: Path) -> tuple[list[str], list[tuple[Any, ...]]]:
    times = ", ".join(
        f"strftime({edge} AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ') AS {edge}"
        for edge in ('"start"', '"end"')
    )
    with duckdb.connect() as duck:
        file = folder / "r.parquet"
        kinds = [row[1] for row in duck.execute(f"DESCRIBE FROM '{file}'").fetchall()]
        return kinds, duck.execute(f"SELECT * REPLACE ({times}) FROM '{file}'").fetchall()


def test_it_has_all_rows_in_order_with_fixed_types(tmp_path: Path) -> None:
    assert sink(tmp_path).last() == 0
    for through in (2, 2, 5):
        bring(tmp_path, through)
        kinds, rows = read(tmp_path)
        assert rows == records(1, through)
        zoned = "TIMESTAMP WITH TIME ZONE"
        numbers = dict.fromkeys(("value", "low", "high"), "DOUBLE")
        others = {"step": "BIGINT", "entry": "BIGINT", "start": zoned, "end": zoned, **numbers}
        assert kinds == [others.get(name, "VARCHAR") for name in COLUMNS]
    assert [file.name for file in tmp_path.iterdir()] == ["r.parquet"]


def test_many_rows_stay_in_order(tmp_path: Path) -> None:
    many = [(*row[:3], place, *row[4:]) for place, row in enumerate(records(1, 1) * 60_000)]
    sink(tmp_path).write(many, 1)
    with duckdb.connect() as duck:
        steps = duck.execute(f"SELECT step FROM '{tmp_path / 'r.parquet'}'").fetchall()
    assert steps == [(place,) for place in range(len(many))]


def test_a_column_without_a_value_keeps_its_type(tmp_path: Path) -> None:
    halted = [(*row[:6], None, None, None, "halted", *row[10:]) for row in records(1, 1)]
    sink(tmp_path).write(halted, 1)
    kinds, _ = read(tmp_path)
    assert kinds[COLUMNS.index("value")] == "DOUBLE"


def test_a_crash_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bring(tmp_path, 2)
    before = (tmp_path / "r.parquet").read_bytes()

    def fails(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fails)
        with pytest.raises(AmelesError, match="No space left"):
            sink(tmp_path).write(records(1, 3), 3)
    assert (tmp_path / "r.parquet").read_bytes() == before
    assert sink(tmp_path).last() == 2
    bring(tmp_path, 3)
    assert [file.name for file in tmp_path.iterdir()] == ["r.parquet"]


def test_a_foreign_or_damaged_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "r.parquet"
    with duckdb.connect() as duck:
        duck.execute(f"COPY (SELECT 1 AS x) TO '{file}'")
    with pytest.raises(StoreRefused, match="not written by Ameles"):
        sink(tmp_path)
    file.unlink()
    bring(tmp_path, 1)
    with pytest.raises(StoreRefused, match="another launch of stream 'flu'"):
        sink(tmp_path, identity="two")
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(StoreRefused, match="is damaged"):
        sink(tmp_path)


def test_a_name_that_duckdb_would_take_for_a_pattern_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="for a pattern"):
        open_sink("parquet", "r[1].parquet", tmp_path, stream="flu", identity="one")


def test_it_is_a_public_file(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        bring(tmp_path, 1)
    finally:
        os.umask(mask)
    assert (tmp_path / "r.parquet").stat().st_mode & 0o777 == 0o644
