"""Broken ids of users in Parquet files: they are no ids, and change no other."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from ameles.connectors.typed_columns import IDS, KEY
from tests.connectors.opening import open_files
from tests.connectors.reading import rows

COLUMNS = {"n": "integer", "who": IDS["text"]}
BROKEN = (b"z\xff\xff\xff", b"z\xfe\xfe\xfe", b"\xed\xa0\x80z", b"zz\xe2\x82", b"?\xff\xff\xff")


def write(file: Path, *ids: bytes, times: int = 1, more: str = "") -> None:
    """A file with these ids, numbered, each of them several times.

    DuckDB writes no broken text, so a sound one is written in its place.
    """
    held = [f"<{place}>" + "." * (len(name) - 3) for place, name in enumerate(ids)]
    listed = ", ".join(f"({place}, '{text}')" for place, text in enumerate(held))
    with closing(duckdb.cursor()) as duck:
        duck.execute(
            f"COPY (SELECT n, who{more} FROM (VALUES {listed}) AS _ (n, who), range({times})) "
            f"TO '{file}' (FORMAT parquet, COMPRESSION uncompressed, ROW_GROUP_SIZE 2048)"
        )
    whole = file.read_bytes()
    for text, name in zip(held, ids, strict=True):
        assert len(text) == len(name)
        whole = whole.replace(text.encode(), name)
    file.write_bytes(whole)


@pytest.mark.parametrize("times", [1, 1000], ids=["plain", "dictionary"])
def test_a_broken_id_is_no_id_and_question_marks_are(times: int, tmp_path: Path) -> None:
    ids = (b"ada", b"z???", b"z????", b"what?", *BROKEN)
    write(tmp_path / "a.parquet", *ids, times=times)
    write(tmp_path / "b.parquet", *reversed(ids), times=times)
    read = rows(open_files("*.parquet", COLUMNS, tmp_path), COLUMNS)
    assert len(read) == 2 * times * len(ids)
    last = len(ids) - 1
    sound = {(place, name.decode()) for place, name in enumerate(ids) if name not in BROKEN}
    sound |= {(last - place, name) for place, name in sound}
    assert {row for row in read if row[1] is not None} == sound
    assert sum(row[1] is None for row in read) == 2 * times * len(BROKEN)


@pytest.mark.parametrize("broken", BROKEN)
def test_one_broken_id_is_found(broken: bytes, tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", b"ada", broken)
    assert rows(open_files("a.parquet", COLUMNS, tmp_path), COLUMNS) == [(0, "ada"), (1, None)]


@pytest.mark.parametrize("name", ["file_index", "FILE_ROW_NUMBER"])
@pytest.mark.parametrize("broken", [b"zz\xe2\x82", b"zzzz"])
def test_a_file_that_hides_the_places_of_its_rows_has_no_ids_with_question_marks(
    name: str, broken: bytes, tmp_path: Path
) -> None:
    """Whether or not one of its ids is broken: that one would change the others."""
    write(tmp_path / "a.parquet", b"ada", b"z???", broken, more=f", 0 AS {name}")
    read = rows(open_files("a.parquet", COLUMNS, tmp_path), COLUMNS)
    assert read[:2] == [(0, "ada"), (1, None)]
    assert read[2] == (2, None if broken != b"zzzz" else "zzzz")


def test_two_columns_are_looked_at_together(tmp_path: Path) -> None:
    """A broken text in one of them says nothing about the other."""
    columns = {"n": "integer", "who": KEY, "twice": IDS["text"]}
    write(tmp_path / "a.parquet", b"ada", b"z???", BROKEN[0], more=", who || '?' AS twice")
    read = rows(open_files("a.parquet", columns, tmp_path), columns)
    assert [row[1:] for row in read[:2]] == [("ada", "ada?"), ("z???", "z????")]
    assert read[2] == (2, None, None)


def test_a_column_that_holds_no_ids_keeps_its_broken_texts(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", b"ada", BROKEN[0])
    columns = {"n": "integer", "who": "text"}
    assert rows(open_files("a.parquet", columns, tmp_path), columns) == [(0, "ada"), (1, "z???")]
