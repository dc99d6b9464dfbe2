"""Marks of files: what is stored of them, and what is refused."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors.durable import SPAN
from ameles.connectors.files.file_marks import Mark, from_json, to_json
from ameles.connectors.files.whole_digest import nothing_of
from ameles.core.exceptions import StoreRefused


@pytest.fixture
def handle(tmp_path: Path) -> Iterator[int]:
    file = tmp_path / "a.csv"
    file.write_bytes(bytes(range(256)) * (3 * SPAN // 256))
    opened = os.open(file, os.O_RDWR)
    yield opened
    os.close(opened)


def stored(handle: int, **fields: Any) -> str:
    """A position of one file, with some of its fields changed."""
    document = json.loads(to_json("text", [Mark.of(handle, "a.csv", 7)]))
    (mark,) = document["files"]
    document.update({name: fields.pop(name) for name in ("version", "kind") if name in fields})
    mark.update(fields)
    return json.dumps(document)


def test_a_mark_is_read_as_it_was_written(handle: int) -> None:
    marks = [Mark.of(handle, "a.csv", size) for size in (0, 7, SPAN, 2 * SPAN + 1)]
    marks.append(marks[-1].digested(handle))
    assert from_json("text", to_json("text", marks)) == marks
    assert from_json("text", None) == []


def test_a_position_of_a_newer_program_says_so(handle: int) -> None:
    with pytest.raises(StoreRefused, match="update ameles"):
        from_json("text", stored(handle, version=4))


def test_a_position_of_another_kind_of_source_says_so(handle: int) -> None:
    with pytest.raises(StoreRefused, match="is not one of parquet files"):
        from_json("parquet", stored(handle))


@pytest.mark.parametrize(
    "fields",
    [
        {"version": 1},
        {"version": 2},
        {"other": 1},
        {"digest": "x"},
        {"digest": None},
        {"version": 2, "digest": nothing_of(["a"])},
        {"device": -1},
        {"inode": "7"},
        {"offset": True},
        {"born": 1.5},
        {"within": 0},
        {"rotated": 0},
        {"unread": None},
        {"name": 7},
        {"head": None},
        {"tail": 7},
        {"declared": "old"},
    ],
)
def test_a_damaged_position_is_refused(handle: int, fields: dict[str, Any]) -> None:
    with pytest.raises(StoreRefused, match="damaged"):
        from_json("text", stored(handle, **fields))


@pytest.mark.parametrize("offset", [1, SPAN, SPAN + 1, 2 * SPAN, 3 * SPAN])
def test_a_file_that_lost_a_byte_does_not_fit(handle: int, offset: int) -> None:
    mark = Mark.of(handle, "a.csv", offset)
    assert mark.fits(handle)
    os.ftruncate(handle, offset)
    assert mark.fits(handle)
    os.ftruncate(handle, offset - 1)
    assert not mark.fits(handle)
