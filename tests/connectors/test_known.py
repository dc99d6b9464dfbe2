"""Files between two readings: not opened without need, and never counted twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ameles.connectors import known
from ameles.connectors.marks import Mark
from ameles.connectors.source import Source, open_source
from ameles.core.exceptions import StoreRefused
from tests.connectors.reading import rows_of

COLUMNS = {"name": "text", "n": "integer"}
HEADER = b"name,n\n"


class Following:
    """A source, and its position as the store would have it."""

    def __init__(self, folder: Path, pattern: str) -> None:
        self.source: Source = open_source(pattern, COLUMNS, folder, waiting=True)
        self.position: str | None = None

    def read(self, ends: dict[str, int] | None = None) -> list[tuple[object, ...]]:
        """What is new, once."""
        reading = self.source.reading(self.position, ends)
        self.position = reading.position
        return sorted(rows_of(self.source, reading, COLUMNS))


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose content was compared."""
    names: list[str] = []
    fits = Mark.fits

    def noted(mark: Mark, path: Path) -> bool:
        names.append(path.name)
        return fits(mark, path)

    monkeypatch.setattr(Mark, "fits", noted)
    return names


def write(folder: Path, name: str, *lines: bytes) -> Path:
    file = folder / name
    file.write_bytes(HEADER + b"".join(lines))
    return file


def aged(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if all files had been left alone for long."""
    monkeypatch.setattr(known, "ALONE", -(10**12))


def test_a_file_that_was_left_alone_is_not_opened_again(
    tmp_path: Path, compared: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    aged(monkeypatch)
    for n in range(3):
        write(tmp_path, f"{n}.csv", b"x,%d\n" % n)
    here = Following(tmp_path, "*.csv")
    assert len(here.read()) == 3
    assert here.read() == []  # compared for the first time
    compared.clear()
    with (tmp_path / "1.csv").open("ab") as more:
        more.write(b"y,7\n")
    assert here.read() == [("y", 7)]
    assert set(compared) == {"1.csv"}


def test_a_file_that_was_just_written_is_compared_each_time(
    tmp_path: Path, compared: list[str]
) -> None:
    write(tmp_path, "a.csv", b"x,1\n")
    here = Following(tmp_path, "*.csv")
    here.read()
    for _ in range(3):
        compared.clear()
        assert here.read() == []
        assert compared == ["a.csv"]


def test_a_change_that_hides_its_time_and_size_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aged(monkeypatch)
    file = write(tmp_path, "a.csv", b"x,1\n")
    here = Following(tmp_path, "a.csv")
    here.read()
    here.read()
    before = file.stat()
    with file.open("r+b") as same:
        same.seek(len(HEADER))
        same.write(b"x,2\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    while file.stat().st_ctime_ns == before.st_ctime_ns:  # a tick of the clock
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    with pytest.raises(StoreRefused, match="replaced or cut"):
        here.read()


def test_a_position_of_another_run_is_read_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aged(monkeypatch)
    file = write(tmp_path, "a.csv", b"x,1\n")
    here = Following(tmp_path, "a.csv")
    here.read()
    early = here.position
    with file.open("ab") as more:
        more.write(b"y,2\n")
    assert here.read() == [("y", 2)]
    here.position = early  # what was read was not committed
    assert here.read() == [("y", 2)]


def test_a_file_that_comes_back_is_not_counted_again(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", b"x,1\n")
    here = Following(tmp_path, "*.csv")
    assert here.read() == [("x", 1)]
    kept = file.read_bytes()
    file.unlink()
    for n in range(3):
        write(tmp_path, f"later{n}.csv", b"y,%d\n" % n)
        assert here.read() == [("y", n)]
    (tmp_path / "restored.csv").write_bytes(kept + b"z,9\n")
    assert here.read() == [("z", 9)]


def test_a_file_whose_name_another_has_now_is_not_counted_again_either(tmp_path: Path) -> None:
    write(tmp_path, "log.csv", b"x,1\n")
    here = Following(tmp_path, "log.csv*")
    assert here.read() == [("x", 1)]
    oldest = (tmp_path / "log.csv").read_bytes()
    for n in (2, 3, 4):  # log.csv.1 is written over: its file is gone
        (tmp_path / "log.csv").replace(tmp_path / "log.csv.1")
        write(tmp_path, "log.csv", b"x,%d\n" % n)
        assert here.read() == [("x", n)]
    (tmp_path / "log.csv.7").write_bytes(oldest)
    assert here.read() == []
    assert here.read() == []


def test_a_file_that_is_rotated_after_its_step_ended_is_read_up_to_there(tmp_path: Path) -> None:
    write(tmp_path, "log.csv", b"x,1\n")
    here = Following(tmp_path, "log.csv*")
    here.read(here.source.ends())
    with (tmp_path / "log.csv").open("ab") as more:
        more.write(b"in,2\n")
        more.flush()
        ends = here.source.ends()  # now the step ends
        more.write(b"after,3\n")
    (tmp_path / "log.csv").rename(tmp_path / "log.csv.1")
    write(tmp_path, "log.csv", b"new,4\n")
    assert here.read(ends) == [("in", 2)]
    assert here.read(here.source.ends()) == [("after", 3), ("new", 4)]


def test_a_new_file_is_compared_with_all_that_are_gone(tmp_path: Path, compared: list[str]) -> None:
    for n in range(20):
        write(tmp_path, f"{n}.csv", b"%d,%d\n" % (n, n))
    here = Following(tmp_path, "*.csv")
    assert len(here.read()) == 20
    for n in range(20):
        (tmp_path / f"{n}.csv").unlink()
    compared.clear()
    write(tmp_path, "new.csv", b"7,8\n")
    assert here.read() == [("7", 8)]
    assert compared == ["new.csv"], "after it was read; by their first bytes the others differ"
