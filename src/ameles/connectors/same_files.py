"""What a source knows of its files between two readings.

A file whose status is as it was when its content was last compared has the same content, and is
not opened again: so a folder of many files costs a look at each.  The status tells every change
but one within a tick of the file system's clock, so only that of a file that had been left alone
for a while is relied on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from ameles.connectors import file_marks
from ameles.connectors.declarations import Declarations, Declared
from ameles.connectors.file_identity import Present, Signature
from ameles.connectors.file_marks import Mark
from ameles.connectors.file_refusals import copied, replaced
from ameles.core.exceptions import StoreRefused

ALONE = 2 * 10**9  # nanoseconds: the coarsest tick of a file system that is in use

Fits: TypeAlias = Callable[[Mark, int], bool]


class SameFiles:
    """What a source knows of its files between two readings.

    ``kind`` is that of its positions, ``fits`` compares an open file with a mark, and ``start``
    gives where the events of an open file begin; where the plan names copies, ``nothing`` is the
    digest in the marks of files of which nothing was taken.
    """

    def __init__(
        self,
        kind: str,
        declarations: Declarations,
        *,
        fits: Fits,
        start: Callable[[int], int] = lambda handle: 0,
        nothing: str | None = None,
    ) -> None:
        self._kind = kind
        self._fits = fits
        self._start = start
        self._nothing = nothing
        self._declarations = declarations
        self._position: str | None = None
        self._taken: list[Mark] = []
        self._compared: dict[tuple[int, int], tuple[Mark, Signature]] = {}

    def taken(self, position: str | None) -> list[Mark]:
        """The marks in a position."""
        if position is None or position != self._position:
            self._taken = file_marks.from_json(self._kind, position)
            self._position = position
        return self._taken

    def position(self, taken: list[Mark]) -> str:
        """The position of these marks."""
        self._taken = taken
        self._position = file_marks.to_json(self._kind, taken)
        return self._position

    def unread(self, position: str) -> str:
        """The position with the same files, none of which was taken; copies stay the past."""
        return self.position(
            [
                mark if mark.rotated or not mark.offset else replace(mark, unread=True)
                for mark in self.taken(position)
            ]
        )

    def unchanged(self, file: Present, mark: Mark) -> bool:
        """Whether a file is as it was when it was last compared with this mark."""
        before = self._compared.get((mark.device, mark.inode))
        if before is None or before[0] is not mark or before[1] != file.signature:
            return False
        return any(link.name == mark.name for link in file.links)

    def compared(self, file: Present, mark: Mark) -> None:
        """Remembers that a file fits its mark."""
        status = file.status
        if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > ALONE:
            self._compared[mark.device, mark.inode] = mark, file.signature

    @property
    def grows(self) -> bool:
        """Whether a file may get more; one that is compressed, or Parquet, never changes."""
        return self._kind == "text"

    def fits(self, mark: Mark, handle: int) -> bool:
        """Whether an open file has what was taken."""
        return self._fits(mark, handle)

    def start(self, handle: int) -> int:
        """Where the events of an open file begin."""
        return self._start(handle)

    def watched(self, mark: Mark) -> bool:
        """Whether nothing was taken of a file, and no copy of it could come unseen."""
        return not mark.offset and mark.digest is not None and mark.digest == self._nothing

    def declared(self, names: set[str]) -> Declared:
        """What the owner says about a file."""
        return self._declarations.about(names)

    def refusal(self, name: str, *, some: list[Mark], known: list[Mark]) -> StoreRefused:
        """Why a file cannot be one of ``some``; it begins like those that are ``known``."""
        unread = all(mark.unread for mark in known or some)
        if known:
            return copied(name, unread=unread)
        copies = self._nothing is not None
        return replaced(name, unread=unread, copies=copies, grows=self.grows)
