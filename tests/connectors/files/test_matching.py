"""Which file is which: by inode, device and birth, whatever its name; content decides nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ameles.connectors.files import matching as file_matching
from ameles.core.exceptions import StoreRefused
from tests.connectors.following import HEADER, Following, append, write
from tests.connectors.same_rows import NUMBERS, ROWS, moved

MORE = [*ROWS, b"x,50\n"]


@pytest.fixture
def here(tmp_path: Path) -> Following:
    """A file of 50 rows that was read."""
    write(tmp_path, "a.csv", *ROWS)
    following = Following(tmp_path, "*.csv")
    assert following.read() == NUMBERS
    return following


def another(file: Path, name: str, content: bytes) -> Path:
    """A new file, whose inode is not that of the one that was there."""
    fresh = file.with_name("fresh.tmp")
    fresh.write_bytes(content)  # while the other is there still
    file.unlink()
    return fresh.rename(file.with_name(name))


def reused(here: Following, name: str, *lines: bytes) -> Path:
    """A new file that has the inode of the one that was read, and another birth."""
    file = another(here.folder / "a.csv", name, HEADER + b"".join(lines))
    here.alter(inode=file.stat().st_ino)
    return file


def test_a_file_that_grew_is_read_on_under_any_name(here: Following) -> None:
    append(here.folder / "a.csv", b"y,1\n")
    assert here.read() == [("y", 1)]
    append(moved(here.folder / "a.csv", "b.csv"), b"y,2\n")
    assert here.read() == [("y", 2)]
    assert here.read() == []
    assert [mark["name"] for mark in here.marks] == ["b.csv"]


@pytest.mark.parametrize("name", ["a.csv", "b.csv"])
@pytest.mark.parametrize("content", [b"", HEADER + ROWS[0], HEADER + b"z,9\n" * 99], ids=len)
def test_a_file_that_was_cut_or_rewritten_is_refused(
    here: Following, name: str, content: bytes
) -> None:
    moved(here.folder / "a.csv", name).write_bytes(content)
    before = here.position
    for said in ({}, {"same": name}):
        here.restart(**said)
        with pytest.raises(StoreRefused, match=f"'{name}' was replaced or cut"):
            here.read()
    assert here.position == before
    here.restart(new=name)
    assert len(here.read()) == len(content.splitlines()[1:])
    here.restart()
    assert here.read() == []


@pytest.mark.parametrize("rows", [49, 50, 51])
def test_a_new_file_with_the_inode_and_the_content_of_a_removed_one_counts(
    here: Following, rows: int
) -> None:
    reused(here, "b.csv", *MORE[:rows])
    assert len(here.read()) == rows
    assert here.read() == []


def test_a_new_file_with_the_inode_and_the_name_of_a_removed_one_is_refused(
    here: Following,
) -> None:
    reused(here, "a.csv", *ROWS, b"y,1\n")
    with pytest.raises(StoreRefused, match="begins with what was read before"):
        here.read()
    here.restart(same="a.csv")
    assert here.read() == [("y", 1)]


def test_a_file_system_that_reuses_inodes_at_once_is_seen_through(here: Following) -> None:
    for n in range(20):  # many of these have an inode that was a removed file's
        for file in here.folder.iterdir():
            file.unlink()
        write(here.folder, f"{n}.csv", *ROWS)
        assert here.read() == NUMBERS


def test_without_births_a_file_is_known_by_its_inode_and_content(here: Following) -> None:
    here.alter(born=None)
    append(moved(here.folder / "a.csv", "b.csv"), b"y,1\n")
    assert here.read() == [("y", 1)]
    assert here.marks[0]["born"] is not None, "where it is known, it is kept from now on"


def test_a_birth_that_was_known_is_not_forgotten(
    here: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = here.marks[0]["born"]
    assert before is not None
    monkeypatch.setattr(file_matching, "born", lambda handle: None)
    here.restart()
    assert here.read() == []
    assert here.marks[0]["born"] == before


@pytest.mark.parametrize(
    ("name", "lines", "refused"),
    [
        ("a.csv", [b"other,1\n"], True),
        ("b.csv", [b"other,1\n"], False),
        ("b.csv", [*ROWS[:-1], b"x,-9\n", b"y,1\n"], False),  # another in the first 4096 bytes
    ],
)
def test_without_births_a_reused_inode_is_told_by_name_and_first_bytes(
    here: Following, name: str, lines: list[bytes], refused: bool
) -> None:
    reused(here, name, *lines)
    here.alter(born=None)
    if refused:
        with pytest.raises(StoreRefused, match="replaced or cut"):
            here.read()
    else:
        assert len(here.read()) == len(lines)


def test_without_births_a_file_that_was_cut_and_renamed_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", *ROWS * 50)
    here = Following(tmp_path, "*.csv")
    here.read()
    os.truncate(moved(file, "b.csv"), 9_000)
    here.alter(born=None)
    with pytest.raises(StoreRefused, match="replaced or cut"):
        here.read()


@pytest.mark.parametrize("birth", [{}, {"born": None}], ids=["birth", "no birth"])
def test_a_changed_device_neither_counts_again_nor_skips(
    here: Following, birth: dict[str, None]
) -> None:
    here.alter(device=7, **birth)
    append(here.folder / "a.csv", b"y,1\n")
    assert here.read() == [("y", 1)]
    assert here.marks[0]["device"] == (here.folder / "a.csv").stat().st_dev
    assert here.read() == []


def test_a_changed_device_and_name_is_the_file_if_its_birth_agrees(here: Following) -> None:
    here.alter(device=7)
    append(moved(here.folder / "a.csv", "b.csv"), b"y,1\n")
    assert here.read() == [("y", 1)]
    assert here.read() == []


def test_a_changed_device_and_name_without_births_is_refused(here: Following) -> None:
    here.alter(device=7, born=None)
    append(moved(here.folder / "a.csv", "b.csv"), b"y,1\n")
    with pytest.raises(StoreRefused, match="--same-file"):
        here.read()
    here.restart(same="b.csv")
    assert here.read() == [("y", 1)]


def test_the_same_inode_on_another_device_is_another_file_if_content_or_birth_differ(
    here: Following,
) -> None:
    file = another(here.folder / "a.csv", "b.csv", HEADER + b"z,1\n")
    here.alter(device=7, inode=file.stat().st_ino, born=None)
    assert here.read() == [("z", 1)]


def test_the_same_inode_and_content_on_another_device_counts_if_the_birth_differs(
    here: Following,
) -> None:
    file = another(here.folder / "a.csv", "b.csv", HEADER + b"".join(ROWS))
    here.alter(device=7, inode=file.stat().st_ino)
    assert here.read() == NUMBERS


def test_swapped_devices_do_not_swap_files(tmp_path: Path) -> None:
    for name in "ab":
        write(tmp_path, f"{name}.csv", *ROWS)
    here = Following(tmp_path, "*.csv")
    assert here.read() == sorted(NUMBERS * 2)
    append(tmp_path / "a.csv", b"y,1\n")
    here.read()
    document = json.loads(here.position or "")
    a, b = document["files"]
    # as if both had one inode, and the devices had changed their numbers since
    a["born"] = b["born"] = None
    status = (tmp_path / "a.csv").stat()
    b["device"], b["inode"], a["device"] = status.st_dev, status.st_ino, 7
    here.position = json.dumps(document)
    (tmp_path / "b.csv").unlink()
    here.restart()
    append(tmp_path / "a.csv", b"y,2\n")
    assert here.read() == [("y", 2)]


@pytest.mark.parametrize("more", [[], [b"y,1\n"]], ids=["equal", "longer"])
def test_a_copy_under_the_same_name_is_refused_until_its_owner_says_what_it_is(
    here: Following, more: list[bytes]
) -> None:
    another(here.folder / "a.csv", "a.csv", HEADER + b"".join(ROWS + more))
    before = here.position
    with pytest.raises(StoreRefused, match="begins with what was read before") as caught:
        here.read()
    assert "--same-file 'a.csv'" in str(caught.value)
    assert "--new-file 'a.csv'" in str(caught.value)
    here.restart(same="*.csv")
    assert here.read() == [("y", 1)] * len(more)
    assert [(mark["declared"], mark["name"]) for mark in here.marks] == [
        ("same", "a.csv"),
        (None, ""),  # the file that was read before
    ]
    append(here.folder / "a.csv", b"z,1\n")
    here.restart()
    assert here.read() == [("z", 1)]
    assert here.marks[0]["declared"] == "same", "what was said is kept"
    here.position = before
    here.restart(new="a.csv")
    assert len(here.read()) == 51 + len(more)
    assert [mark["declared"] for mark in here.marks] == ["new", None]


@pytest.mark.parametrize("content", [ROWS[:49], ROWS[1:], []], ids=["shorter", "other", "empty"])
def test_another_file_under_the_same_name_is_refused(here: Following, content: list[bytes]) -> None:
    another(here.folder / "a.csv", "a.csv", HEADER + b"".join(content))
    for said in ({}, {"same": "a.csv"}):
        here.restart(**said)
        with pytest.raises(StoreRefused, match="replaced or cut"):
            here.read()
    here.restart(new="a.csv")
    assert len(here.read()) == len(content)


@pytest.mark.parametrize("rows", [0, 1, 49, 50, 51])
def test_content_under_another_name_counts_whether_it_was_seen_or_not(
    here: Following, rows: int
) -> None:
    another(here.folder / "a.csv", "b.csv", HEADER + b"".join(MORE[:rows]))
    assert len(here.read()) == rows
    assert here.read() == []


def test_equal_files_beside_each_other_count_each(here: Following) -> None:
    for n in range(3):
        write(here.folder, f"copy{n}.csv", *ROWS)
    assert here.read() == sorted(NUMBERS * 3)


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_what_happens_when_a_file_is_replaced_is_the_same_before_its_first_event(
    tmp_path: Path, name: str, gone: bool, rows: int
) -> None:
    header, row = (HEADER, b"x,1\n") if name == "a.csv" else (b"", b'{"name": "x", "n": 1}\n')
    file = tmp_path / name
    file.write_bytes(header + row * rows)
    here = Following(tmp_path, name)
    assert len(here.read()) == rows
    file.rename(tmp_path / "old")
    if gone:
        assert here.read() == []
    file.write_bytes(header + row.replace(b"1", b"2"))
    before = here.position
    with pytest.raises(StoreRefused, match="replaced or cut"):
        here.read()
    here.restart(new=name)
    assert here.read() == [("x", 2)]
    assert here.read() == []
    if not rows:
        here.position = before
        here.restart(same=name)
        assert here.read() == [("x", 2)]


def test_links_to_one_file_are_one_file(here: Following) -> None:
    (here.folder / "hard.csv").hardlink_to(here.folder / "a.csv")
    (here.folder / "soft.csv").symlink_to("a.csv")
    (here.folder / "soft2.csv").symlink_to(here.folder / "soft.csv")
    assert here.read() == []
    append(here.folder / "soft2.csv", b"y,1\n")
    assert here.read() == [("y", 1)]
    assert len(here.marks) == 1
    (here.folder / "a.csv").unlink()  # two links point nowhere now
    append(here.folder / "hard.csv", b"y,2\n")
    assert here.read() == [("y", 2)]
    fresh = Following(here.folder, "*.csv")
    assert len(fresh.read()) == 52


def test_a_file_that_is_moved_back_is_read_on(here: Following, tmp_path: Path) -> None:
    away = (here.folder / "a.csv").rename(tmp_path / "away")
    for n in range(3):
        write(here.folder, f"later{n}.csv", b"y,%d\n" % n)
        assert here.read() == [("y", n)]
    append(away, b"z,1\n")
    away.rename(here.folder / "back.csv")
    assert here.read() == [("z", 1)]


def test_the_mark_of_a_file_goes_when_its_inode_and_its_name_are_others(here: Following) -> None:
    reused(here, "b.csv", b"y,1\n")
    assert here.read() == [("y", 1)]
    assert [mark["name"] for mark in here.marks] == ["b.csv", "a.csv"]
    here.restart(new="a.csv")
    write(here.folder, "a.csv", b"z,1\n")
    assert here.read() == [("z", 1)]
    assert sorted(mark["name"] for mark in here.marks) == ["a.csv", "b.csv"]


def test_a_file_that_comes_back_after_another_was_declared_the_same_does_not_count_again(
    here: Following,
) -> None:
    old = (here.folder / "a.csv").rename(here.folder / "away")
    (here.folder / "a.csv").write_bytes(old.read_bytes())  # a copy, with another inode
    here.restart(same="a.csv")
    assert here.read() == []
    append(old, b"w,1\n")
    old.rename(here.folder / "b.csv")
    here.restart()
    assert here.read() == [("w", 1)]
    append(here.folder / "a.csv", b"z,1\n")
    append(here.folder / "b.csv", b"w,2\n")
    here.restart()
    assert here.read() == [("w", 2), ("z", 1)]
