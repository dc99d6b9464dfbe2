"""Copies of files that were cut or compressed supply the ends of those files, and nothing else."""

from __future__ import annotations

import bz2
import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ameles.connectors.files import matching as file_matching
from ameles.connectors.format import Format
from ameles.core.exceptions import StoreRefused
from tests.connectors.following import HEADER, Following, append

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda content: content,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
}


class Log:
    """A log that is rotated by copying or by compression; events are numbered."""

    def __init__(self, folder: Path, header: bytes = HEADER) -> None:
        self.folder = folder
        self.live = folder / "log.csv"
        self.header = header
        self.live.write_bytes(header)
        self.written = 0

    def write(self, events: int = 10) -> None:
        append(self.live, *(b"x,%d\n" % n for n in range(self.written, self.written + events)))
        self.written += events

    def shift(self) -> None:
        for n in range(9, 0, -1):
            for ending in PACKERS:
                old = self.folder / f"log.csv.{n}{ending}"
                if old.exists():
                    old.rename(self.folder / f"log.csv.{n + 1}{ending}")

    def copy(self) -> None:
        self.shift()
        shutil.copy(self.live, self.folder / "log.csv.1")

    def cut(self) -> None:
        self.live.write_bytes(self.header)

    def rename(self) -> None:
        self.shift()
        self.live.rename(self.folder / "log.csv.1")
        self.live.write_bytes(self.header)

    def compress(self, n: int, ending: str) -> None:
        plain = self.folder / f"log.csv.{n}"
        (self.folder / f"log.csv.{n}{ending}").write_bytes(PACKERS[ending](plain.read_bytes()))
        plain.unlink()


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


@pytest.fixture
def here(log: Log) -> Following:
    return Following(log.folder, "log.csv", rotated=("log.csv.*",))


def numbers(first: int, last: int) -> list[tuple[str, int]]:
    return [("x", n) for n in range(first, last)]


def test_copytruncate_counts_every_event_once(log: Log, here: Following) -> None:
    events = []
    for _ in range(5):
        log.write()
        events += here.read()
        log.write()  # not read before it is rotated
        log.copy()
        log.cut()
        log.write()
        events += here.read()
        assert here.read() == []
    assert events == numbers(0, log.written)


def test_a_log_that_grew_beyond_what_was_taken_of_it_is_seen_to_be_cut(
    log: Log, here: Following
) -> None:
    log.write(3)
    here.read()
    log.write(2)
    log.copy()
    log.cut()
    log.write(50)
    assert here.read() == numbers(3, 55)


@pytest.mark.parametrize("ending", [".gz", ".bz2"])
def test_compression_counts_every_event_once(ending: str, log: Log, here: Following) -> None:
    log.write(1)
    events = here.read()
    for n in range(5):
        log.write()
        if n % 2:
            events += here.read()
        log.write()
        log.rename()
        if n % 3 == 1:
            events += here.read()
        log.compress(1, ending)
        log.write()
        events += here.read()
        assert here.read() == []
    assert events == numbers(0, log.written)


@pytest.mark.parametrize("ending", [".gz", ".bz2"])
def test_copies_may_be_compressed_at_any_time(ending: str, log: Log, here: Following) -> None:
    log.write()
    assert here.read() == numbers(0, 10)
    log.write()
    log.copy()
    log.cut()
    log.compress(1, ending)  # before it was read
    assert here.read() == numbers(10, 20)
    log.write()
    assert here.read() == numbers(20, 30)
    log.copy()
    log.cut()
    assert here.read() == []
    log.compress(1, ending)  # after
    here.restart()
    assert here.read() == []


def test_a_copy_that_is_larger_when_it_is_compressed_counts_once(tmp_path: Path) -> None:
    log = Log(tmp_path, b"")
    form = Format(header=("name", "n"))
    here = Following(tmp_path, "log.csv", rotated=("log.csv.*",), form=form)
    log.write()
    assert here.read() == numbers(0, 10)
    log.rename()
    plain = tmp_path / "log.csv.1"
    # stored as it is: lines stand after the place where the plain content ended
    (tmp_path / "log.csv.1.gz").write_bytes(gzip.compress(plain.read_bytes(), compresslevel=0))
    plain.unlink()
    assert [here.read(), here.read()] == [[], []]


def test_at_every_instant(log: Log, here: Following) -> None:
    events = []
    for _ in range(3):
        for change in (log.write, log.copy, log.cut, log.write):
            change()
            here.restart()
            events += here.read()
        (log.folder / "log.csv.1.gz").write_bytes(b"\x1f\x8b\x08")
        assert here.read() == [], "it is still being written"
        (log.folder / "log.csv.1.gz").write_bytes(
            gzip.compress((log.folder / "log.csv.1").read_bytes())
        )
        events += here.read()
        (log.folder / "log.csv.1").unlink()
        events += here.read()
    assert events == numbers(0, log.written)


def test_without_the_word_in_the_plan_a_log_that_was_cut_is_refused(log: Log) -> None:
    here = Following(log.folder, "log.csv")
    log.write()
    here.read()
    log.copy()
    log.cut()
    with pytest.raises(StoreRefused, match="replaced or cut") as caught:
        here.read()
    assert 'rotated = "events.csv.*"' in str(caught.value)


def test_a_log_that_was_cut_without_a_copy_is_refused(log: Log, here: Following) -> None:
    log.write()
    here.read()
    log.cut()
    with pytest.raises(StoreRefused, match=r"'log.csv' was replaced or cut"):
        here.read()


def test_a_log_that_was_cut_twice_between_two_readings_is_refused(
    log: Log, here: Following
) -> None:
    log.write()
    here.read()
    for _ in range(2):
        log.write()
        log.copy()
        log.cut()
    with pytest.raises(StoreRefused, match=r"rotated file 'log.csv.1' is not the rest"):
        here.read()
    before = here.position
    here.restart(new="log.csv.1")
    assert here.read() == numbers(10, 30)
    assert here.read() == []
    here.position = before
    here.restart(same="log.csv.1")
    assert here.read() == numbers(10, 20)


def test_old_copies_at_a_launch_are_the_past(log: Log, here: Following) -> None:
    log.write()
    log.copy()
    log.cut()
    log.write()
    assert here.read() == numbers(10, 20)
    log.copy()
    log.cut()
    assert here.read() == []


def test_copies_that_begin_alike_are_refused(log: Log, here: Following) -> None:
    append(log.live, b"same,1\n")
    here.read()
    append(log.live, b"x,1\n")
    log.copy()
    (log.folder / "log.csv.2").write_bytes(HEADER + b"same,1\nother,1\n")
    log.cut()
    with pytest.raises(StoreRefused, match="is not the rest of one file"):
        here.read()


def test_equal_logs_day_after_day_are_told_apart(log: Log, here: Following) -> None:
    for _ in range(4):
        log.written = 0
        log.write()
        assert here.read() == numbers(0, 10)
        log.copy()
        log.cut()
        assert here.read() == []


def test_a_copy_beside_its_source_is_no_event_twice(log: Log) -> None:
    here = Following(log.folder, "log.csv*", rotated=("log.csv.*",))
    log.write()
    assert here.read() == numbers(0, 10)
    log.copy()
    assert here.read() == []
    log.cut()
    log.write()
    assert here.read() == numbers(10, 20)


def test_a_damaged_copy_stops_nothing_else(log: Log, here: Following) -> None:
    log.write()
    here.read()
    (log.folder / "log.csv.1.gz").write_bytes(b"no gzip at all")
    log.write()
    (problem,) = here.source.reading(here.position).problems
    assert "'log.csv.1.gz' cannot be unpacked" in str(problem)
    assert here.read() == numbers(10, 20)


def test_of_equal_logs_none_is_skipped(log: Log, here: Following) -> None:
    for _ in range(2):  # a copy that was taken, and one that nobody had begun to read
        log.written = 0
        log.write()
        if not here.position:
            here.read()
        log.copy()
        log.cut()
    with pytest.raises(StoreRefused, match="is not the rest of one file"):
        here.read()


def equal(log: Log, here: Following, *, again: int) -> None:
    """A log of equal lines that was read, grew, was copied, cut, and has the same lines again."""
    append(log.live, *[b"x,1\n"] * 5)
    assert len(here.read()) == 5
    append(log.live, *[b"x,1\n"] * 2)
    log.copy()
    log.cut()
    append(log.live, *[b"x,1\n"] * again)


@pytest.mark.parametrize("again", [7, 9])
def test_a_log_with_the_lines_of_its_copy_again_is_left_alone_and_then_refused(
    log: Log, here: Following, monkeypatch: pytest.MonkeyPatch, again: int
) -> None:
    equal(log, here, again=again)
    assert here.read() == [], "it may be about to be cut"
    monkeypatch.setattr(file_matching, "UNCUT", 0)
    with pytest.raises(StoreRefused, match=r"'log.csv' was not cut since"):
        here.read()
    before = here.position
    here.restart(new="log.csv")
    assert len(here.read()) == 2 + again
    assert here.read() == []
    here.position = before
    here.restart(same="log.csv.1")
    assert len(here.read()) == again - 5
    here.restart()
    assert here.read() == []
    append(log.live, b"y,1\n")
    assert here.read() == [("y", 1)]


def test_a_log_that_is_left_alone_is_cut_and_counts_once(log: Log, here: Following) -> None:
    equal(log, here, again=7)
    assert here.read() == []
    log.cut()
    assert len(here.read()) == 2


def test_a_log_seen_first_with_its_copy_is_left_alone(
    log: Log, here: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert here.read() == []
    equal_lines = [b"x,1\n"] * 4
    append(log.live, *equal_lines)
    log.copy()
    assert here.read() == []
    monkeypatch.setattr(file_matching, "UNCUT", 0)
    with pytest.raises(StoreRefused, match="was not cut since"):
        here.read()


def test_copies_without_events_or_with_less_than_was_taken_hold_nothing_up(
    log: Log, here: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_matching, "UNCUT", 0)
    log.write(5)
    here.read()
    (log.folder / "log.csv.1").write_bytes(HEADER)
    (log.folder / "log.csv.2").write_bytes(log.live.read_bytes()[:-4])
    log.write(5)
    assert here.read() == numbers(5, 10)


def test_a_copy_without_events_does_not_hold_up_a_log_that_had_none(
    log: Log, here: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_matching, "UNCUT", 0)
    assert here.read() == []
    log.copy()
    log.write(5)
    assert here.read() == numbers(0, 5)


def test_a_log_that_is_kept_beside_its_compressed_copy_is_left_alone_and_then_refused(
    log: Log, here: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by ``gzip -k``: it looks like a log that was cut and got its lines again."""
    log.write(3)
    here.read()
    log.write(2)
    (log.folder / "log.csv.1.gz").write_bytes(gzip.compress(log.live.read_bytes()))
    assert here.read() == []
    monkeypatch.setattr(file_matching, "UNCUT", 0)
    with pytest.raises(StoreRefused, match="was not cut since"):
        here.read()
    here.restart(same="log.csv.1.gz")
    assert here.read() == numbers(3, 5)
