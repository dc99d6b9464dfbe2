"""What a source remembers about its files between two readings.

If the status of a file is the same as when its content was last compared, the file has the same
content and is not opened again.  So a folder of many files costs one ``stat`` for each.  The status
shows every change except one within a tick of the file system's clock, so it is trusted only for a
file that had not changed for a while.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from ameles.connectors.declarations import Declarations, Declared
from ameles.connectors.files import file_marks
from ameles.connectors.files.file_marks import Mark
from ameles.connectors.files.identity import Present, Signature
from ameles.connectors.files.refusals import copied, replaced
from ameles.core.exceptions import StoreRefused

ALONE = 2 * 10**9  # nanoseconds: the coarsest clock tick of the usual file systems

Fits: TypeAlias = Callable[[Mark, int], bool]
Ended: TypeAlias = Callable[[Present, Mark], bool]


class SameFiles:
    """What a source remembers about its files between two readings.

    ``kind`` is the kind of its positions, ``fits`` compares an open file with a mark, ``ended``
    says whether a file that has what was taken has nothing else, and ``start`` gives the offset
    where the events of an open file begin.  If the plan names copies, ``nothing`` is the digest in
    the marks of files of which nothing was read.
    """

    def __init__(
        self,
        kind: str,
        declarations: Declarations,
        *,
        fits: Fits,
        ended: Ended = lambda file, mark: not mark.unread,
        start: Callable[[int], int] = lambda handle: 0,
        nothing: str | None = None,
    ) -> None:
        self._kind = kind
        self._fits = fits
        self.ended = ended
        self._start = start
        self._nothing = nothing
        self._declarations = declarations
        self._position: str | None = None
        self._taken: list[Mark] = []
        self._compared: dict[tuple[int, int], tuple[Mark, Signature]] = {}
        # What the last reading found unchanged, and read to its end before, with marks of
        # ``_taken``.  ``Looks`` gives the same object only for the same name and the same status.
        self.finished: dict[Present, Mark | None] = {}

    def taken(self, position: str | None) -> list[Mark]:
        """The marks in a position."""
        if position is None or position != self._position:
            self._taken = file_marks.from_json(self._kind, position)
            self._position = position
            self.finished = {}
        return self._taken

    def position(self, taken: list[Mark]) -> str:
        """The position of these marks."""
        self._taken = taken
        self._position = file_marks.to_json(self._kind, taken)
        return self._position

    def unread(self, position: str) -> str:
        """The position with the same files, all of them unread; copies stay marked as read."""
        return self.position(
            [
                mark if mark.rotated or not mark.offset else replace(mark, unread=True)
                for mark in self.taken(position)
            ]
        )

    def unchanged(self, file: Present, mark: Mark) -> bool:
        """Whether a file is unchanged since it was last compared with this mark."""
        before = self._compared.get((mark.device, mark.inode))
        if before is None or before[0] is not mark or before[1] != file.signature:
            return False
        return any(link.name == mark.name for link in file.links)

    def finish(
        self, files: Sequence[Present], marks: Sequence[Mark | None], places: Iterable[int]
    ) -> None:
        """Remembers the files that need not be looked into again, which are all but those at some
        places."""
        self.finished = dict(zip(files, marks, strict=True))
        for place in places:
            del self.finished[files[place]]

    def compared(self, file: Present, mark: Mark) -> None:
        """Remembers that a file fits its mark."""
        status = file.status
        if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > ALONE:
            self._compared[mark.device, mark.inode] = mark, file.signature

    @property
    def grows(self) -> bool:
        """Whether a file may grow; a compressed or Parquet file never changes."""
        return self._kind == "text"

    def fits(self, mark: Mark, handle: int) -> bool:
        """Whether an open file has what was taken."""
        return self._fits(mark, handle)

    def start(self, handle: int) -> int:
        """Where the events of an open file begin."""
        return self._start(handle)

    def watched(self, mark: Mark) -> bool:
        """Whether nothing was read of a file, and a copy of it would have been noticed."""
        return not mark.offset and mark.digest is not None and mark.digest == self._nothing

    def declared(self, names: set[str]) -> Declared:
        """What the owner says about a file."""
        return self._declarations.about(names)

    def refusal(self, name: str, *, some: list[Mark], known: list[Mark]) -> StoreRefused:
        """The refusal of a file that may belong to one of ``some``; it begins like those in
        ``known``."""
        unread = all(mark.unread for mark in known or some)
        if known:
            return copied(name, unread=unread)
        copies = self._nothing is not None
        return replaced(name, unread=unread, copies=copies, grows=self.grows)
