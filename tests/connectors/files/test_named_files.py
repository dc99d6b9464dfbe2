"""A pattern names the files that it will match, also those that are still to come."""

from __future__ import annotations

import glob
import os
from pathlib import Path

import pytest

from ameles.connectors.files import named_files
from ameles.connectors.files.named_files import NameLists, find_files, names_file

FOLDERS = ["", "a", "a/b", ".hidden"]
FILES = ["x.csv", ".x.csv", "x.csv.1", "y.jsonl", "[x].csv"]
PATTERNS = [
    *("x.csv", "*.csv", "x.csv*", "a/*.csv", "*/x.csv", "**/*.csv", "a/**/*.csv", "**", "a/**"),
    *("./*.csv", "../?/*.csv", "**/**/x.csv", "[x].csv", "[[]x].csv", ".*", ".hidden/*", "*/*/*"),
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_as_if_the_file_was_there(tmp_path: Path, pattern: str) -> None:
    base = tmp_path / "b"
    for folder in FOLDERS:
        (base / folder).mkdir(parents=True, exist_ok=True)
    for path in (base / folder / name for folder in FOLDERS for name in FILES):
        before = names_file(pattern, base, path)
        path.touch()
        files = {file.path.resolve() for file in find_files(pattern, base)}
        assert before == (path.resolve() in files) == names_file(pattern, base, path), path
        path.unlink()


def test_under_other_names(tmp_path: Path) -> None:
    (tmp_path / "x.csv").touch()
    (tmp_path / "linked").symlink_to(tmp_path / "x.csv")
    os.link(tmp_path / "x.csv", tmp_path / "same")
    (tmp_path / "folder").mkdir()
    for name in ("linked", "same", "folder/../x.csv"):
        assert names_file("x.csv", tmp_path, tmp_path / name)
        assert names_file("*.csv", tmp_path, tmp_path / name)
    assert not names_file("x.csv", tmp_path, tmp_path / "a\0b")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert not names_file("x.csv", tmp_path, tmp_path / "loop" / "y")


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_folder_is_listed_as_glob_does_each_time_it_has_other_names(
    tmp_path: Path, pattern: str
) -> None:
    base = tmp_path / "b"
    lists = NameLists(base)
    for folder in ["", *FOLDERS]:  # first the base itself is missing
        names = [file.name for file in lists.names(pattern)]
        assert names == sorted(expected(pattern, base))
        for path in (base / folder / name for name in FILES):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            assert [file.name for file in lists.names(pattern)] == sorted(expected(pattern, base))
        path.unlink()
        assert [file.name for file in lists.names(pattern)] == sorted(expected(pattern, base))


def expected(pattern: str, base: Path) -> list[str]:
    """What Python's own ``glob`` finds; a path, or a pattern that is a file's name, is itself."""
    if not glob.has_magic(pattern) or (base / pattern).is_file():
        return [pattern]
    return glob.glob(pattern, root_dir=base, recursive=True)


def test_the_names_of_a_huge_folder_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(named_files, "REMEMBERED", 2)
    lists = NameLists(tmp_path)
    for count in (1, 2, 3, 2):
        (tmp_path / "2.csv").unlink(missing_ok=True)
        for n in range(count):
            (tmp_path / f"{n}.csv").touch()
        first = lists.names("*.csv")
        assert [file.name for file in first] == [f"{n}.csv" for n in range(count)]
        assert (lists.names("*.csv") is first) == (count <= 2)


def test_the_names_of_a_folder_that_stayed_are_the_same_list(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    lists = NameLists(tmp_path)
    first = lists.names("*.csv")
    (tmp_path / "a.csv").write_bytes(b"x")
    assert lists.names("*.csv") is first
    assert [file.name for file in lists.names("*")] == ["a.csv"]
    (tmp_path / "b.csv").touch()
    assert [file.name for file in lists.names("*.csv")] == ["a.csv", "b.csv"]
