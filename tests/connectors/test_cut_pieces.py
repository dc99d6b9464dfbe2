"""A reading is cut into pieces for other processes: together they have the same rows."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from ameles.connectors.files.identity import ChangedMeanwhile, Present
from ameles.connectors.format import DEFAULT, Encoding
from ameles.connectors.reading import Reading
from ameles.connectors.text.lines import LONGEST
from ameles.connectors.text.piece import TextPiece
from tests.connectors.opening import open_files
from tests.connectors.reading import rows_of

COLUMNS = {"n": "integer", "name": "text"}
LINES = ['1,a\n2,"b\n3,c"\r\n\r\n4,d\n', '5,"e\nf"\n', "6,\x00\n7,\u00fc\u0a0a\n", "8,last"]


def texts(folder: Path, text: str, codec: Encoding = "utf-8") -> Reading:
    (folder / "a.csv").write_bytes(f"n,name\n{text}".encode(codec))
    form = replace(DEFAULT, encoding=codec)
    return open_files("a.csv", COLUMNS, folder, form=form, take_last=True).reading(None)


@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le"])
def test_lines_are_cut_anywhere_and_stay_whole(codec: Encoding, tmp_path: Path) -> None:
    reading = texts(tmp_path, "".join(LINES), codec)
    wanted = rows_of(reading, COLUMNS)
    assert (8, "last") in wanted
    cuts = dict[tuple[int, ...], Reading]()
    for size in range(1, reading.size + 2):
        parts = reading.cut(size)
        assert parts.size == reading.size
        cuts[tuple(piece.size for piece in parts.pieces)] = parts  # many sizes give the same parts
    assert {1, 2, 3, 4, 9} <= {*map(len, cuts)}
    for parts in cuts.values():
        assert rows_of(parts, COLUMNS) == wanted


def test_a_line_that_is_too_long_is_one_line(tmp_path: Path) -> None:
    text = f"1,a\n2,{'x' * (2 * LONGEST + 9)}\n3,b\n4,c\n"
    reading = texts(tmp_path, text)
    parts = reading.cut(LONGEST)
    assert len(parts.pieces) > 1
    assert rows_of(parts, COLUMNS) == rows_of(reading, COLUMNS) == [(1, "a"), (3, "b"), (4, "c")]


def test_the_rest_of_a_line_that_was_read_before_is_left_out_once(tmp_path: Path) -> None:
    [piece] = texts(tmp_path, "1,a\n2,b\n3,c\n").pieces
    assert isinstance(piece, TextPiece)
    inside = replace(piece.segment, start=piece.segment.start + 1, within=True)
    reading = Reading((replace(piece, segment=inside),), "")
    for size in (1, 4, 5, 100):
        assert rows_of(reading.cut(size), COLUMNS) == [(2, "b"), (3, "c")]


def test_another_machine_may_see_the_file_on_another_device(tmp_path: Path) -> None:
    [piece] = texts(tmp_path, "1,a\n2,b\n").cut(3).pieces[:1]
    assert isinstance(piece, TextPiece)
    there = replace(piece, segment=replace(piece.segment, file=moved(piece.segment.file, dev=1)))
    assert rows_of(Reading((there,), ""), COLUMNS) == [(1, "a")]
    with pytest.raises(ChangedMeanwhile):
        rows_of(Reading((replace(there, anywhere=False),), ""), COLUMNS)
    other = replace(piece, segment=replace(piece.segment, file=moved(piece.segment.file, inode=1)))
    with pytest.raises(ChangedMeanwhile):
        rows_of(Reading((other,), ""), COLUMNS)


def moved(file: Present, *, dev: int = 0, inode: int = 0) -> Present:
    """The file as another machine sees it."""
    status = list(file.status)
    status[1:3] = file.status.st_ino + inode, file.status.st_dev + dev
    return Present(file.links, os.stat_result(status))


def test_parquet_is_cut_between_files(tmp_path: Path) -> None:
    ids = {"n": "integer", "name": "text id"}
    with duckdb.cursor() as duck:
        for n, name in enumerate(["'a'", "'b?'", "'c'"]):
            asked = f"SELECT {n} AS n, {name} AS name"
            duck.execute(f"COPY ({asked}) TO '{tmp_path}/{n}.parquet'")
    reading = open_files("*.parquet", ids, tmp_path).reading(None)
    wanted = rows_of(reading, ids)
    assert [name for _, name in wanted] == ["a", "b?", "c"]
    one = reading.pieces[0].size // 3
    for size, pieces in ((1, 3), (2 * one + 10, 2), (10 * one, 1)):
        parts = reading.cut(size)
        assert len(parts.pieces) == pieces
        assert len({path for piece in parts.pieces for path in piece.paths}) == 3
        assert rows_of(parts, ids) == wanted
