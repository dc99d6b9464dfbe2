"""Positions of version 1, as the first program wrote them: their streams go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ameles.core.exceptions import StoreRefused
from tests.connectors.following import HEADER, Following, append, write

FIXTURE = Path(__file__).parent / "fixtures" / "position_1.json"
FILES = {
    "gone.csv/tail": HEADER + b"old,1\n",  # another file had its name, and it was gone
    "half.csv": HEADER + b"x,1\ny,2",  # its last line was taken without a newline
    "log.csv": HEADER + b"".join(b"x,%d\n" % n for n in range(2000)),
    "start.csv": HEADER,
}


@pytest.fixture
def here(tmp_path: Path) -> Following:
    """The folder of a stream that the first program had read, with its position."""
    document = json.loads(FIXTURE.read_text(encoding="utf-8"))
    for mark in document["files"]:
        content = FILES[mark["name"]]
        assert mark["offset"] == len(content)
        if "/" not in mark["name"]:
            file = tmp_path / mark["name"]
            file.write_bytes(content)
            # the numbers of this machine, which the digests do not know
            mark.update(device=file.stat().st_dev, inode=file.stat().st_ino)
    following = Following(tmp_path, "*.csv*")
    following.position = json.dumps(document)
    return following


def marks_by_name(here: Following) -> dict[str, dict[str, Any]]:
    return {mark["name"]: mark for mark in here.marks}


def test_a_first_position_goes_on(here: Following) -> None:
    assert here.read() == []
    assert json.loads(here.position or "")["version"] == 3
    append(here.folder / "log.csv", b"z,1\n")
    append(here.folder / "half.csv", b"7\nz,2\n")
    append(here.folder / "start.csv", b"z,3\n")
    here.restart()
    assert here.read() == [("z", 1), ("z", 2), ("z", 3)]
    assert set(marks_by_name(here)) == set(FILES)
    assert marks_by_name(here)["log.csv"]["born"] is not None


def test_a_file_that_was_rotated_since_is_found_by_its_inode(here: Following) -> None:
    (here.folder / "log.csv").rename(here.folder / "log.csv.1")
    append(here.folder / "log.csv.1", b"z,1\n")
    write(here.folder, "log.csv", b"new,1\n")
    assert here.read() == [("new", 1), ("z", 1)]
    assert here.read() == []


def test_a_file_under_its_name_goes_on_by_its_content_as_it_did(here: Following) -> None:
    # the first program took a copy for the file, and kept the old inode until the file grew
    file = here.folder / "log.csv"
    content = file.read_bytes()
    (here.folder / "fresh").write_bytes(content + b"z,1\n")
    (here.folder / "fresh").rename(file)
    assert here.read() == [("z", 1)]
    (here.folder / "fresh").write_bytes(content + b"z,1\nz,2\n")
    (here.folder / "fresh").rename(file)
    with pytest.raises(StoreRefused, match="--same-file"):  # as files are known from now on
        here.read()


def test_a_file_that_only_its_content_would_tell_is_refused_once(here: Following) -> None:
    back = here.folder / "back.csv"
    back.write_bytes(FILES["gone.csv/tail"] + b"z,1\n")
    before = here.position
    with pytest.raises(StoreRefused, match=r"'back.csv' begins with what was read before"):
        here.read()
    here.restart(same="back.csv")
    assert here.read() == [("z", 1)]
    here.position = before
    here.restart(new="back.csv")
    assert here.read() == [("old", 1), ("z", 1)]


def test_another_file_in_the_place_of_one_is_refused_as_it_was(here: Following) -> None:
    (here.folder / "log.csv").write_bytes(HEADER + b"z,1\n" * 2000)
    with pytest.raises(StoreRefused, match="replaced or cut"):
        here.read()


def test_a_header_alone_is_no_reason_to_refuse_a_new_file(here: Following) -> None:
    (here.folder / "start.csv").unlink()
    write(here.folder, "new.csv", b"z,1\n")
    assert here.read() == [("z", 1)]
