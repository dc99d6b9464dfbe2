"""A pattern names the files that it will match, also those that are still to come."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ameles.connectors.files.named_files import find_files, names_file

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
