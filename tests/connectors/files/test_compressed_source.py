"""Compressed sources: whole files once they are complete, each event once."""

from __future__ import annotations

import tracemalloc
from contextlib import closing
from hashlib import shake_128
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors.duck import connect
from ameles.connectors.files.compressed import ENDINGS
from ameles.connectors.files.compressed_source import CompressedSource
from ameles.connectors.files.identity import ChangedMeanwhile
from ameles.connectors.format import Format
from ameles.connectors.source import SeekableSource
from ameles.core.exceptions import PlanError, SourceUnreadable, StoreRefused
from tests.connectors.files.test_compressed import PACK
from tests.connectors.opening import open_files
from tests.connectors.reading import rows, rows_of

COLUMNS = {"region": "text", "n": "integer"}
CSV = b"n,region\n1,north\n2,south\n3,east"  # the last line has no newline, and no more to come
ROWS = [("east", 3), ("north", 1), ("south", 2)]
JSONL = b'{"n":1,"region":"north"}\n{"n":2,"region":"south"}\nbad\n{"n":3,"region":"east"}\n'


def source_of(folder: Path, pattern: str, form: Format | None = None) -> SeekableSource[Any]:
    return open_files(pattern, COLUMNS, folder, form=form or Format(), waiting=True)


@pytest.mark.parametrize("ending", ENDINGS)
def test_files_are_unpacked_and_counted_once(tmp_path: Path, ending: str) -> None:
    for kind, content in (("csv", CSV), ("jsonl", JSONL)):
        path = tmp_path / f"a.{kind}{ending}"
        path.write_bytes(PACK[ending](content))
        source = source_of(tmp_path, f"*.{kind}{ending}")
        assert isinstance(source, CompressedSource)
        assert set(source.names()) == set(COLUMNS)
        reading = source.reading(None)
        assert reading.size == len(content)
        assert rows_of(reading, COLUMNS) == ROWS
        assert rows_of(reading, COLUMNS) == ROWS  # again from the start
        path.rename(tmp_path / f"b.{kind}{ending}")
        (tmp_path / f"c.{kind}{ending}").write_bytes(PACK[ending](content))
        again = source_of(tmp_path, f"*.{kind}{ending}").reading(reading.position)
        assert rows_of(again, COLUMNS) == ROWS  # those of c alone


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_waits_until_it_is_complete(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.csv{ending}"
    packed = PACK[ending](CSV)
    source, position = source_of(tmp_path, path.name), None
    for size in (0, 1, 3, len(packed) // 2, len(packed) - 1):
        path.write_bytes(packed[:size])
        assert source.names() == (), "they are not known yet"
        for ends in (None, source.ends()):
            reading = source.reading(position, ends)
            assert reading.size == 0
            assert rows_of(reading, COLUMNS) == []
            position = reading.position
    path.write_bytes(packed)
    assert rows(source, COLUMNS, position) == ROWS


def test_what_came_after_an_instant_waits_for_the_next(tmp_path: Path) -> None:
    source = source_of(tmp_path, "*.csv.gz")
    (tmp_path / "a.csv.gz").write_bytes(PACK[".gz"](CSV))
    ends = source.ends()
    (tmp_path / "b.csv.gz").write_bytes(PACK[".gz"](CSV))
    reading = source.reading(None, ends)
    assert rows_of(reading, COLUMNS) == ROWS
    assert rows(source, COLUMNS, reading.position) == ROWS


def test_a_file_that_changes_after_it_was_taken_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(PACK[".gz"](CSV))
    source = source_of(tmp_path, "a.csv.gz")
    reading = source.reading(None)
    rows_of(reading, COLUMNS)
    with path.open("ab") as file:
        file.write(PACK[".gz"](b"4,west\n"))
    with pytest.raises(StoreRefused, match="replaced or changed") as caught:
        source.reading(reading.position)
    assert "must not change" in caught.value.why
    assert "append" not in caught.value.tip


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(PACK[".gz"](CSV))
    source = source_of(tmp_path, "a.csv.gz")
    reading = source.reading(None)
    for broken in (PACK[".gz"](CSV)[:-3], b"x" * 40, PACK[".gz"](CSV.replace(b"north", b"n"))):
        with path.open("r+b") as file:  # in place: it stays the same file
            file.truncate(0)
            file.write(broken)
        with pytest.raises(ChangedMeanwhile, match="replaced or cut"):
            rows_of(reading, COLUMNS)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_damaged_file_is_named_and_stops_no_other(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"b.csv{ending}"
    path.write_bytes(CSV)
    source = source_of(tmp_path, f"*.csv{ending}")
    with pytest.raises(SourceUnreadable, match=f"'{path.name}' cannot be unpacked") as caught:
        source.names()
    assert "north" not in str(caught.value)
    (tmp_path / f"a.csv{ending}").write_bytes(PACK[ending](CSV))
    assert set(source.names()) == set(COLUMNS)
    packed = bytearray(PACK[ending](CSV + shake_128(b"noise").hexdigest(3000).encode()))
    packed[len(packed) // 2] ^= 0xFF  # past the first line
    for broken in (CSV, packed, PACK[ending](b"other,names\n1,2\n")):
        path.write_bytes(broken)
        reading = source.reading(None)
        assert [path.name in str(problem) for problem in reading.problems] == [True]
        assert rows_of(reading, COLUMNS) == ROWS
    path.write_bytes(PACK[ending](CSV))  # mended: it is taken then
    assert rows(source, COLUMNS, reading.position) == ROWS


def test_formats_and_encodings_go_with_it(tmp_path: Path) -> None:
    content = "n;région\n1;Köln\n".encode("utf-16")
    (tmp_path / "a.csv.bz2").write_bytes(PACK[".bz2"](content))
    columns = {"région": "text", "n": "integer"}
    form = Format(delimiter=";", encoding="utf-16")
    source = open_files("a.csv.bz2", columns, tmp_path, form=form)
    assert rows(source, columns) == [("Köln", 1)]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_bomb_is_one_line_that_counts_nowhere(tmp_path: Path, ending: str) -> None:
    content = b"n,region\n1,north\n" + b"x" * (96 << 20) + b"\n2,south\n3,east\n"
    (tmp_path / f"a.csv{ending}").write_bytes(PACK[ending](content))
    source = source_of(tmp_path, f"a.csv{ending}")
    tracemalloc.start()
    try:
        read = rows(source, COLUMNS)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert read == ROWS
    assert peak < 48 << 20


@pytest.mark.parametrize("pattern", ["a.parquet.gz", "a.csv.gz*", "a.csv.xz", "a.gz"])
def test_other_names_are_refused(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(PlanError, match="not of a kind") as caught:
        source_of(tmp_path, pattern)
    assert ".zst" in caught.value.tip


def test_a_reading_that_skips_the_check_of_completeness_would_count_half(tmp_path: Path) -> None:
    """Broken: without it, the lines before the cut are counted, and again when it is complete."""
    content = b"n,region\n" + b"".join(b"%d,%s\n" % (n, b"north") for n in range(2_000_000))
    packed = PACK[".gz"](content)
    (tmp_path / "a.csv.gz").write_bytes(packed)
    source = source_of(tmp_path, "a.csv.gz")
    reading = source.reading(None)
    with (tmp_path / "a.csv.gz").open("r+b") as file:
        file.truncate(len(packed) - 8)
    scanned: list[str] = []
    with closing(connect(zone="UTC", memory=64 << 20)) as duck, pytest.raises(ChangedMeanwhile):
        scanned.extend(reading.scans(duck))
    assert scanned
    assert source_of(tmp_path, "a.csv.gz").reading(None).size == 0
