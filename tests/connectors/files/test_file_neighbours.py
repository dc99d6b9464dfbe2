"""One event more in one file counts for one, whatever the other files are: all small worlds.

A world is a file that was read, what happened to it, and a file that came.  Its neighbour has one
event more in one of the two.  Files with equal content, and inodes that were used before, are
among them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from ameles.core.exceptions import StoreRefused
from tests.connectors.following import COLUMNS, HEADER
from tests.connectors.opening import open_files

ROW = {1: b"x,1\n", 2: b"x,2\n"}
CONTENTS = [rows for size in range(3) for rows in itertools.product(ROW, repeat=size)]


def content(rows: tuple[int, ...]) -> bytes:
    return HEADER + b"".join(ROW[row] for row in rows)


def removed(first: Path, new: bytes) -> None:
    first.unlink()
    first.with_name("b.csv").write_bytes(new)


def removed_and_named_alike(first: Path, new: bytes) -> None:
    first.unlink()
    first.write_bytes(new)


def beside(first: Path, new: bytes) -> None:
    first.with_name("b.csv").write_bytes(new)


def renamed(first: Path, new: bytes) -> None:
    first.rename(first.with_name("a.csv.1"))
    first.write_bytes(new)


def linked(first: Path, new: bytes) -> None:
    first.with_name("hard.csv").hardlink_to(first)
    first.with_name("soft.csv").symlink_to(first)
    beside(first, new)


def replaced(first: Path, new: bytes) -> None:
    beside(first, new)
    first.with_name("b.csv").rename(first)


def grown(first: Path, new: bytes) -> None:
    with first.open("ab") as more:
        more.write(new.removeprefix(HEADER))


HISTORIES = [removed, removed_and_named_alike, beside, renamed, linked, replaced, grown]
REFUSED = {removed_and_named_alike, replaced}  # whatever the files hold; of the others nothing is


def counted(folder: Path, happens: Callable[[Path, bytes], None], *rows: tuple[int, ...]) -> int:
    """How many events count in all; -1 if it was refused."""
    folder.mkdir()
    first = folder / "a.csv"
    first.write_bytes(content(rows[0]))
    reading = open_files("*.csv*", COLUMNS, folder).reading(None)
    total = reading.size
    happens(first, content(rows[1]))
    try:
        total += open_files("*.csv*", COLUMNS, folder).reading(reading.position).size
    except StoreRefused:
        return -1
    return total // len(ROW[1])


@pytest.mark.parametrize("happens", HISTORIES)
def test_one_event_moves_itself_alone(
    happens: Callable[[Path, bytes], None], tmp_path: Path
) -> None:
    names = (tmp_path / str(n) for n in itertools.count())
    for one, two in itertools.product(CONTENTS, repeat=2):
        here = counted(next(names), happens, one, two)
        if happens in REFUSED:
            assert here == -1, "a refusal hangs on no event"
            continue
        assert here == len(one) + len(two), "every event counts once"
        for more in ROW:
            for neighbour in ((*one, more), two), (one, (*two, more)):
                assert counted(next(names), happens, *neighbour) == here + 1
