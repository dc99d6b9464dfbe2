"""Looks at the files of a source, one after the other.

A file that did not change since the last look is the same object as then.  So whoever goes through
a folder of many files knows at once which of them are new or changed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import compress
from operator import ne
from pathlib import Path

from ameles.connectors.files.identity import Inode, Present, Signature, signature_of
from ameles.connectors.files.named_files import NamedFile, NameLists

# Where the system has O_PATH, who may not list a folder may still name the files in it.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class _Look:
    """The names that existed, the signature of each, and the files that they named."""

    names: Sequence[NamedFile]
    signatures: Sequence[Signature]
    files: list[Present]

    def again(
        self,
        names: Sequence[NamedFile],
        signatures: Sequence[Signature],
        statuses: Sequence[os.stat_result],
    ) -> list[Present] | None:
        """The files now, if the same names name the same files, one each; None otherwise.

        Those that changed are new objects.
        """
        if names != self.names or len(names) != len(self.files):
            return None
        files = list(self.files)
        for place in compress(range(len(files)), map(ne, signatures, self.signatures)):
            before, status = files[place], statuses[place]
            if signatures[place][:2] != before.inode or not stat.S_ISREG(status.st_mode):
                return None
            files[place] = Present(before.links, status)
        return files


class Looks:
    """What the last look saw in a folder, which the names begin at.  Two threads may look at the
    same time."""

    def __init__(self, base: Path) -> None:
        self.lists = NameLists(base)
        self._base = base
        self._last = _Look((), (), [])

    def present(self, files: Iterable[NamedFile]) -> list[Present]:
        """The files with these names: several links to a file are one file; folders are left out.

        A name that vanished since it was listed is left out: its file is found under its new name.
        """
        last = self._last
        names, statuses = self._statuses(files)
        signatures = [*map(signature_of, statuses)]
        there = last.again(names, signatures, statuses)
        if there is None:
            there = _merged(last.files, names, statuses)
        self._last = _Look(names, signatures, there)
        return there

    def _statuses(self, files: Iterable[NamedFile]) -> tuple[list[NamedFile], list[os.stat_result]]:
        """The files that there are, and their status."""
        folder: int | None = None
        with suppress(OSError):  # it may be away, and the names absolute
            folder = os.open(self._base, _FOLDER)
        names, statuses = list[NamedFile](), list[os.stat_result]()
        try:
            for file in files:
                try:
                    # the system need not find the folder again for each name
                    place = file.path if folder is None else file.name
                    statuses.append(os.stat(place, dir_fd=folder))
                except OSError:
                    continue
                names.append(file)
        finally:
            if folder is not None:
                os.close(folder)
        return names, statuses


def _merged(
    last: Iterable[Present], names: Sequence[NamedFile], statuses: Sequence[os.stat_result]
) -> list[Present]:
    """The files with these names, each with all of its names; ``last`` are those of the last
    look."""
    before = {link.name: file for file in last for link in file.links}
    there = dict[Inode, Present]()
    for file, status in zip(names, statuses, strict=True):
        one = before.get(file.name)
        if one is None or len(one.links) > 1 or one.signature != signature_of(status):
            if not stat.S_ISREG(status.st_mode):
                continue
            one = Present([file], status)
        known = there.setdefault(one.inode, one)
        if known is not one:  # another name of the same file
            there[one.inode] = Present([*known.links, file], known.status)
    return list(there.values())
