"""Parquet files are taken whole, once, and must not change."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ameles.connectors.declarations import Declarations
from ameles.connectors.files.identity import ChangedMeanwhile
from ameles.connectors.format import DEFAULT, Format
from ameles.connectors.source import SeekableSource
from ameles.connectors.text.lines import LONGEST
from ameles.core.exceptions import PlanError, SourceUnreadable, StoreRefused
from ameles.core.rules import FIRST
from tests.connectors.opening import open_files
from tests.connectors.reading import rows, rows_of

COLUMNS = {"at": "timestamp", "n": "integer", "name": "text"}
CANARY = "canary-4711"


def write(file: Path, *values: str) -> None:
    with duckdb.cursor() as duck:
        duck.execute(f"COPY (FROM (VALUES {', '.join(values)}) v(n, name, \"at\")) TO '{file}'")


def source(folder: Path, pattern: str = "*.parquet") -> SeekableSource[Any]:
    return open_files(pattern, COLUMNS, folder)


def test_new_files_bring_new_rows(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", "(1, 'x', TIMESTAMP '1970-01-01')")
    here = source(tmp_path)
    assert here.names() == ("n", "name", "at")
    first = here.reading(None)
    assert first.size == (tmp_path / "a.parquet").stat().st_size
    assert rows_of(first, COLUMNS) == [(0, 1, "x")]
    assert rows_of(first, COLUMNS) == [(0, 1, "x")], "again from the start"
    write(tmp_path / "b.parquet", "(2.5, NULL, '1970-01-01 00:00:01')", "(3.0, 'z', 'never')")
    (tmp_path / "a.parquet").unlink()
    second = here.reading(first.position)
    wanted = [(1_000_000, None, None), (None, 3, "z")]
    assert rows_of(second, COLUMNS) == sorted(wanted, key=repr)
    assert rows(here, COLUMNS, second.position) == []


def test_times_without_a_zone_are_in_that_of_the_plan(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", "(1, 'x', TIMESTAMP '1970-01-01 09:00')")
    assert rows(source(tmp_path), COLUMNS, zone="Asia/Tokyo") == [(0, 1, "x")]


@pytest.mark.parametrize("times", [1, 1000], ids=["plain", "dictionary"])
def test_broken_utf_8_is_replaced_in_its_own_value(times: int, tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    with duckdb.cursor() as duck:
        rows_of_three = "(VALUES (1, 'AAAA'), (2, 'BBBB'), (3, 'CCCC')) v(n, name)"
        duck.execute(
            f"COPY (SELECT n, name, '1970-01-01' AS \"at\" FROM {rows_of_three}, range({times})) "
            f"TO '{file}' (FORMAT parquet, COMPRESSION uncompressed)"
        )
    whole = file.read_bytes()
    assert b"BBBB" in whole
    file.write_bytes(whole.replace(b"BBBB", b"B\xff\xffB"))
    read = rows(source(tmp_path), COLUMNS)
    assert len(read) == 3 * times
    assert set(read) == {(0, 1, "AAAA"), (0, 2, "B??B"), (0, 3, "CCCC")}


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    write(file, f"(1, '{CANARY}', TIMESTAMP '1970-01-01')")
    reading = source(tmp_path).reading(None)
    write(file, f"(2, '{CANARY}', TIMESTAMP '1970-01-01')")
    with pytest.raises(StoreRefused, match="replaced or changed") as caught:
        source(tmp_path).reading(reading.position)
    assert CANARY not in str(caught.value)
    with pytest.raises(ChangedMeanwhile):
        rows_of(reading, COLUMNS)


def test_a_file_that_is_no_parquet_or_lacks_a_column_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text(CANARY)
    with pytest.raises(SourceUnreadable, match="cannot be read as Parquet") as caught:
        source(tmp_path).names()
    assert CANARY not in str(caught.value)
    with duckdb.cursor() as duck:
        duck.execute(f"COPY (SELECT 1 AS n) TO '{tmp_path / 'a.parquet'}'")
    (problem,) = source(tmp_path).reading(None).problems
    assert "has no column 'at'" in str(problem)


def test_a_name_that_duckdb_would_take_for_a_pattern_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", "(1, 'x', TIMESTAMP '1970-01-01')")
    (tmp_path / "a.parquet").rename(tmp_path / "[a].parquet")
    with pytest.raises(PlanError, match="would take it for a pattern"):
        source(tmp_path).names()


ONE = "(1, 'x', TIMESTAMP '1970-01-01')"


class Parquets:
    """A folder of Parquet files, read again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.position: str | None = None

    def read(self, **declared: Any) -> int:
        """How many rows are new."""
        here = open_files(
            "*.parquet", COLUMNS, self.folder, waiting=True, declarations=Declarations(**declared)
        )
        reading = here.reading(self.position)
        new = rows_of(reading, COLUMNS)
        self.position = reading.position
        return len(new)


@pytest.fixture
def folder(tmp_path: Path) -> Parquets:
    """One file, which was read."""
    write(tmp_path / "a.parquet", ONE)
    parquets = Parquets(tmp_path)
    assert parquets.read() == 1
    return parquets


def test_a_renamed_file_is_not_counted_again(folder: Parquets) -> None:
    (folder.folder / "a.parquet").rename(folder.folder / "b.parquet")
    assert folder.read() == 0
    write(folder.folder / "a.parquet", ONE)
    assert folder.read() == 1
    assert folder.read() == 0


def test_equal_files_count_each_and_links_once(folder: Parquets) -> None:
    write(folder.folder / "b.parquet", ONE)
    (folder.folder / "soft.parquet").symlink_to("a.parquet")
    (folder.folder / "hard.parquet").hardlink_to(folder.folder / "a.parquet")
    assert folder.read() == 1
    (folder.folder / "a.parquet").unlink()
    assert folder.read() == 0
    (folder.folder / "hard.parquet").unlink()
    write(folder.folder / "c.parquet", ONE)  # with the inode of the other, perhaps
    assert folder.read() == 1


@pytest.mark.parametrize("equal", [True, False])
def test_a_file_that_was_written_anew_is_refused_until_its_owner_says_what_it_is(
    folder: Parquets, equal: bool
) -> None:
    aside = folder.folder / "aside"
    aside.mkdir()
    write(aside / "a.parquet", ONE if equal else "(2, 'y', TIMESTAMP '1970-01-01')")
    (aside / "a.parquet").rename(folder.folder / "a.parquet")
    before = folder.position
    with pytest.raises(StoreRefused, match="--new-file"):
        folder.read()
    assert folder.read(new=("a.parquet",)) == 1
    assert folder.read() == 0
    folder.position = before
    if equal:
        assert folder.read(same=("*",)) == 0
        assert folder.read() == 0
    else:
        with pytest.raises(StoreRefused, match="replaced or changed"):
            folder.read(same=("*",))


def test_a_position_of_version_1_goes_on(folder: Parquets) -> None:
    document = json.loads(folder.position or "")
    document["version"] = 1
    for mark in document["files"]:
        del mark["born"], mark["declared"], mark["rotated"], mark["unread"]
    first = json.dumps(document)
    folder.position = first
    assert folder.read() == 0
    (folder.folder / "a.parquet").rename(folder.folder / "b.parquet")
    folder.position = first
    assert folder.read() == 0
    document["files"][0]["inode"] = 1  # of a copy, which the first program took for the file
    folder.position = json.dumps(document)
    with pytest.raises(StoreRefused, match="--same-file"):
        folder.read()
    (folder.folder / "b.parquet").rename(folder.folder / "a.parquet")
    assert folder.read() == 0


def test_a_text_is_as_long_as_a_line_may_be(tmp_path: Path) -> None:
    with closing(duckdb.cursor()) as duck:
        for size in (LONGEST, LONGEST + 1):
            duck.execute(f"COPY (SELECT repeat('x', {size}) AS who) TO '{tmp_path}/{size}.parquet'")
    columns = {"who": "text"}
    (short,) = rows(open_files(f"{LONGEST}.parquet", columns, tmp_path), columns)
    assert short == ("x" * LONGEST,)
    older = Format(rules=FIRST)
    for form, expected in ((DEFAULT, None), (older, "x" * (LONGEST + 1))):
        source = open_files(f"{LONGEST + 1}.parquet", columns, tmp_path, form=form)
        assert rows(source, columns) == [(expected,)]


def test_names_of_folders_are_no_columns(tmp_path: Path) -> None:
    (tmp_path / "who=mallory").mkdir()
    with closing(duckdb.cursor()) as duck:
        duck.execute(f"COPY (SELECT 'ada' AS who) TO '{tmp_path}/who=mallory/a.parquet'")
    columns = {"who": "text"}
    assert rows(open_files("who=mallory/*.parquet", columns, tmp_path), columns) == [("ada",)]
