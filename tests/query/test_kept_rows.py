"""Rows of text files are kept in memory between questions, as long as the files do not change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ameles.core.exceptions import AmelesError
from ameles.query import Table, kept_rows
from ameles.query.file_rows import FileRows
from ameles.query.look import looking
from tests.query.tables import truthful


@pytest.fixture(name="readings")
def _readings(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One for each time that files were read; files count as settled at once."""
    readings: list[None] = []
    real = FileRows.reading

    def counted(rows: FileRows) -> object:
        readings.append(None)
        return real(rows)

    monkeypatch.setattr(FileRows, "reading", counted)
    monkeypatch.setattr(kept_rows, "SETTLED_NS", -(10**18))
    return readings


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    file = tmp_path / "visits.csv"
    file.write_text("id,age\n1,30\n2,31\n")
    return file


def _table(path: Path) -> Table:
    columns = {"id": "integer", "age": "integer"}
    return Table.from_file(path, columns=columns, account=truthful(), unit="row")


def _ages(table: Table) -> object:
    return table.noisy_sum("age", lower=0, upper=100, epsilon=1).value


def test_a_file_is_read_once_for_several_questions(file: Path, readings: list[None]) -> None:
    table = _table(file)
    assert [_ages(table), table.where("age > 30").noisy_count(epsilon=1).value] == [61, 1]
    assert len(readings) == 1


def test_a_file_that_was_just_written_is_read_again(
    file: Path, readings: list[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_rows, "SETTLED_NS", 3600 * 10**9)
    table = _table(file)
    assert [_ages(table), _ages(table)] == [61, 61]
    assert len(readings) == 2


def test_another_content_of_the_same_size_and_time_is_read(
    file: Path, readings: list[None]
) -> None:
    table = _table(file)
    assert _ages(table) == 61
    before = os.stat(file)
    file.write_text("id,age\n1,40\n2,41\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert _ages(table) == 81
    assert len(readings) == 2


def test_a_file_that_replaces_another_is_read(file: Path, readings: list[None]) -> None:
    table = _table(file)
    assert _ages(table) == 61
    other = file.with_suffix(".new")
    other.write_text("id,age\n1,50\n")
    os.replace(other, file)
    assert _ages(table) == 50


def test_a_new_file_of_a_pattern_is_read(file: Path, readings: list[None]) -> None:
    table = _table(file.with_name("*.csv"))
    assert _ages(table) == 61
    file.with_name("more.csv").write_text("id,age\n3,9\n")
    assert _ages(table) == 70


def test_a_file_that_is_gone_is_refused(file: Path, readings: list[None]) -> None:
    table = _table(file)
    assert _ages(table) == 61
    file.unlink()
    with pytest.raises(AmelesError):
        _ages(table)


def test_a_large_table_is_not_kept(
    file: Path, readings: list[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_rows, "MOST_BYTES", 0)
    table = _table(file)
    assert [_ages(table), _ages(table)] == [61, 61]
    assert len(readings) == 2
    with looking(table.relation) as look:
        assert not look.tables.any("FROM duckdb_tables() WHERE table_name LIKE 'kept_rows%'")


def test_questions_at_the_same_time_do_not_share_a_connection(
    file: Path, readings: list[None]
) -> None:
    table = _table(file)
    with looking(table.relation):
        assert _ages(table) == 61  # on a connection of its own
    assert [_ages(table), _ages(table)] == [61, 61]
    with looking(table.relation) as look:
        assert look.tables.any("FROM duckdb_tables() WHERE table_name LIKE 'kept_rows%'")
        ((tables,),) = look.tables._duck.execute("SELECT count(*) FROM duckdb_tables()").fetchall()
    assert tables == 1  # no other copy is left there


def test_tables_that_are_asked_together_have_their_own_rows(
    file: Path, readings: list[None]
) -> None:
    other = file.with_name("other.csv")
    other.write_text("id,age\n7,5\n")
    first = _table(file)
    account = first.account
    columns = {"id": "integer", "age": "integer"}
    second = Table.from_file(other, columns=columns, account=account, unit="row")
    assert [_ages(first), _ages(second)] == [61, 5]
    assert first.union(second).noisy_count(epsilon=1).value == 3
    assert first.union(second).noisy_sum("age", lower=0, upper=100, epsilon=1).value == 66
    assert first.except_(second).noisy_count(epsilon=1).value == 2
    read = len(readings)
    assert [_ages(first), _ages(second)] == [61, 5]  # still kept
    assert len(readings) == read


def test_kept_rows_are_in_memory_only(file: Path, readings: list[None]) -> None:
    table = _table(file)
    _ages(table)
    with looking(table.relation) as look:
        ((folder,),) = look.tables._duck.execute(
            "SELECT current_setting('temp_directory')"
        ).fetchall()
    assert folder == ""
