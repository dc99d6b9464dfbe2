"""Looks at files: what stayed is the same object, and every name is looked at once."""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_IFDIR, ST_MODE, ST_SIZE

import pytest

from ameles.connectors.files.looks import Looks
from ameles.connectors.files.named_files import list_names


def test_a_file_that_stayed_is_the_same_object_and_others_are_new(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv", "c.csv"):
        (tmp_path / name).write_bytes(b"x")
    looks = Looks(tmp_path)
    first = looks.present(list_names("*.csv", tmp_path))
    (tmp_path / "b.csv").write_bytes(b"xy")
    (tmp_path / "c.csv").rename(tmp_path / "d.csv")
    second = looks.present(list_names("*.csv", tmp_path))
    assert [file.file.name for file in second] == ["a.csv", "b.csv", "d.csv"]
    assert [one is other for one, other in zip(first, second, strict=True)] == [True, False, False]
    assert [file.inode for file in first] == [file.inode for file in second]


def test_names_of_one_file_are_put_together_at_each_look(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_bytes(b"x")
    looks = Looks(tmp_path)
    (alone,) = looks.present(list_names("*.csv", tmp_path))
    (tmp_path / "a.csv").symlink_to("b.csv")  # which leaves the status of the file as it is
    (linked,) = looks.present(list_names("*.csv", tmp_path))
    assert linked.names == {"a.csv", "b.csv"}
    (again,) = looks.present(list_names("*.csv", tmp_path))
    assert again.names == {"a.csv", "b.csv"}
    (tmp_path / "a.csv").unlink()
    (last,) = looks.present(list_names("*.csv", tmp_path))
    assert (last.names, last.signature) == ({"b.csv"}, alone.signature)


def test_folders_and_names_that_vanished_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"x")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "gone.csv").write_bytes(b"x")
    names = list_names("*.csv", tmp_path)
    (tmp_path / "gone.csv").unlink()
    (tmp_path / "broken.csv").symlink_to("nothing")
    names += list_names("broken.csv", tmp_path)
    assert [file.file.name for file in Looks(tmp_path).present(names)] == ["a.csv"]


def test_absolute_names_are_found_from_a_folder_that_is_away(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"x")
    away = tmp_path / "away"
    names = list_names(str(tmp_path / "*.csv"), away)
    assert [file.file.path for file in Looks(away).present(names)] == [tmp_path / "a.csv"]
    assert [file.file.path for file in Looks(tmp_path).present(names)] == [tmp_path / "a.csv"]


def test_a_look_leaves_no_folder_open(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"x")
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        Looks(tmp_path).present(list_names("*.csv", tmp_path))
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_names_that_change_their_files_are_seen(tmp_path: Path) -> None:
    """The names are the same at each look, and so is the number of files, but for the last."""
    one, other = tmp_path / "a.csv", tmp_path / "b.csv"
    one.write_bytes(b"x")
    other.write_bytes(b"x")
    names = list_names("*.csv", tmp_path)
    looks = Looks(tmp_path)
    first = looks.present(names)
    one.rename(tmp_path / "c")
    other.rename(one)
    (tmp_path / "c").rename(other)  # they are exchanged
    second = looks.present(names)
    assert [file.names for file in second] == [{"a.csv"}, {"b.csv"}]
    assert [file.inode for file in second] == [file.inode for file in reversed(first)]
    other.unlink()
    other.hardlink_to(one)
    (third,) = looks.present(names)
    assert third.names == {"a.csv", "b.csv"}
    other.unlink()
    other.mkdir()
    (fourth,) = looks.present(names)
    assert fourth.names == {"a.csv"}


def test_a_folder_with_the_number_of_the_file_before_it_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_bytes(b"x")
    names = list_names("*.csv", tmp_path)
    looks = Looks(tmp_path)
    (file,) = looks.present(names)
    folder = list(file.status)
    folder[ST_MODE], folder[ST_SIZE] = S_IFDIR | 0o700, 4096
    monkeypatch.setattr(os, "stat", lambda *_, **options: os.stat_result(folder))
    assert looks.present(names) == []
