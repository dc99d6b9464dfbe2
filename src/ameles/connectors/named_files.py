"""The files that a path or a pattern names, and whether it names one that is still to come."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file of a source; its name is what the plan's text matched."""

    name: str
    path: Path


def find_files(text: str, base: Path) -> tuple[NamedFile, ...]:
    """The files that a path or a pattern names now, by name."""
    return tuple(file for file in list_names(text, base) if os.path.isfile(file.path))


def list_names(text: str, base: Path) -> list[NamedFile]:
    """What a path or a pattern names now, by name: some of it may be folders, or not be there."""
    names = [text]
    if glob.has_magic(text) and not (base / text).is_file():
        names = sorted(glob.glob(text, root_dir=base, recursive=True))
    return [_named(name, base) for name in names]


@lru_cache(maxsize=1 << 16)
def _named(name: str, base: Path) -> NamedFile:
    """Made once: a watched folder is listed with every step."""
    return NamedFile(name, base / name)


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
