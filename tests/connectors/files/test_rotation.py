"""Rotated files: by number, by date, several times between two readings, at every instant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ameles.core.exceptions import StoreRefused
from tests.connectors.following import HEADER, Following, append, write

DAY = 20  # events


class Log:
    """A program that writes a log and one that rotates it; events are numbered."""

    def __init__(self, folder: Path) -> None:
        self.live = folder / "log.csv"
        self.written = 0
        self.days = 0

    def write(self, events: int) -> None:
        if not self.live.exists():
            self.live.write_bytes(HEADER)
        append(self.live, *(b"x,%d\n" % n for n in range(self.written, self.written + events)))
        self.written += events

    def by_number(self, keep: int = 99) -> Iterator[None]:
        """Stops after each change of the folder."""
        names = [self.live, *(self.live.with_name(f"log.csv.{n}") for n in range(1, keep + 2))]
        there = [name for name in names if name.exists()]
        for old in reversed(there):
            old.rename(names[names.index(old) + 1])
            yield
        names[keep + 1].unlink(missing_ok=True)
        self.live.write_bytes(b"")
        yield
        append(self.live, HEADER)
        yield

    def by_date(self) -> Iterator[None]:
        self.days += 1
        self.live.rename(self.live.with_name(f"log.csv-2026{self.days:04}"))
        yield
        self.live.write_bytes(HEADER)
        yield


KINDS: dict[str, Callable[[Log], Iterator[None]]] = {
    "number": Log.by_number,
    "date": Log.by_date,
    "number, two kept": lambda log: log.by_number(2),
}


@pytest.mark.parametrize("live", [False, True], ids=["run", "follow"])
@pytest.mark.parametrize("rotations", [1, 2, 3])
@pytest.mark.parametrize("kind", ["number", "date"])
def test_every_event_counts_once(kind: str, rotations: int, live: bool, tmp_path: Path) -> None:
    log, events = Log(tmp_path), []
    here = Following(tmp_path, "log.csv*")
    for _ in range(5):
        for _ in range(rotations):
            log.write(DAY)
            for _ in KINDS[kind](log):
                pass
        log.write(DAY // 2)
        here.restart()
        events += here.read(here.source.ends() if live else None)
    assert sorted(events) == [("x", n) for n in range(log.written)]


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_event_counts_once_at_every_instant(
    kind: str, restarted: bool, tmp_path: Path
) -> None:
    log, events = Log(tmp_path), []
    here = Following(tmp_path, "log.csv*")
    for _ in range(4):
        log.write(DAY)
        for _ in KINDS[kind](log):
            if restarted:
                here.restart()
            events += here.read()
            assert here.read() == []
    events += here.read()
    assert sorted(events) == [("x", n) for n in range(log.written)]


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_read_and_not_committed_is_read_again_after_a_rotation(
    kind: str, tmp_path: Path
) -> None:
    log, events = Log(tmp_path), []
    here = Following(tmp_path, "log.csv*")
    for n in range(6):
        log.write(DAY)
        stored = here.position
        new = here.read()
        for place, _ in enumerate(KINDS[kind](log)):
            if place == n % 3:
                here.position = stored  # killed before it committed
                here.restart()
                new = here.read()
        events += new
        events += here.read()
    assert sorted(events) == [("x", n) for n in range(log.written)]


def test_names_go_round_while_all_files_that_were_being_read_are_there(tmp_path: Path) -> None:
    log = Log(tmp_path)
    here = Following(tmp_path, "log.csv*")
    for _ in range(3):
        log.write(DAY)
        here.read()
        for _ in log.by_number(3):
            pass
    events = []
    for _ in range(8):  # two rotations between two readings: new files have old files' names
        for _ in range(2):
            log.write(DAY)
            for _ in log.by_number(3):
                pass
        events += here.read()
    assert len(events) == len(set(events)) == 8 * 2 * DAY


def test_a_log_that_was_rotated_away_is_refused(tmp_path: Path) -> None:
    log = Log(tmp_path)
    here = Following(tmp_path, "log.csv*")
    log.write(DAY)
    here.read()
    for _ in range(4):
        for _ in log.by_number(2):
            pass
        log.write(DAY)
    with pytest.raises(StoreRefused, match=r"'log.csv' was replaced or cut"):
        here.read()
    here.restart(new="log.csv")
    assert len(here.read()) == 3 * DAY, "what was rotated away is lost"


def test_marks_do_not_pile_up_where_inodes_and_names_are_used_again(tmp_path: Path) -> None:
    log = Log(tmp_path)
    here = Following(tmp_path, "log.csv*")
    for _ in range(30):
        log.write(1)
        assert len(here.read()) == 1
        for _ in log.by_number(2):
            pass
    assert len(here.marks) <= 3 + _never_used_again(tmp_path, here)


def _never_used_again(folder: Path, here: Following) -> int:
    """Marks of inodes that the file system has given to no other file of the log."""
    there = {file.stat().st_ino for file in folder.iterdir()}
    return sum(mark["inode"] not in there for mark in here.marks)


def test_a_renamed_file_that_took_the_name_of_a_removed_one_is_itself(tmp_path: Path) -> None:
    old, new = write(tmp_path, "a.csv", b"x,1\n"), write(tmp_path, "b.csv", b"x,2\n")
    here = Following(tmp_path, "*.csv")
    assert len(here.read()) == 2
    old.unlink()
    new.rename(old)
    append(old, b"x,3\n")
    assert here.read() == [("x", 3)]
