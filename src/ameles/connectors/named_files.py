"""Whether a path or pattern names a file, which may be still to come."""

from __future__ import annotations

import glob
import os
from fnmatch import fnmatchcase
from pathlib import Path

from ameles.connectors.source import find_files


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths are of one file, by their names or by what is there."""
    try:
        return one.resolve() == other.resolve() or one.samefile(other)
    except (OSError, ValueError, RuntimeError):  # nothing is there, or nothing can be
        return False


def names_file(text: str, base: Path, path: Path) -> bool:
    """Whether the source of a plan names this file."""
    found = [base / text, *(file.path for file in find_files(text, base))]
    if any(same_file(file, path) for file in found):
        return True
    folder, last = os.path.split(text)
    if last == "**":
        folder, last = text, "*"
    folders = glob.glob(folder, root_dir=base, recursive=True) if folder else [""]
    if set(folder.split("/")) == {"**"}:
        folders.append("")  # two stars are also no folder at all
    shown = last.startswith(".") or not path.name.startswith(".")
    return (
        shown
        and fnmatchcase(path.name, last)
        and any(same_file(base / name, path.parent) for name in folders)
    )
