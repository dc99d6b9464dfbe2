"""The columns of Parquet files, remembered while a file does not change."""

from __future__ import annotations

import os
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ameles.connectors import parquet_columns
from ameles.connectors.named_files import NamedFile
from ameles.connectors.parquet_columns import longest_of, types_of
from ameles.connectors.parquet_source import ParquetSource

HOUR = 3600


@pytest.fixture(name="looks")
def _looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were really opened."""
    looks: list[str] = []
    real = parquet_columns._looked_up

    def counted(path: str, name: str) -> Any:
        looks.append(name)
        return real(path, name)

    monkeypatch.setattr(parquet_columns, "_looked_up", counted)
    monkeypatch.setattr(parquet_columns, "_known", {})
    return looks


def _written(path: Path, values: str, age: float = HOUR) -> NamedFile:
    duckdb.sql(f"COPY (SELECT {values}) TO '{path}' (FORMAT parquet)")
    os.utime(path, (time.time() - age, time.time() - age))
    return NamedFile(path.name, path)


def _later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    now = time.time_ns() + round(seconds * 1e9)
    monkeypatch.setattr("ameles.connectors.parquet_columns.time.time_ns", lambda: now)


def test_a_file_at_rest_is_looked_at_once(
    tmp_path: Path, looks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = _written(tmp_path / "a.parquet", "1 AS x")
    _later(monkeypatch, HOUR)
    assert types_of(file) == types_of(file) == {"x": "INTEGER"}
    assert len(looks) == 1


def test_a_file_that_was_just_written_is_looked_at_again(tmp_path: Path, looks: list[str]) -> None:
    file = _written(tmp_path / "a.parquet", "1 AS x")  # its ctime is now
    assert types_of(file) == types_of(file) == {"x": "INTEGER"}
    assert len(looks) == 2


def test_a_changed_file_is_looked_at_again(
    tmp_path: Path, looks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _later(monkeypatch, HOUR)
    assert types_of(_written(tmp_path / "a.parquet", "1 AS x")) == {"x": "INTEGER"}
    assert types_of(_written(tmp_path / "a.parquet", "1.5::DOUBLE AS x")) == {"x": "DOUBLE"}
    assert len(looks) == 2


def test_what_is_given_is_a_copy(
    tmp_path: Path, looks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = _written(tmp_path / "a.parquet", "1 AS x")
    _later(monkeypatch, HOUR)
    types_of(file).clear()
    assert types_of(file) == {"x": "INTEGER"}


def test_only_so_many_files_are_remembered(
    tmp_path: Path, looks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_columns, "_MOST", 2)
    _later(monkeypatch, HOUR)
    for name in "abc":
        types_of(_written(tmp_path / f"{name}.parquet", "1 AS x"))
    assert len(parquet_columns._known) == 1


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"use_dictionary": False},
        {"use_dictionary": False, "column_encoding": {"a.b": "DELTA_BYTE_ARRAY"}},
        {"use_dictionary": False, "column_encoding": {"a.b": "DELTA_LENGTH_BYTE_ARRAY"}},
        {"compression": "zstd"},
    ],
)
def test_no_text_is_longer_than_the_footer_allows(tmp_path: Path, options: dict[str, Any]) -> None:
    pyarrow: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    # each begins with the one before, and all are alike: as short in the file as texts can be
    texts = ["x" * length for length in range(0, 5000, 100)]
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"a.b": texts}), path, row_group_size=7, **options)
    assert longest_of(NamedFile(path.name, path))["a.b"] >= len(texts[-1])


def test_texts_that_cannot_be_long_are_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ameles.connectors.parquet_source.LONGEST", 500)
    for name, texts in {"short": "'a'", "long": "unnest(['a', repeat('x', 501), NULL])"}.items():
        path = _written(tmp_path / f"{name}.parquet", f"{texts} AS x").path
        with duckdb.connect() as duck:
            reading = ParquetSource(path.name, tmp_path, {"x": "text"}).reading(None)
            scan = next(reading.scans(duck))
            assert ("strlen" in scan) == (name == "long")
            rows = duck.execute(f"SELECT x FROM {scan}").fetchall()
        assert rows == ([("a",), (None,), (None,)] if name == "long" else [("a",)])


def test_texts_without_a_size_in_the_footer_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ameles.connectors.parquet_source.longest_of", lambda file: {})
    path = _written(tmp_path / "a.parquet", "'a' AS x").path
    with duckdb.connect() as duck:
        reading = ParquetSource(path.name, tmp_path, {"x": "text"}).reading(None)
        assert "strlen" in next(reading.scans(duck))
