"""Positions of version 2, which had only files that were read: their streams go on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ameles.core.exceptions import StoreRefused
from tests.connectors.following import HEADER, Following, append, write

FIXTURE = Path(__file__).parent / "fixtures" / "position_2.json"
CONTENT = b"x,1\nx,2\n"


@pytest.fixture
def here(tmp_path: Path) -> Following:
    """The folder of a stream that was read then, with its position."""
    file = write(tmp_path, "log.csv", CONTENT)
    document = json.loads(FIXTURE.read_text(encoding="utf-8"))
    (mark,) = document["files"]
    # the numbers of this machine, which the digests do not know
    mark.update(device=file.stat().st_dev, inode=file.stat().st_ino, born=None)
    following = Following(tmp_path, "log.csv", rotated=["log.csv.*"])
    following.position = json.dumps(document)
    return following


def test_a_second_position_goes_on(here: Following) -> None:
    assert here.read() == []
    assert [mark["unread"] for mark in here.marks] == [False]
    append(here.folder / "log.csv", b"y,3\n")
    assert here.read() == [("y", 3)]


def test_a_copy_supplies_what_was_not_read_then(here: Following) -> None:
    (here.folder / "log.csv.1").write_bytes(HEADER + CONTENT + b"y,3\n")
    (here.folder / "log.csv").write_bytes(HEADER + b"z,4\n")
    assert here.read() == [("y", 3), ("z", 4)]


def test_a_copy_that_nothing_was_read_of_is_not_the_past(here: Following) -> None:
    (here.folder / "log.csv.1").write_bytes(HEADER + b"y,3\n")
    with pytest.raises(StoreRefused, match="is not the rest of one file"):
        here.read()
