"""Files that are renamed, rotated or removed while they are listed and read."""

from __future__ import annotations

from pathlib import Path

import pytest

from ameles.connectors.files.named_files import NamedFile, NameLists
from ameles.core.exceptions import AmelesError
from tests.connectors.following import COLUMNS, Following, append, write
from tests.connectors.reading import rows_of
from tests.connectors.same_rows import NUMBERS, ROWS, moved


def test_a_file_that_is_rotated_between_its_listing_and_its_reading_is_read(
    tmp_path: Path,
) -> None:
    live = write(tmp_path, "log.csv", *ROWS)
    here = Following(tmp_path, "log.csv*")
    reading = here.source.reading(None)
    moved(live, "log.csv.1")
    write(tmp_path, "log.csv", b"new,1\n")
    assert rows_of(reading, COLUMNS) == sorted(NUMBERS, key=repr)
    here.position = reading.position
    assert here.read() == [("new", 1)]


def test_a_file_that_is_removed_before_it_is_read_ends_the_reading(tmp_path: Path) -> None:
    live = write(tmp_path, "log.csv", *ROWS)
    here = Following(tmp_path, "log.csv*")
    reading = here.source.reading(None)
    live.unlink()
    write(tmp_path, "log.csv", b"new,1\n")
    with pytest.raises(AmelesError, match="removed or renamed while") as caught:
        rows_of(reading, COLUMNS)
    assert caught.value.exit_code == 1


def test_files_that_are_renamed_while_they_are_listed_are_listed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = write(tmp_path, "log.csv", *ROWS)
    here = Following(tmp_path, "log.csv*")
    here.read()
    append(live, b"y,1\n")
    find, times = NameLists.names, []

    def amid(lists: NameLists, text: str) -> list[NamedFile]:
        files = find(lists, text)
        times.append(len(files))
        if len(times) == 1:
            moved(live, "log.csv.1")
            write(tmp_path, "log.csv", b"new,1\n")
        return files

    monkeypatch.setattr(NameLists, "names", amid)
    assert here.read() == [("new", 1), ("y", 1)]
    assert len(times) > 1
