"""The note beside a file: torn, mixed or old, it never says more than the file has."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from ameles.connectors.own_folder import SinkPlace
from ameles.connectors.sink_notes import SECTOR, Note, Notes
from ameles.core import codec
from ameles.core.exceptions import StoreRefused
from tests.connectors.records import records
from tests.connectors.test_appended_sink import bring, content, sink


def read(folder: Path) -> Note | None:
    with SinkPlace.of("csv:r.csv", "r.csv", folder).entered() as entered:
        return Notes("r.csv.ameles").read(entered)


@pytest.mark.parametrize("place", [0, 1])
def test_a_torn_note_leaves_the_one_before_it(place: int, tmp_path: Path) -> None:
    bring(tmp_path, 1)
    here = sink(tmp_path)
    here.write(records(2, 2 + place), 2 + place)
    if place:
        here.write(records(4, 4), 4)
    beside = tmp_path / "r.csv.ameles"
    notes = beside.read_bytes()
    newest = max((0, 1), key=lambda one: json.loads(notes[one * SECTOR :][:SECTOR])["last"])
    last = here.last()
    for torn in (bytes(SECTOR), notes[newest * SECTOR :][:100].ljust(SECTOR, b"\0")):
        held = bytearray(notes)
        held[newest * SECTOR : (newest + 1) * SECTOR] = torn
        beside.write_bytes(held)
        again = sink(tmp_path)
        assert again.last() == last, "the file itself shows it"
        assert again.first_needed(0) <= last
    before = content(tmp_path)
    bring(tmp_path, last)
    assert content(tmp_path) == before


def test_a_mixed_note_is_none(tmp_path: Path) -> None:
    bring(tmp_path, 3)
    beside = tmp_path / "r.csv.ameles"
    notes = beside.read_text()
    beside.write_text(notes.replace('"last":3', '"last":4').replace('"last":0', '"last":9'))
    with pytest.raises(StoreRefused, match="not a sink that"):
        sink(tmp_path)


def test_a_note_of_the_first_version_is_read_and_rewritten(tmp_path: Path) -> None:
    bring(tmp_path, 2)
    beside = tmp_path / "r.csv.ameles"
    before, note = content(tmp_path), read(tmp_path)
    assert note is not None
    fields = asdict(note)
    del fields["form"]
    beside.write_text(codec.write("sink", 1, fields))  # as it was written then
    assert sink(tmp_path).last() == 2
    bring(tmp_path, 3)
    assert content(tmp_path).startswith(before)
    assert read(tmp_path) != note
    assert len(beside.read_bytes()) == 2 * SECTOR


def test_a_note_that_another_program_wrote_is_seen(tmp_path: Path) -> None:
    """A note is compared as bytes with the last one: any other is read."""
    first = Note(stream="s", identity="i", offset=0, last=0, tail="")
    later, latest = replace(first, last=1), replace(first, last=2)
    with SinkPlace.of("csv:r.csv", "r.csv", tmp_path).entered() as entered:
        here, other = Notes("r.csv.ameles"), Notes("r.csv.ameles")
        here.write(entered, first)
        here.write(entered, later)
        assert here.still(entered, later)
        assert other.read(entered) == later
        other.write(entered, latest)
        assert not here.still(entered, later)
        assert here.read(entered) == latest
        here.write(entered, replace(first, last=3))
        assert here.still(entered, replace(first, last=3))
        assert not other.still(entered, latest)
