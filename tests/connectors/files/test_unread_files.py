"""A file that cannot be read is named with its fix; it stops no other, and is taken later."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from ameles.connectors.files import identity
from ameles.connectors.format import Format
from ameles.core.exceptions import PlanError, SourceUnreadable, StoreRefused
from tests.connectors.following import (
    COLUMNS,
    HEADER,
    Following,
    append,
    closed,
    locked,
    place_for_all,
    write,
)
from tests.connectors.opening import open_files
from tests.connectors.reading import rows_of


def problems(here: Following) -> list[str]:
    return [str(problem) for problem in here.source.reading(here.position).problems]


def test_a_file_without_permission_waits_and_the_others_are_read(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", b"x,1\n")
    write(tmp_path, "b.csv", b"y,1\n")
    here = Following(tmp_path, "*.csv")
    with locked(file):
        assert here.source.names() == ("name", "n")
        (problem,) = problems(here)
        assert "'a.csv' cannot be read" in problem
        assert "chmod u+r 'a.csv'" in problem
        assert here.read() == [("y", 1)]
    assert problems(here) == []
    assert here.read() == [("x", 1)]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_source_of_which_nothing_can_be_read_is_refused_before_a_launch(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(HEADER)
    here = open_files(name, COLUMNS, tmp_path)
    with locked(tmp_path / name), pytest.raises(SourceUnreadable, match="cannot be read"):
        here.names()
    assert here.names() == ("name", "n")


def test_what_was_taken_of_a_file_is_known_when_it_can_be_read_again(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", b"x,1\n")
    here = Following(tmp_path, "*.csv")
    here.read()
    append(file, b"x,2\n")
    write(tmp_path, "b.csv", b"y,1\n")
    with locked(file):
        here.restart()
        assert here.read() == [("y", 1)]
        assert len(problems(here)) == 1
    here.restart()
    assert here.read() == [("x", 2)]


def test_a_file_without_the_columns_is_taken_when_it_is_mended(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", b"x,1\n")
    (tmp_path / "b.csv").write_bytes(b"name,m\ny,1\n")
    here = Following(tmp_path, "*.csv")
    assert here.read() == [("x", 1)]
    assert "'b.csv' has no column 'n'" in problems(here)[0]
    write(tmp_path, "b.csv", b"y,1\n")
    assert here.read() == [("y", 1)]


def test_a_compressed_file_under_a_pattern_of_plain_ones_says_what_to_do(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", b"x,1\n")
    stored = gzip.compress(HEADER + b"y,1\n", compresslevel=0)  # has the newlines of its lines
    (tmp_path / "a.csv.1.gz").write_bytes(stored)
    here = Following(tmp_path, "a.csv*")
    assert here.read() == [("x", 1)]
    (problem,) = problems(here)
    assert "'a.csv.1.gz' is compressed, but the source 'a.csv*' is of plain files" in problem
    assert 'rotated = "a.csv*.gz" in the plan' in problem
    assert "gunzip 'a.csv.1.gz', if all of its lines are to count" in problem
    said = Following(tmp_path, "a.csv*", rotated=["a.csv*.gz"])
    assert said.read() == [("x", 1)], "a copy from before the launch"
    assert problems(said) == []
    (tmp_path / "a.csv.1.gz").unlink()
    write(tmp_path, "a.csv.1", b"y,1\n")
    assert here.read() == [("y", 1)]


def test_a_compressed_file_alone_is_refused_with_the_same_words(tmp_path: Path) -> None:
    (tmp_path / "a.csv.1.BZ2").write_bytes(b"BZh\n")
    utf_16 = Format(encoding="utf-16-le")
    with pytest.raises(PlanError, match=r"bunzip2 'a\.csv\.1\.BZ2', if all") as caught:
        open_files("a.csv*", COLUMNS, tmp_path).names()
    assert 'rotated = "a.csv*.BZ2"' in caught.value.tip
    (tmp_path / "a.csv.1.BZ2").write_bytes("BZh\n".encode("utf-16-le"))
    with pytest.raises(PlanError, match="is compressed") as caught:
        open_files("a.csv*", COLUMNS, tmp_path, form=utf_16).names()
    assert "rotated" not in caught.value.tip, "the plan cannot have it"


def test_a_plain_file_with_the_ending_of_a_compression_is_read_as_before(tmp_path: Path) -> None:
    write(tmp_path, "a.csv.gz", b"x,1\n")
    assert Following(tmp_path, "a.csv*").read() == [("x", 1)]


def test_a_first_line_without_end_is_called_that(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"name,n," + b"c" * (1 << 20) + b"\nx,1\n")
    with pytest.raises(PlanError, match=r"first line of the file 'a.csv' is longer than 1 MiB"):
        open_files("a.csv", COLUMNS, tmp_path).names()
    write(tmp_path, "b.csv", b"y,1\n")
    here = Following(tmp_path, "*.csv")
    assert here.read() == [("y", 1)]
    assert "longer than 1 MiB" in problems(here)[0]


def test_a_damaged_parquet_file_stops_no_other(tmp_path: Path) -> None:
    columns = {"n": "integer"}
    with duckdb.connect() as duck:
        duck.execute(f"COPY (SELECT 1 AS n) TO '{tmp_path / 'good.parquet'}'")
        duck.execute(f"COPY (SELECT 1 AS m) TO '{tmp_path / 'other.parquet'}'")
    whole = (tmp_path / "good.parquet").read_bytes()
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(whole[:-9])
    here = open_files("*.parquet", columns, tmp_path)
    reading = here.reading(None)
    assert rows_of(reading, columns) == [(1,)]
    told = " ".join(str(problem) for problem in reading.problems)
    assert "'bad.parquet' cannot be read as Parquet" in told
    assert "'other.parquet' has no column 'n'" in told
    bad.write_bytes(whole)
    assert rows_of(here.reading(reading.position), columns) == [(1,)]


def test_a_header_that_is_still_being_written_is_no_problem(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(HEADER[:4])
    here = Following(tmp_path, "*.csv")
    assert here.source.names() == (), "they are not known yet"
    assert here.read() == []
    assert problems(here) == []


@pytest.fixture
def place() -> Iterator[Path]:
    with place_for_all() as folder:
        yield folder


@pytest.mark.parametrize(
    "pattern", ["*/*.csv", "**/*.csv", "*/deep/*.csv", "q/b.csv", "q/deep/b.csv"]
)
def test_a_folder_without_permission_is_named_and_its_files_wait(pattern: str, place: Path) -> None:
    inside = "deep" if "deep" in pattern else ""
    for name, line in (("p", b"x,1\n"), ("q", b"y,1\n")):
        (place / name / inside).mkdir(parents=True)
        write(place / name / inside, "b.csv", line)
    here = Following(place, pattern)
    assert problems(here) == []
    with closed(place / "q"):
        here.restart()
        (problem,) = problems(here)
        assert "The folder 'q' cannot be looked into" in problem
        assert "chmod u+rx 'q'" in problem
        assert here.read() == [("x", 1)] * (not pattern.startswith("q"))
    here.restart()
    assert problems(here) == []
    assert here.read() == [("y", 1)]


@pytest.mark.parametrize("pattern", ["q/*.csv", "q/a.csv", "{}/q/*.csv", "*/*.csv"])
def test_a_folder_without_permission_is_the_reason_if_there_is_no_file(
    pattern: str, place: Path
) -> None:
    (place / "q").mkdir()
    write(place / "q", "a.csv", b"x,1\n")
    text = pattern.format(place)
    assert open_files(text, COLUMNS, place).names() == ("name", "n")
    with closed(place / "q"), pytest.raises(SourceUnreadable, match="q' cannot be looked into"):
        open_files(text, COLUMNS, place)


@pytest.mark.parametrize("begins", [b"x,1\n", b"z,1\n"], ids=["alike", "otherwise"])
def test_a_log_that_loses_its_permission_when_it_is_rotated_is_not_gone(
    begins: bytes, tmp_path: Path
) -> None:
    file = write(tmp_path, "log.csv", b"x,1\n")
    here = Following(tmp_path, "log.csv*")
    assert here.read() == [("x", 1)]
    append(file, b"x,2\n")
    file.rename(tmp_path / "log.csv.1")
    write(tmp_path, "log.csv", begins)
    with locked(tmp_path / "log.csv.1"):
        here.restart()
        assert len(problems(here)) == 1
        assert here.read() == [(begins.decode()[0], 1)]  # a new file: all of it counts
        here.restart()
        assert here.read() == []
    here.restart()
    assert here.read() == [("x", 2)]


def test_without_births_a_log_under_the_name_of_a_hidden_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path, "log.csv", b"x,1\n")
    here = Following(tmp_path, "log.csv*")
    here.read()
    file.rename(tmp_path / "log.csv.1")
    write(tmp_path, "log.csv", b"z,1\n")
    monkeypatch.setattr(identity, "born", lambda handle: None)
    with (
        locked(tmp_path / "log.csv.1"),
        pytest.raises(StoreRefused, match=r"'log\.csv' was replaced"),
    ):
        here.read()
