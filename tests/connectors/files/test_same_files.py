"""Files between two readings: every event of a file counts once, whatever happens to the file.

The cases are those of the table in docs/decisions/files.md.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors.files import same_files
from ameles.connectors.files.file_marks import Mark
from ameles.connectors.files.identity import Present
from ameles.core.exceptions import StoreRefused
from tests.connectors.following import HEADER, Following, append, write


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose content was compared."""
    names: list[str] = []
    fits = Mark.fits

    def noted(mark: Mark, handle: int) -> bool:
        names.append(Path(os.readlink(f"/proc/self/fd/{handle}")).name)
        return fits(mark, handle)

    monkeypatch.setattr(Mark, "fits", noted)
    return names


def aged(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if all files had been left alone for long."""
    monkeypatch.setattr(same_files, "ALONE", -(10**12))


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


def test_a_step_looks_once_at_each_file_and_makes_nothing_for_those_that_stayed(
    tmp_path: Path, compared: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    aged(monkeypatch)
    files = [write(tmp_path, f"{n:02}.csv", b"x,%d\n" % n) for n in range(20)]
    files[3].with_name("link.csv").hardlink_to(files[3])
    here = Following(tmp_path, "*.csv")
    for _ in range(3):  # the third time, every file was found unchanged before
        here.read(here.source.ends())
    looked, made, asked = list[str](), list[str](), list[str]()
    stat, begin, unchanged = os.stat, Present.__post_init__, same_files.SameFiles.unchanged

    def counted_stat(path: Any, **options: Any) -> os.stat_result:
        looked.append(Path(path).name)
        return stat(path, **options)

    def counted_present(file: Present) -> None:
        made.append(file.file.name)
        begin(file)

    def counted_question(same: same_files.SameFiles, file: Present, mark: Mark) -> bool:
        asked.append(mark.name)
        return unchanged(same, file, mark)

    compared.clear()
    append(files[7], b"y,7\n")
    before = here.marks
    with monkeypatch.context() as counting:
        counting.setattr(os, "stat", counted_stat)
        counting.setattr(Present, "__post_init__", counted_present)
        counting.setattr(same_files.SameFiles, "unchanged", counted_question)
        rows = here.read(here.source.ends())
    assert rows == [("y", 7)]
    assert sorted(looked) == sorted(["*.csv", "link.csv", *(file.name for file in files)])
    assert made == ["03.csv", "07.csv", "link.csv", "03.csv"]  # two names are put together anew
    assert set(asked) == {"03.csv", "07.csv"}
    assert set(compared) == {"07.csv"}
    assert [mark["name"] for mark in here.marks] == [mark["name"] for mark in before]
    assert [n for n, mark in enumerate(here.marks) if mark not in before] == [7]


def test_what_happened_after_the_ends_were_taken_is_seen_at_the_next_step(tmp_path: Path) -> None:
    """A reading goes by the look that found its ends, unless a file contradicts it."""
    old, quiet = write(tmp_path, "a.csv", b"a,1\n"), write(tmp_path, "b.csv", b"b,2\n")
    here = Following(tmp_path, "*.csv")
    here.read(here.source.ends())
    append(old, b"a,3\n")
    ends = here.source.ends()
    append(old, b"a,4\n")
    old.rename(tmp_path / "z.csv")  # it has to be opened: the folder is looked at again
    quiet.rename(tmp_path / "y.csv")
    write(tmp_path, "new.csv", b"n,5\n")
    assert here.read(ends) == [("a", 3)]
    assert here.read(here.source.ends()) == [("a", 4), ("n", 5)]
    assert sorted(mark["name"] for mark in here.marks) == ["new.csv", "y.csv", "z.csv"]
    ends = here.source.ends()
    append(tmp_path / "y.csv", b"b,6\n")
    (tmp_path / "y.csv").rename(tmp_path / "x.csv")  # nothing of it is due: it may stay unseen
    assert here.read(ends) == []
    assert here.read(ends) == []  # these ends are old, and need a look of their own
    assert here.read(here.source.ends()) == [("b", 6)]


def test_a_reading_without_ends_looks_for_itself(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", b"a,1\n")
    here = Following(tmp_path, "*.csv")
    here.source.ends()
    append(file, b"a,2\n")
    assert here.read() == [("a", 1), ("a", 2)]


def test_what_was_found_unchanged_holds_for_no_earlier_position(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit may fail after files were found unchanged; then they are read again from there."""
    aged(monkeypatch)
    file = write(tmp_path, "a.csv", b"x,1\n")
    here = Following(tmp_path, "a.csv")
    here.read()
    early = here.position
    append(file, b"y,2\n")
    assert [here.read(here.source.ends()) for _ in range(4)] == [[("y", 2)], [], [], []]
    here.position = early
    assert here.read(here.source.ends()) == [("y", 2)]


def test_a_log_that_its_owner_calls_new_counts_again_though_it_was_found_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aged(monkeypatch)
    log = write(tmp_path, "log.csv", b"x,1\n")
    here = Following(tmp_path, "log.csv", rotated=("log.csv.*",))
    here.read()
    here.restart(new="log.csv")
    assert [here.read(here.source.ends()) for _ in range(3)] == [[], [], []]
    (tmp_path / "log.csv.1").write_bytes(log.read_bytes())  # it was cut, and got its line again
    assert here.read(here.source.ends()) == [("x", 1)]
    assert here.read(here.source.ends()) == []


def test_a_copy_under_the_name_of_a_file_that_is_still_there_by_a_link_is_a_new_file(
    tmp_path: Path,
) -> None:
    file = write(tmp_path, "a.csv", b"x,1\n")
    here = Following(tmp_path, "*.csv")
    here.read()
    (tmp_path / "link.csv").hardlink_to(file)
    (tmp_path / "copy").write_bytes(file.read_bytes())
    (tmp_path / "copy").rename(file)
    assert here.read(here.source.ends()) == [("x", 1)]
    append(tmp_path / "link.csv", b"y,2\n")
    assert here.read(here.source.ends()) == [("y", 2)]


def test_a_file_that_stayed_with_something_unread_is_read_when_it_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unfinished last line is not taken while the file is followed, and then it is."""
    aged(monkeypatch)
    write(tmp_path, "a.csv", b"x,1\ny,2")
    here = Following(tmp_path, "*.csv", take_last=True)
    assert here.read(here.source.ends()) == [("x", 1)]
    assert [here.read(here.source.ends()) for _ in range(3)] == [[], [], []]
    assert here.read() == [("y", 2)]


def test_files_that_stayed_keep_their_marks_when_others_come_and_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aged(monkeypatch)
    files = [write(tmp_path, f"{n}.csv", b"x,%d\n" % n) for n in range(4)]
    here = Following(tmp_path, "*.csv")
    for _ in range(3):
        here.read(here.source.ends())
    files[1].rename(tmp_path / "away")
    write(tmp_path, "0a.csv", b"new,7\n")
    assert here.read(here.source.ends()) == [("new", 7)]
    assert [mark["name"] for mark in here.marks] == [
        *("0.csv", "0a.csv", "2.csv", "3.csv"),
        "1.csv",  # gone, and known
    ]
    append(files[2], b"more,8\n")
    (tmp_path / "away").rename(files[1])
    assert here.read(here.source.ends()) == [("more", 8)]
    assert [mark["offset"] for mark in here.marks] == [11, 13, 11, 18, 11]
    files[3].unlink()
    assert here.read(here.source.ends()) == []
    write(tmp_path, "3.csv", b"x,3\n")  # with the content of the one that was removed
    with pytest.raises(StoreRefused):
        here.read(here.source.ends())


def test_a_reading_that_failed_leaves_what_was_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aged(monkeypatch)
    files = [write(tmp_path, f"{n}.csv", b"x,%d\n" % n) for n in range(3)]
    here = Following(tmp_path, "*.csv")
    for _ in range(3):
        here.read(here.source.ends())
    content = files[0].read_bytes()
    files[0].write_bytes(HEADER)  # cut
    append(files[1], b"y,7\n")
    with pytest.raises(StoreRefused):
        here.read(here.source.ends())
    files[0].write_bytes(content)
    assert here.read(here.source.ends()) == [("y", 7)]
    assert here.read(here.source.ends()) == []
