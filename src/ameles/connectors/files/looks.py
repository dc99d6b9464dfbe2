"""Looks at the files of a source, one after the other.

A file that did not change since the last look is the same object as then.  So whoever goes through
a folder of many files knows at once which of them are new or changed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ameles.connectors.files.identity import Inode, Present, signature_of
from ameles.connectors.files.named_files import NamedFile

# Where the system has O_PATH, who may not list a folder may still name the files in it.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC


class Looks:
    """What the last look saw in a folder, which the names begin at.  Two threads may look at the
    same time."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._before: dict[str, Present] = {}  # by name

    def present(self, files: Iterable[NamedFile]) -> list[Present]:
        """The files with these names: several links to a file are one file; folders are left out.

        A name that vanished since it was listed is left out: its file is found under its new name.
        """
        before, named, there = self._before, dict[str, Present](), dict[Inode, Present]()
        for file, status in self._statuses(files):
            one = before.get(file.name)
            if one is None or len(one.links) > 1 or one.signature != signature_of(status):
                if not stat.S_ISREG(status.st_mode):
                    continue
                one = Present([file], status)
            known = there.setdefault(one.inode, one)
            if known is not one:  # another name of the same file
                one = there[one.inode] = Present([*known.links, file], known.status)
            named[file.name] = one
        self._before = named
        return list(there.values())

    def _statuses(self, files: Iterable[NamedFile]) -> Iterator[tuple[NamedFile, os.stat_result]]:
        """The files that there are, with their status."""
        folder: int | None = None
        with suppress(OSError):  # it may be away, and the names absolute
            folder = os.open(self._base, _FOLDER)
        try:
            for file in files:
                try:
                    # the system need not find the folder again for each name
                    place = file.path if folder is None else file.name
                    status = os.stat(place, dir_fd=folder)
                except OSError:
                    continue
                yield file, status
        finally:
            if folder is not None:
                os.close(folder)
