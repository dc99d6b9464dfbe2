"""Which copy is that of which log: by all that was taken of it, and refused where it matters."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors.files.file_marks import Mark
from ameles.core.exceptions import StoreRefused
from tests.connectors.following import HEADER, Following, append, write

ROW = b"same,1\n"


@pytest.fixture
def here(tmp_path: Path) -> Following:
    (tmp_path / "old").mkdir()
    return Following(tmp_path, "*.csv", rotated=("old/*",))


def rotate(here: Following, name: str, to: str) -> None:
    """By copying and cutting."""
    shutil.copy(here.folder / name, here.folder / "old" / to)
    (here.folder / name).write_bytes(HEADER)


def without_digests(here: Following) -> None:
    """A position as it was written before everything that was taken was digested."""
    document = json.loads(here.position or "")
    for mark in document["files"]:
        mark.pop("digest", None)
    here.position = json.dumps(document)
    here.restart()


def logs_that_differ_in_one_line(here: Following) -> None:
    """One was read up to its first event, the other up to its 1500th of 2000."""
    first = write(here.folder, "a.csv", ROW)
    second = write(here.folder, "b.csv", ROW * 800, b"seven,1\n", ROW * 699)
    assert len(here.read()) == 1501
    append(first, ROW * 799, b"eight,1\n", ROW * 1199)
    append(second, ROW * 500)


@pytest.mark.parametrize("names", ["xy", "yx"])
def test_a_copy_supplies_the_log_all_of_whose_taken_bytes_it_has(
    here: Following, names: str
) -> None:
    logs_that_differ_in_one_line(here)
    rotate(here, "a.csv", names[0])
    rotate(here, "b.csv", names[1])
    rows = here.read()
    assert len(rows) == 1999 + 500
    assert ("eight", 1) in rows
    assert ("seven", 1) not in rows


def test_without_digests_what_only_the_middle_would_tell_is_refused(here: Following) -> None:
    logs_that_differ_in_one_line(here)
    rotate(here, "a.csv", "y")
    rotate(here, "b.csv", "x")
    without_digests(here)
    with pytest.raises(StoreRefused, match="is not the rest of one file"):
        here.read()


def test_without_digests_one_copy_of_one_log_is_told_by_its_edges(here: Following) -> None:
    log = write(here.folder, "a.csv", ROW * 2000)
    here.read()
    append(log, b"x,1\n")
    without_digests(here)
    rotate(here, "a.csv", "a")
    assert here.read() == [("x", 1)]


def test_a_file_that_is_there_gets_its_digest_though_nothing_is_new(here: Following) -> None:
    write(here.folder, "a.csv", ROW)
    here.read()
    before = here.marks
    without_digests(here)
    assert here.read() == []
    assert here.marks == before
    assert len(before[0]["digest"]) == 128


def test_a_file_without_news_is_not_digested_again(
    here: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(here.folder, "a.csv", ROW)
    here.read()
    before = here.position
    monkeypatch.delattr(Mark, "digested")
    assert here.read() == []
    assert here.position == before


def test_digests_go_with_the_word_in_the_plan(here: Following) -> None:
    write(here.folder, "a.csv", ROW)
    write(here.folder, "b.csv")
    here.read()
    here.options["rotated"] = ()
    here.restart()
    here.read()
    assert all("digest" not in mark for mark in here.marks)


def test_a_copy_that_differs_in_the_middle_is_refused(here: Following) -> None:
    write(here.folder, "a.csv", ROW * 2000)
    here.read()
    rotate(here, "a.csv", "a")
    copy = here.folder / "old" / "a"
    copy.write_bytes(HEADER + ROW * 1000 + b"oops,1\n" + ROW * 999)
    with pytest.raises(StoreRefused, match="is not the rest of one file"):
        here.read()


@pytest.mark.parametrize("taken", [(1, 1), (1, 3), (3, 1)])
def test_of_logs_that_begin_alike_each_event_counts_once(
    here: Following, taken: tuple[int, int]
) -> None:
    for name, rows in zip("ab", taken, strict=True):
        write(here.folder, f"{name}.csv", ROW * rows)
    here.read()
    for name, rows in zip("ab", taken, strict=True):
        append(here.folder / f"{name}.csv", ROW * (3 - rows), b"%s,1\n" % name.encode())
        rotate(here, f"{name}.csv", name)
    assert here.read() == [("a", 1), ("b", 1)] + [("same", 1)] * (6 - sum(taken))
    assert here.read() == []


def test_one_copy_of_two_logs_that_begin_alike_and_are_gone_is_refused(here: Following) -> None:
    for name, rows in ("a", 1), ("b", 3):
        write(here.folder, f"{name}.csv", ROW * rows)
    here.read()
    for name in "ab":
        (here.folder / f"{name}.csv").unlink()
    copy = here.folder / "old" / "x"
    copy.write_bytes(HEADER + ROW * 5)
    with pytest.raises(StoreRefused, match="is not the rest of one file"):
        here.read()
    here.restart(same="old/x")
    assert here.read() == []


@pytest.mark.parametrize("cut", [0, 1])
def test_of_logs_that_are_gone_and_alike_any_may_have_had_the_copy(
    here: Following, cut: int
) -> None:
    for name in "ab":
        write(here.folder, f"{name}.csv", ROW)
    write(here.folder, "c.csv", ROW * 2)
    here.read()
    for name in "ab":
        (here.folder / f"{name}.csv").unlink()
    if cut:
        append(here.folder / "c.csv", b"c,1\n")
        rotate(here, "c.csv", "c")
    (here.folder / "old" / "x").write_bytes(HEADER + ROW + b"x,1\n")
    assert here.read() == [("c", 1)] * cut + [("x", 1)]
    assert here.read() == []


def test_a_copy_that_is_being_compressed_when_it_is_first_seen_is_one(here: Following) -> None:
    log = write(here.folder, "a.csv", ROW)
    here.read()
    append(log, b"x,1\n")
    rotate(here, "a.csv", "1")
    content = (here.folder / "old" / "1").read_bytes()
    (here.folder / "old" / "1.gz").write_bytes(gzip.compress(content))
    assert here.read() == [("x", 1)]
    (here.folder / "old" / "1").unlink()
    assert here.read() == []


def test_a_log_that_was_cut_comes_before_one_that_is_gone(here: Following) -> None:
    for name, rows in ("a", 1), ("b", 3):
        write(here.folder, f"{name}.csv", ROW * rows)
    here.read()
    (here.folder / "a.csv").unlink()
    append(here.folder / "b.csv", b"x,1\n")
    rotate(here, "b.csv", "b")
    assert here.read() == [("x", 1)]


def test_two_copies_that_fit_one_log_and_differ_are_refused(here: Following) -> None:
    log = write(here.folder, "a.csv", ROW)
    here.read()
    append(log, b"x,1\n")
    rotate(here, "a.csv", "1")
    (here.folder / "old" / "2").write_bytes(HEADER + ROW + b"y,1\n")
    # whatever begins with one of them is there: neither is refused as a copy of nothing
    write(here.folder, "c.csv", ROW, b"x,1\n")
    write(here.folder, "d.csv", ROW, b"y,1\n")
    with pytest.raises(StoreRefused, match="is not the rest of one file"):
        here.read()
    here.restart(same="old/2")
    assert here.read() == [("same", 1)] * 2 + [("x", 1)] * 2 + [("y", 1)]


def test_copies_that_differ_in_their_middle_alone_differ(here: Following) -> None:
    log = write(here.folder, "a.csv", ROW)
    here.read()
    append(log, ROW * 2000)
    rotate(here, "a.csv", "1")
    write(here.folder, "old/2", ROW * 1000, b"oops,1\n", ROW * 1000)
    write(here.folder, "b.csv", ROW * 1000, b"oops,1\n", ROW * 1000)  # which begins with it
    with pytest.raises(StoreRefused, match="is not the rest of one file"):
        here.read()


def test_a_missing_copy_is_found_again_once(here: Following) -> None:
    write(here.folder, "a.csv", ROW)
    here.read()
    rotate(here, "a.csv", "1")
    assert here.read() == []
    content = (here.folder / "old" / "1").read_bytes()
    (here.folder / "old" / "1").unlink()
    for name in "23":  # the one that was taken, and another that is equal to it
        (here.folder / "old" / f"{name}.gz").write_bytes(gzip.compress(content))
    with pytest.raises(StoreRefused, match="is not the rest of one file"):
        here.read()
    (here.folder / "old" / "3.gz").unlink()
    assert here.read() == []


def test_a_copy_that_was_taken_or_is_the_rest_of_a_log_that_is_gone_is_refused(
    here: Following,
) -> None:
    log = write(here.folder, "a.csv", ROW * 3)
    here.read()
    rotate(here, "a.csv", "1")
    assert here.read() == []
    append(log, ROW)
    here.read()
    append(log, ROW * 2)
    copy = (here.folder / "old" / "1").read_bytes()
    (here.folder / "old" / "1").unlink()
    log.unlink()
    (here.folder / "old" / "2.gz").write_bytes(gzip.compress(copy))
    with pytest.raises(StoreRefused, match="is not the rest of one file"):
        here.read()
    before = here.position
    here.restart(same="old/2.gz")
    assert here.read() == []
    here.position = before
    here.restart(new="old/2.gz")
    assert len(here.read()) == 2


def test_a_copy_waits_only_for_a_file_that_has_all_of_it(here: Following) -> None:
    write(here.folder, "a.csv", ROW * 2000)
    here.read()
    copy = here.folder / "old" / "a"
    copy.write_bytes((HEADER + ROW * 2000)[:-9])
    assert here.read() == []
    copy.write_bytes((HEADER + ROW * 1000 + b"oops,1\n" + ROW * 999)[:-9])
    with pytest.raises(StoreRefused, match="is not the rest of one file"):
        here.read()


def test_a_file_that_is_said_to_be_the_same_is_digested_anew(here: Following) -> None:
    log = write(here.folder, "a.csv", ROW * 2000)
    here.read()
    fresh = write(here.folder, "a.new", ROW * 1000, b"else,1\n", ROW * 999)
    fresh.rename(log)
    here.restart(same="a.csv")
    assert here.read() == []
    append(log, b"x,1\n")
    rotate(here, "a.csv", "a")
    assert here.read() == [("x", 1)]


# logs of which nothing was read


@pytest.mark.parametrize("events", [0, 1, 2])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_log_counts_once_however_much_was_read_of_it_before(
    here: Following, events: int, ending: str
) -> None:
    log = write(here.folder, "a.csv", ROW * events)
    here.read()
    append(log, b"x,1\n")
    rotate(here, "a.csv", "1")
    if ending:
        content = (here.folder / "old" / "1").read_bytes()
        (here.folder / "old" / "1").unlink()
        (here.folder / "old" / "1.gz").write_bytes(gzip.compress(content))
    append(log, b"y,1\n")
    assert here.read() == [("x", 1), ("y", 1)]
    assert here.read() == []


@pytest.mark.parametrize("events", [0, 1])
def test_a_log_that_is_gone_counts_once_however_much_was_read_of_it(
    here: Following, events: int
) -> None:
    log = write(here.folder, "a.csv", ROW * events)
    here.read()
    append(log, b"x,1\n")
    log.rename(here.folder / "old" / "1")
    content = (here.folder / "old" / "1").read_bytes()
    (here.folder / "old" / "1").unlink()
    (here.folder / "old" / "1.gz").write_bytes(gzip.compress(content))
    assert here.read() == [("x", 1)]
    assert here.read() == []


@pytest.mark.parametrize("events", [0, 1])
@pytest.mark.parametrize("header", [b"", HEADER])
def test_a_log_that_is_compressed_makes_room_for_the_next_whatever_it_had(
    here: Following, header: bytes, events: int
) -> None:
    log = here.folder / "a.csv"
    log.write_bytes(header + (b"" if header else HEADER * events) + ROW * events)
    here.read()
    (here.folder / "old" / "1.gz").write_bytes(gzip.compress(log.read_bytes()))
    log.rename(here.folder / "away")
    write(here.folder, "a.csv", b"x,1\n")
    assert here.read() == [("x", 1)]


@pytest.mark.parametrize("events", [0, 1])
def test_two_rotations_between_two_readings_are_refused_whatever_was_read(
    here: Following, events: int
) -> None:
    log = write(here.folder, "a.csv", ROW * events)
    here.read()
    for name in "xy":
        append(log, b"%s,1\n" % name.encode())
        rotate(here, "a.csv", name)
    with pytest.raises(StoreRefused, match="is not the rest of one file"):
        here.read()


@pytest.mark.parametrize("events", [0, 1])
def test_a_copy_is_not_that_of_an_empty_log_while_a_log_that_was_cut_lacks_its_own(
    here: Following, events: int
) -> None:
    write(here.folder, "a.csv", ROW * 5)
    write(here.folder, "b.csv", b"z,1\n" * events)
    here.read()
    rotate(here, "a.csv", "1")
    (here.folder / "old" / "1").write_bytes(HEADER + ROW * 3)  # the log grew before it was cut
    with pytest.raises(StoreRefused, match="is not the rest of one file"):
        here.read()


def test_a_copy_of_a_copy_is_not_that_of_an_empty_log(here: Following) -> None:
    write(here.folder, "a.csv", ROW)
    here.read()
    rotate(here, "a.csv", "1")
    assert here.read() == []
    shutil.copy(here.folder / "old" / "1", here.folder / "old" / "mine")
    with pytest.raises(StoreRefused, match="'old/mine' is not the rest of one file"):
        here.read()


@pytest.mark.parametrize("before", [(), ("older/*",)], ids=["none", "others"])
def test_copies_that_the_plan_did_not_name_before_are_those_of_no_empty_log(
    tmp_path: Path, before: tuple[str, ...]
) -> None:
    here = Following(tmp_path, "*.csv", rotated=before)
    write(tmp_path, "a.csv")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "1").write_bytes(HEADER + ROW)
    here.read()
    here.options["rotated"] = ("old/*",)
    here.restart()
    with pytest.raises(StoreRefused, match="is not the rest of one file"):
        here.read()


def test_a_damaged_digest_is_refused(here: Following) -> None:
    write(here.folder, "a.csv", ROW)
    here.read()
    for bad in ("", "00", 7, "z" * 128):
        document: dict[str, Any] = json.loads(here.position or "")
        document["files"][0]["digest"] = bad
        with pytest.raises(StoreRefused, match="damaged"):
            here.source.reading(json.dumps(document))
