"""What is left of a file that was copied and cut, or compressed: ``rotated`` in a plan names it.

Such copies are new files for the file system, so that only content tells what they are.  They
are never read as files of their own: a copy supplies the unread end of the one file whose taken
bytes it begins with, and from then on all of it is taken.  A copy that begins with what was taken
of no file, or of several, is refused: its events may have been counted, or not.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from ameles.connectors import compressed
from ameles.connectors.compressed import Damaged, Incomplete
from ameles.connectors.declarations import Declared
from ameles.connectors.durable import SPAN
from ameles.connectors.file_identity import Present, born, opened
from ameles.connectors.lines import BLOCK, LONGEST
from ameles.connectors.marks import Mark
from ameles.core.exceptions import SourceUnreadable, StoreRefused


@dataclass(frozen=True, slots=True)
class Content:
    """What a copy holds, unpacked: edges are those of a mark at some places."""

    file: Present
    whole: Mark  # all of it
    edges: dict[int, tuple[str, str]]
    first: bytes = field(repr=False)  # its first line, if that is short enough
    lines: int  # where its last whole line ends

    def begins_with(self, mark: Mark) -> bool:
        """Whether it begins with what was taken of a file."""
        return self.edges.get(mark.offset) == (mark.head, mark.tail)


@dataclass(frozen=True, slots=True)
class Supply:
    """Bytes of a copy that are still to be read."""

    content: Content
    start: int
    within: bool


@dataclass(slots=True)
class Supplied:
    """What copies are: their marks, what they supply, and the marks that they settle."""

    marks: list[Mark] = field(default_factory=list)
    supplies: list[Supply] = field(default_factory=list)
    settled: list[Mark] = field(default_factory=list)
    problems: list[SourceUnreadable] = field(default_factory=list)


def supply(
    copies: Sequence[Present],
    *,
    cut: Sequence[Mark],
    gone: Sequence[Mark],
    known: Sequence[Mark],
    there: Sequence[Present],
    declared: Callable[[set[str]], Declared],
    first: bool,
) -> Supplied:
    """What some copies are that were not known before.

    ``cut`` and ``gone`` are the marks of files that were cut or are gone, ``known`` those of copies
    that are there, and ``there`` the files that are no copies.  In the ``first`` reading of a
    stream copies are the past, which does not count.
    """
    found = Supplied()
    left = []
    for file in copies:
        try:
            content = measured(file, (mark.offset for mark in [*cut, *gone]))
        except Incomplete:
            continue  # it is still being written
        except Damaged:
            found.problems.append(_damaged(file.file.name))
            continue
        if content.whole.offset:
            left.append(content)
    missing = [mark for mark in gone if mark.rotated]  # which may be compressed now
    for mark in [*cut, *(mark for mark in gone if not mark.rotated)]:
        left = _settle(mark, left, missing, found)
    for content in left:
        said = declared(content.file.names)
        if first or _is_known(content, [*known, *found.marks], missing):
            found.marks.append(content.whole)
        elif said is not None:
            found.marks.append(replace(content.whole, declared=said))
            if said == "new":
                found.supplies.append(Supply(content, 0, within=False))
        elif not _begins_a_file(content, there):
            raise unknown(content.file.file.name)
    return found


def _settle(mark: Mark, left: list[Content], missing: list[Mark], found: Supplied) -> list[Content]:
    """Takes the end of a file from its copy; gives the copies that are left."""
    fresh = [
        content
        for content in left
        if content.begins_with(mark)
        # equal logs have equal copies: there must be one more than those that were taken before
        and sum(other.whole.same_content(content.whole) for other in left)
        > sum(old.same_content(content.whole) for old in missing)
    ]
    if any(not content.whole.same_content(fresh[0].whole) for content in fresh):
        raise unknown(fresh[0].file.file.name)
    if not fresh:
        return left
    found.supplies.append(Supply(fresh[0], mark.taken, mark.within))
    found.marks.append(fresh[0].whole)
    found.settled.append(mark)
    return [content for content in left if content is not fresh[0]]


def _is_known(content: Content, known: Sequence[Mark], missing: list[Mark]) -> bool:
    """Whether a copy is one that was taken: it was compressed, or is being compressed.

    Each copy that is missing is found again once: of equal logs each has a copy of its own.
    """
    name = compressed.without_ending(content.whole.name)
    for mark in known:
        beside = name == compressed.without_ending(mark.name)
        if beside and mark.same_content(content.whole):
            return True
    for mark in missing:
        if mark.same_content(content.whole):
            missing.remove(mark)
            return True
    return False


def _begins_a_file(content: Content, there: Sequence[Present]) -> bool:
    """Whether a file that is there begins with it: then it is being copied, and not cut yet."""
    for file in there:
        if file.status.st_size >= content.whole.offset:
            with opened(file) as handle:
                if content.whole.fits(handle):
                    return True
    return False


def measured(file: Present, places: Iterable[int]) -> Content:
    """Reads a copy once, and keeps what is before some places of it."""
    wanted = sorted({place for place in places if place})
    with opened(file) as handle, unpacking(handle, file.file.name) as stream:
        birth = born(handle)
        head, last, first, length, lines = b"", b"", b"", 0, 0
        tails: dict[int, bytes] = {}
        while piece := stream.read(min(BLOCK, wanted[0] - length) if wanted else BLOCK):
            length += len(piece)
            newline = piece.rfind(b"\n")
            if newline >= 0:
                lines = length - len(piece) + newline + 1
            if len(head) < SPAN:
                head = (head + piece)[:SPAN]
            if len(first) <= LONGEST and b"\n" not in first:
                first = (first + piece)[: LONGEST + 1]
            last = (last + piece)[-SPAN:]
            if wanted and length == wanted[0]:
                tails[wanted.pop(0)] = last
    edges = {
        place: (_digest(head[:place]), _digest(tail))
        for place, tail in {**tails, length: last}.items()
    }
    whole = Mark(
        name=file.file.name,
        device=file.status.st_dev,
        inode=file.status.st_ino,
        born=birth,
        offset=length,
        head=edges[length][0],
        tail=edges[length][1],
        within=last[-1:] not in (b"", b"\n"),
        rotated=True,
    )
    return Content(file, whole, edges, first[: first.find(b"\n") + 1] or first, lines)


def unpacking(handle: int, name: str) -> BinaryIO:
    """What an open copy holds, from its start."""
    raw = os.fdopen(os.dup(handle), "rb")
    raw.seek(0)
    return compressed.unpacked(raw, name) if compressed.is_compressed(name) else raw


def piece_of(stream: BinaryIO, start: int, end: int) -> Callable[[int], bytes]:
    """Reads some bytes of an unpacked file, which can only be read from its start."""
    place = 0

    def read(size: int) -> bytes:
        nonlocal place
        while place < start:
            skipped = len(stream.read(min(BLOCK, start - place)))
            if not skipped:
                return b""
            place += skipped
        piece = stream.read(min(size, end - place))
        place += len(piece)
        return piece

    return read


def _digest(part: bytes) -> str:
    return hashlib.sha256(part).hexdigest()


def unknown(name: str) -> StoreRefused:
    """The error for a copy that cannot be told."""
    return StoreRefused(
        f"The rotated file '{name}' is not the rest of one file that was read.",
        why="it begins with what was read of no file, or of several; so its events may have been "
        "counted before, or missed, as if the log had been rotated twice between two runs",
        tip=f"ameles run --new-file '{name}' to count all of it, or ameles run --same-file "
        f"'{name}' if it was counted; then run more often than the log is rotated",
    )


def _damaged(name: str) -> SourceUnreadable:
    return SourceUnreadable(
        f"The rotated file '{name}' cannot be unpacked.",
        why="it is not what its ending says",
        tip="a file of gzip, zstd or bzip2 that is whole",
    )
