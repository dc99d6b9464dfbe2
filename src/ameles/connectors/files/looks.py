"""Looks at the files of a source, one after the other.

A file that did not change since the last look is the same object as then.  So whoever goes through
a folder of many files knows at once which of them are new or changed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from ameles.connectors.files.identity import Inode, Present, signature_of
from ameles.connectors.files.named_files import NamedFile


class Looks:
    """What the last look saw.  Two threads may look at the same time."""

    def __init__(self) -> None:
        self._before: dict[str, Present] = {}  # by name

    def present(self, files: Iterable[NamedFile]) -> list[Present]:
        """The files with these names: several links to a file are one file; folders are left out.

        A name that vanished since it was listed is left out: its file is found under its new name.
        """
        before, named, there = self._before, dict[str, Present](), dict[Inode, Present]()
        for file in files:
            try:
                status = os.stat(file.path)
            except OSError:
                continue
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


def present(files: Iterable[NamedFile]) -> list[Present]:
    """One look at the files with these names."""
    return Looks().present(files)
