"""The columns of Parquet files, remembered while a file does not change."""

from __future__ import annotations

import os
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ameles.connectors.duck import connect
from ameles.connectors.files.named_files import NamedFile
from ameles.connectors.parquet import columns as parquet_columns
from ameles.connectors.parquet.columns import Columns, Footers
from ameles.connectors.parquet.source import ParquetSource
from ameles.core.exceptions import PlanError, SourceUnreadable

HOUR = 3600


@pytest.fixture(name="looks")
def _looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were really opened."""
    looks: list[str] = []
    real = Footers._looked_up

    def counted(self: Footers, path: str, name: str) -> Columns:
        looks.append(name)
        return real(self, path, name)

    monkeypatch.setattr(Footers, "_looked_up", counted)
    monkeypatch.setattr(parquet_columns, "_known", {})
    return looks


def columns_of(file: NamedFile) -> Columns:
    with Footers([file]) as footers:
        return footers.columns_of(file)


def types_of(file: NamedFile) -> dict[str, str]:
    return columns_of(file).types


def _written(path: Path, values: str, age: float = HOUR) -> NamedFile:
    duckdb.sql(f"COPY (SELECT {values}) TO '{path}' (FORMAT parquet)")
    os.utime(path, (time.time() - age, time.time() - age))
    return NamedFile(path.name, path)


def _later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    now = time.time_ns() + round(seconds * 1e9)
    monkeypatch.setattr("ameles.connectors.parquet.columns.time.time_ns", lambda: now)


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
    assert columns_of(NamedFile(path.name, path)).longest["a.b"] >= len(texts[-1])


def test_texts_that_cannot_be_long_are_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ameles.connectors.parquet.source.LONGEST", 500)
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
    look = Footers.columns_of
    monkeypatch.setattr(
        Footers, "columns_of", lambda self, file: Columns(look(self, file).types, {})
    )
    path = _written(tmp_path / "a.parquet", "'a' AS x").path
    with duckdb.connect() as duck:
        reading = ParquetSource(path.name, tmp_path, {"x": "text"}).reading(None)
        assert "strlen" in next(reading.scans(duck))


@pytest.fixture(name="opened")
def _opened(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The files that each database may open."""
    opened: list[list[str]] = []

    def counted(*, zone: str, memory: int, readable: list[str]) -> duckdb.DuckDBPyConnection:
        own = [Path(path) for path in readable if "ameles-parquet-" not in path]
        opened.append([path.name for path in own])
        return connect(zone=zone, memory=memory, readable=readable)

    monkeypatch.setattr(parquet_columns, "connect", counted)
    return opened


def test_files_share_a_database_that_opens_nothing_else(
    tmp_path: Path, opened: list[list[str]]
) -> None:
    for name in "ab":
        _written(tmp_path / f"{name}.parquet", f"'{name}' AS x")
    source = ParquetSource("*.parquet", tmp_path, {"x": "text"})
    assert source.names() == ("x",)
    assert opened == [["a.parquet", "b.parquet"]]
    assert len(source.reading(None).pieces) == 1
    assert opened == [["a.parquet", "b.parquet"]] * 2


def test_a_file_that_fails_leaves_the_others_alone(tmp_path: Path, opened: list[list[str]]) -> None:
    """Also a path that DuckDB would take for a pattern."""
    files = [_written(tmp_path / f"{name}.parquet", "1 AS x") for name in ("a", "b", "c[d]")]
    files[0].path.write_bytes(b"PAR1 something else PAR1")
    with Footers(files) as footers:
        with pytest.raises(SourceUnreadable, match=r"'a.parquet' cannot be read as Parquet"):
            footers.columns_of(files[0])
        assert footers.columns_of(files[1]).types == {"x": "INTEGER"}
        with pytest.raises(PlanError, match="has one of the characters"):
            footers.columns_of(files[2])
    assert opened == [["a.parquet", "b.parquet"]] * 2
