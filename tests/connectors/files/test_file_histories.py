"""Whatever happens to files, every event counts once: random histories of a folder, and a model.

The model keeps the multiset of all whole lines that were ever written.  What is read, over all
runs and crashes, must be that multiset: an event that counts twice or nowhere is a difference.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ameles.connectors.files import claims as file_claims
from ameles.connectors.files import matching as file_matching
from ameles.connectors.files import same_files
from ameles.connectors.files.file_marks import Mark
from ameles.connectors.files.identity import Present
from ameles.core.exceptions import StoreRefused
from tests.connectors.following import HEADER, Following, append

HISTORIES = settings(
    max_examples=12,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to shrink takes minutes
)


ALONE = 20 * 10**6  # nanoseconds: more than a tick of the clock of a usual file system


class Folder(RuleBasedStateMachine):
    """A log with its old files; ``log.csv`` is written to."""

    rotated: tuple[str, ...] = ()

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.away = Path(tempfile.mkdtemp())
        self.live = self.folder / "log.csv"
        self.live.write_bytes(HEADER)
        self.here = Following(self.folder, "log.csv*", rotated=self.rotated)
        self.written: Counter[tuple[str, int]] = Counter()
        self.read_rows: Counter[tuple[str, int]] = Counter()
        self.number = 0
        self.half = b""  # the end of a line whose beginning is in the log
        self.run()

    def name(self, kind: str) -> Path:
        """A name that nothing had before."""
        self.number += 1
        return self.folder / f"log.csv{kind}{self.number}"

    def old(self) -> list[Path]:
        """Files that are no longer written to, and are no links."""
        links = {file for file in self.folder.iterdir() if "link" in file.name}
        return sorted(set(self.folder.iterdir()) - links - {self.live})

    def lines(self, count: int) -> list[bytes]:
        first = self.number * 100
        self.number += 1
        self.written.update(("x", n) for n in range(first, first + count))
        return [b"x,%d\n" % n for n in range(first, first + count)]

    @rule(count=st.integers(1, 3))
    def write(self, count: int) -> None:
        append(self.live, self.half, *self.lines(count))
        self.half = b""

    @precondition(lambda self: not self.half)
    @rule(cut=st.integers(1, 4))
    def write_half(self, cut: int) -> None:
        (line,) = self.lines(1)
        append(self.live, line[:cut])
        self.half = line[cut:]

    def finish_line(self) -> None:
        append(self.live, self.half)
        self.half = b""

    @rule()
    def rotate_by_number(self) -> None:
        self.finish_line()
        numbered = sorted(self.folder.glob("log.csv.[0-9]"), reverse=True)
        for file in numbered:
            file.rename(self.folder / f"log.csv.{int(file.name[-1]) + 1}")
        if len(numbered) < 8:
            self.live.rename(self.folder / "log.csv.1")
            self.live.write_bytes(HEADER)
        else:
            for file in sorted(self.folder.glob("log.csv.[0-9]*")):
                file.rename(self.name("-old"))

    @rule()
    def rotate_by_date(self) -> None:
        self.finish_line()
        self.live.rename(self.name("-2026010"))
        self.live.write_bytes(HEADER)

    @rule(data=st.data())
    def link(self, data: Any) -> None:
        file = data.draw(st.sampled_from([self.live, *self.old()]))
        self.name(".link").hardlink_to(file)
        self.name(".link").symlink_to(file.name)

    @rule()
    def unlink(self) -> None:
        for file in self.folder.glob("*link*"):
            file.unlink()

    @rule(data=st.data())
    def take_away(self, data: Any) -> None:
        """After a run: a log that goes away before its end was read is refused."""
        self.run()
        if self.old():
            file = data.draw(st.sampled_from(self.old()))
            file.rename(self.away / file.name)

    @rule()
    def put_back(self) -> None:
        for file in self.away.iterdir():
            file.rename(self.name("-back"))

    @rule()
    def run(self) -> None:
        self.read_rows.update(self.here.read())

    @rule(data=st.data())
    def run_late(self, data: Any) -> None:
        """Something happens between the end of a step and its reading."""
        ends = self.here.source.ends()
        meanwhile = [self.rotate_by_number, self.rotate_by_date, self.unlink, self.put_back]
        data.draw(st.sampled_from([lambda: self.write(1), *meanwhile]))()
        self.read_rows.update(self.here.read(ends))

    @rule()
    def rest(self) -> None:
        """Files that nobody has written to for a while are found unchanged, and then remembered."""
        time.sleep(2 * ALONE / 1e9)
        for _ in range(3):
            self.read_rows.update(self.here.read(self.here.source.ends()))

    @rule()
    def restart(self) -> None:
        self.here.restart()

    @rule()
    def crash(self) -> None:
        """What was read and not committed is read again."""
        position = self.here.position
        self.here.read()
        self.here.position = position
        self.here.restart()

    def teardown(self) -> None:
        try:
            self.put_back()
            self.finish_line()
            self.run()
            assert self.read_rows == self.written
        finally:
            shutil.rmtree(self.folder)
            shutil.rmtree(self.away)


class Renamed(Folder):
    """Files that are renamed, linked, removed and equal."""

    @rule(data=st.data())
    def write_equal(self, data: Any) -> None:
        """Another file with the content of one, whose events count too."""
        if self.old():
            content = data.draw(st.sampled_from(self.old())).read_bytes()
            self.name("-equal").write_bytes(content)
            self.count(content)

    def count(self, content: bytes) -> None:
        rows = (line.split(b",") for line in content.splitlines()[1:])
        self.written.update((name.decode(), int(n)) for name, n in rows)

    @rule(data=st.data())
    def remove(self, data: Any) -> None:
        """An old file that was read; its inode may be the next file's."""
        self.run()
        if self.old():
            data.draw(st.sampled_from(self.old())).unlink()

    @rule(data=st.data())
    def replace(self, data: Any) -> None:
        """An old file that was read is removed, and a new one like it gets its inode.

        File systems do that when they like, and here it is certain: the mark is given the inode.
        """
        self.run()
        if self.old():
            self.again(data.draw(st.sampled_from(self.old())))

    def again(self, file: Path) -> None:
        gone, content = file.stat().st_ino, file.read_bytes()
        self.unlink()  # with a link, it would still be there
        file.unlink()
        new = self.name("-again")
        new.write_bytes(content)
        self.here.rename_inode(gone, new.stat().st_ino)
        self.count(content)


class Copied(Folder):
    """Logs that are copied and cut, and old files that are compressed, each seen before."""

    rotated = ("log.csv-copy*", "log.csv*.gz")

    def begin(self, count: int) -> None:
        """Something or nothing of the log is read before it is rotated, in whole lines."""
        self.finish_line()
        if count:
            self.write(count)
        self.run()

    @rule(begun=st.integers(0, 1), count=st.integers(0, 3))
    def copy_and_cut(self, begun: int, count: int) -> None:
        self.begin(begun)
        if count:
            self.write(count)
        shutil.copy(self.live, self.name("-copy"))
        self.live.write_bytes(HEADER)
        self.run()

    @rule(begun=st.integers(0, 1), count=st.integers(0, 3))
    def compress(self, begun: int, count: int) -> None:
        self.unlink()  # with a link, the log would be there beside its copy
        self.begin(begun)
        if count:
            self.write(count)
        old = self.name(".")
        self.live.rename(old)
        self.live.write_bytes(HEADER)
        old.with_name(old.name + ".gz").write_bytes(gzip.compress(old.read_bytes()))
        old.unlink()
        self.run()


@pytest.mark.parametrize("kind", [Renamed, Copied])
def test_every_event_counts_once_whatever_happens_to_its_file(
    kind: type[Folder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(same_files, "ALONE", ALONE)
    run_state_machine_as_test(kind, settings=HISTORIES)


def by_name(file: Present, birth: int | None, mark: Mark) -> int | None:
    """A broken rank: a file is its name."""
    return 0 if mark.name in file.names else None


def by_inode(file: Present, birth: int | None, mark: Mark) -> int | None:
    """A broken rank: births are not looked at, so a reused inode is the old file."""
    return 0 if mark.inode == file.status.st_ino else None


def rotated(folder: Renamed) -> None:
    """A file with the name of the one that was read, and with its lines, which count too."""
    folder.write(2)
    folder.run()
    folder.rotate_by_date()
    (old,) = folder.old()
    folder.live.write_bytes(old.read_bytes())
    folder.count(old.read_bytes())


def replaced(folder: Renamed) -> None:
    """A file with the inode of the one that was read, and with its lines, which count too."""
    folder.write(2)
    folder.rotate_by_date()
    folder.run()
    folder.again(*folder.old())


@pytest.mark.parametrize(("broken", "history"), [(by_name, rotated), (by_inode, replaced)])
def test_a_planted_mistake_is_caught(
    broken: Any, history: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rank in (file_claims.rank, broken):
        monkeypatch.setattr(file_matching, "rank", rank)
        folder = Renamed()
        history(folder)
        caught = pytest.raises((AssertionError, StoreRefused)) if rank is broken else nullcontext()
        with caught:
            folder.teardown()
