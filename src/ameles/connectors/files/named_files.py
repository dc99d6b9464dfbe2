"""The files that a path or a pattern names now, and whether it would name a future file."""

from __future__ import annotations

import fnmatch
import glob
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

REMEMBERED = 1 << 16  # names of a folder; a larger one is slow to list, and takes no more memory


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file of a source; its name is as the path or pattern in the plan matched it."""

    name: str
    path: Path


def find_files(text: str, base: Path) -> tuple[NamedFile, ...]:
    """The files that a path or a pattern names now, sorted by name."""
    return tuple(file for file in list_names(text, base) if os.path.isfile(file.path))


def list_names(text: str, base: Path) -> list[NamedFile]:
    """The names that a path or pattern matches now, sorted; some may be folders or not exist."""
    return NameLists(base).names(text)


class NameLists:
    """The names that paths and patterns match in a folder, listed again and again.

    A watched folder is listed at every step.  If it has the names that it had the step before, the
    same of them match, in the same order.
    """

    def __init__(self, base: Path) -> None:
        self._base = str(base)
        self._last: dict[str, tuple[list[str], list[NamedFile]]] = {}  # by pattern

    def names(self, text: str) -> list[NamedFile]:
        """The names that a path or pattern matches now, sorted; nobody may change this list."""
        if not glob.has_magic(text) or os.path.isfile(os.path.join(self._base, text)):
            return [_named(text, self._base)]
        folder, last = os.path.split(text)
        if glob.has_magic(folder) or last == "**":
            return self._sorted(glob.glob(text, root_dir=self._base, recursive=True))
        try:
            there = os.listdir(os.path.join(self._base, folder) or os.curdir)
        except OSError:
            there = []
        before = self._last.get(text)
        if before is not None and before[0] == there:
            return before[1]
        shown = there if last.startswith(".") else [name for name in there if name[0] != "."]
        matching = fnmatch.filter(shown, last)
        names = self._sorted([os.path.join(folder, name) for name in matching])
        self._last.pop(text, None)
        if len(there) <= REMEMBERED:
            self._last[text] = there, names
        return names

    def _sorted(self, names: list[str]) -> list[NamedFile]:
        return [_named(name, self._base) for name in sorted(names)]


def closed_folders(text: str, base: Path) -> list[str]:
    """The folders that a path or pattern leads into, but that may not be listed or entered.

    Files in them are not found, and so they look as if they were not there.
    """
    parts = text.split("/")[:-1]
    closed: list[str] = []
    for count in range(1, len(parts) + 1):
        listed = glob.has_magic(text.split("/")[count])
        needed = os.X_OK | (os.R_OK if listed else 0)
        leading = "/".join(parts[:count])
        folders = [leading]
        if glob.has_magic(leading):  # with a slash at its end, a pattern matches folders alone
            folders = [
                name.rstrip("/") for name in glob.glob(f"{leading}/", root_dir=base, recursive=True)
            ]
        closed += [name for name in folders if name and _is_closed(base / name, needed)]
    return sorted(set(closed))


def _is_closed(folder: Path, needed: int) -> bool:
    effective = os.access in os.supports_effective_ids
    # one inside a closed folder is not seen, and that other one is named
    return os.path.isdir(folder) and not os.access(folder, needed, effective_ids=effective)


@lru_cache(maxsize=REMEMBERED)
def _named(name: str, base: str) -> NamedFile:
    """Cached, because a watched folder is listed at every step; by texts, which Python hashes
    once."""
    return NamedFile(name, Path(base) / name)


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to the same file, by their names or by the file there."""
    try:
        return one.resolve() == other.resolve() or one.samefile(other)
    except (OSError, ValueError, RuntimeError):  # no file is there, or the path is invalid
        return False


def names_file(text: str, base: Path, path: Path) -> bool:
    """Whether the source of a plan names this file."""
    files = [base / text, *(file.path for file in find_files(text, base))]
    if any(same_file(file, path) for file in files):
        return True
    folder, last = os.path.split(text)
    if last == "**":
        folder, last = text, "*"
    folders = glob.glob(folder, root_dir=base, recursive=True) if folder else [""]
    if set(folder.split("/")) == {"**"}:
        folders.append("")  # two stars also match no folder at all
    shown = last.startswith(".") or not path.name.startswith(".")
    return (
        shown
        and fnmatch.fnmatchcase(path.name, last)
        and any(same_file(base / name, path.parent) for name in folders)
    )
