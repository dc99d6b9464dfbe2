"""What can be read in a sink, and what is none of its records."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tests.faults import KINDS, Choices, DiskImages, Faults, Victims
from tests.faults.sink_values import Unreadable, values_in

HEAD = b"release,key,step,value\n"
LINE = b'{"release": "visits", "key": "north", "step": 1, "value": 3}\n'


def test_whole_lines_count() -> None:
    assert values_in("out.csv", HEAD + b"visits,north,1,3\nvisits,no") == {
        ("visits", "north", 1): 3
    }
    assert values_in("out.jsonl", LINE + LINE[:20]) == {("visits", "north", 1): 3}


def test_a_cell_with_two_values_has_both() -> None:
    two = HEAD + b"visits,north,1,3\nvisits,north,1,4\n"
    assert values_in("out.csv", two) == {("visits", "north", 1): (3, 4)}


def test_a_row_in_two_files_is_found(tmp_path: Path) -> None:
    with duckdb.connect() as duck:
        row = "SELECT 'visits' AS release, '' AS key, 1 AS step, 3 AS value"
        duck.execute(f"COPY ({row}) TO '{tmp_path / 'one.parquet'}'")
    content = (tmp_path / "one.parquet").read_bytes()
    assert values_in("out.parquet", {"1": content}) == {("visits", "", 1): 3}
    with pytest.raises(Unreadable, match="twice"):
        values_in("out.parquet", {"1": content, "2": content})
    with pytest.raises(Unreadable, match="no whole"):
        values_in("out.parquet", {"1": content[:-4]})


@pytest.mark.parametrize("sink", ["out.csv", "out.jsonl"])
def test_what_is_no_record_is_found(sink: str) -> None:
    with pytest.raises(Unreadable):
        values_in(sink, HEAD + b"\0\0\0\n")
    with pytest.raises(Unreadable):
        values_in(sink, HEAD + b"visits\n")


def test_a_lost_sector_shows_nothing() -> None:
    assert values_in("out.jsonl", LINE + bytes(9) + LINE, torn=True) == {("visits", "north", 1): 3}


def test_a_sink_that_lost_a_sector_is_written_again(tmp_path: Path, victims: Victims) -> None:
    """The power fails between a write of two sectors and its sync, and only the second is there."""
    rehearsal = KINDS["folder"].rehearse(tmp_path / "w", victims, horizon=2)
    written = [(change.kind, change.path) for change in rehearsal.changes]
    at = len(written) - written[::-1].index(("write", "store/out.jsonl"))
    images = DiskImages(rehearsal.before, rehearsal.changes)
    disks = (images.after_power_cut(at, Choices("image", number)) for number in range(1000))
    torn = (b"\0" in disk.get("store/out.jsonl", b"") for disk in disks)
    number = next(number for number, lost in enumerate(torn) if lost)
    assert Faults(rehearsal).power_cut(tmp_path / "cut", at, number) == []
