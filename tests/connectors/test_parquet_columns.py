"""The columns of Parquet files, remembered while a file does not change."""

from __future__ import annotations

import os
import time
from pathlib import Path

import duckdb
import pytest

from ameles.connectors import parquet_columns
from ameles.connectors.named_files import NamedFile
from ameles.connectors.parquet_columns import types_of

HOUR = 3600


@pytest.fixture(name="looks")
def _looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were really opened."""
    looks: list[str] = []
    real = parquet_columns._looked_up

    def counted(path: str, name: str) -> dict[str, str]:
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
