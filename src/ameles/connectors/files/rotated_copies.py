"""Copies of files that were then truncated or compressed; ``rotated`` in a plan names them.

Such copies are new files for the file system, so only their content tells what they are.  They are
never read as files of their own: a copy supplies the unread end of the one file whose read bytes it
begins with, and from then on all of the copy counts as read.  If it begins with the read bytes of
no file, or of several, it is refused: its events may have been counted or not.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from ameles.connectors.declarations import Declared
from ameles.connectors.durable import SPAN
from ameles.connectors.files import compressed
from ameles.connectors.files.compressed import Damaged, Incomplete
from ameles.connectors.files.copy_pairs import pairs_of
from ameles.connectors.files.file_marks import Mark
from ameles.connectors.files.identity import Present, born, opened
from ameles.connectors.files.refusals import damaged, unknown
from ameles.connectors.files.whole_digest import Running, whole_digest
from ameles.connectors.text.lines import BLOCK, LONGEST
from ameles.core.exceptions import SourceUnreadable


@dataclass(frozen=True, slots=True)
class Content:
    """The decompressed content of a copy; edges are the digests that a mark has, at some
    offsets."""

    file: Present
    whole: Mark  # the mark at its end
    edges: dict[int, tuple[str, str, str]]
    first: bytes = field(repr=False)  # its first line, if that is short enough
    lines: int  # where its last whole line ends

    def begins_with(self, mark: Mark) -> bool:
        """Whether it begins with what was taken of a file."""
        edges = self.edges.get(mark.offset)
        if edges is None or edges[:2] != (mark.head, mark.tail):
            return False
        return mark.digest is None or edges[2] == mark.digest

    def beside(self, mark: Mark) -> bool:
        """Whether a copy of the same name, apart from the ending of a compression, has the same
        content."""
        name, other = self.whole.name, mark.name
        if compressed.without_ending(name) != compressed.without_ending(other):
            return False
        return mark.same_content(self.whole)


@dataclass(frozen=True, slots=True)
class Supply:
    """The bytes of a copy that are still unread."""

    content: Content
    start: int
    within: bool


@dataclass(slots=True)
class Supplied:
    """The marks of copies, what the copies supply, and the marks of files that are thereby settled.

    ``uncut`` are copies with the files that begin with them, and so seem not to be truncated yet.
    """

    marks: list[Mark] = field(default_factory=list)
    supplies: list[Supply] = field(default_factory=list)
    settled: list[Mark] = field(default_factory=list)
    uncut: list[tuple[Content, list[Present]]] = field(default_factory=list)
    problems: list[SourceUnreadable] = field(default_factory=list)


def supply(
    copies: Sequence[Present],
    *,
    cut: Sequence[Mark],
    gone: Sequence[Mark],
    known: Sequence[Mark],
    empty: Sequence[Mark],
    there: Sequence[Present],
    declared: Callable[[set[str]], Declared],
    first: bool,
) -> Supplied:
    """Finds out to which files new copies belong.

    ``cut`` and ``gone`` are the marks of files that were truncated or are gone.  ``known`` are the
    marks of copies that exist.  ``empty`` are the marks of files, gone or not, of which nothing was
    read while the same copies were looked for.  ``there`` are the files that are not copies.  In
    the ``first`` reading of a stream, copies belong to the past, which does not count.
    """
    supplied = Supplied()
    begun = [mark for mark in gone if mark.offset and not mark.rotated]
    everything = list(_contents(copies, [*cut, *begun], supplied))
    contents = [content for content in everything if content.whole.offset]
    if first:
        supplied.marks += [content.whole for content in contents]
        return supplied
    missing = [mark for mark in gone if mark.rotated]  # they may be compressed now
    taken, left, twins = [*known, *missing], list[Content](), list[Content]()
    again = list[Content]()
    for content in contents:
        if any(content.beside(mark) for mark in known):
            supplied.marks.append(content.whole)
        elif declared(content.file.names) != "new" and _found_again(content, missing):
            supplied.marks.append(content.whole)
            again.append(content)
        elif any(content.beside(other.whole) for other in left):
            twins.append(content)
        else:
            left.append(content)
    left = _settle(cut, begun, left, supplied, declared)
    _check_again(again, begun, supplied, declared)
    strays, waiting = list[Content](), len(everything) - len(contents)
    for content in left:
        said = declared(content.file.names)
        if said is not None:
            supplied.marks.append(replace(content.whole, declared=said))
            if said == "new":
                supplied.supplies.append(Supply(content, 0, within=False))
        elif files := [file for file in there if _begins(file, content.whole)]:
            supplied.uncut.append((content, files))
            waiting += 1
        else:
            strays.append(content)
    # a copy without events may be all that a missing file had
    supplied.settled += empty[len(strays) : len(strays) + waiting]
    if strays:
        settled = {id(mark) for mark in supplied.settled}
        lacking = any(id(mark) not in settled for mark in cut)
        _fill(strays, [] if lacking else empty, taken, supplied)
    supplied.marks += [
        twin.whole for twin in twins if any(twin.beside(mark) for mark in supplied.marks)
    ]
    return supplied


def _contents(
    copies: Sequence[Present], marks: Sequence[Mark], supplied: Supplied
) -> Iterator[Content]:
    """The contents of some copies, without those that are still being written."""
    for file in copies:
        try:
            content = measured(file, (mark.offset for mark in marks))
        except Incomplete:
            continue
        except Damaged:
            supplied.problems.append(damaged(file.file.name))
            continue
        yield content


def _settle(
    cut: Sequence[Mark],
    gone: Sequence[Mark],
    left: list[Content],
    supplied: Supplied,
    declared: Callable[[set[str]], Declared],
) -> list[Content]:
    """Takes the ends of files from their copies; returns the remaining copies."""
    pairs, unsure = pairs_of(cut, gone, left)
    if unsure is not None:
        rest = [content for content in left if declared(content.file.names) is None]
        pairs, unsure = pairs_of(cut, gone, rest)
    if unsure is not None:
        raise unknown(unsure.file.file.name)
    for mark, content in pairs:
        supplied.supplies.append(Supply(content, mark.taken, mark.within))
        supplied.marks.append(content.whole)
        supplied.settled.append(mark)
    used = {id(content) for _, content in pairs}
    return [content for content in left if id(content) not in used]


def _fill(
    strays: Sequence[Content], empty: Sequence[Mark], taken: Sequence[Mark], supplied: Supplied
) -> None:
    """Assigns copies that begin with the read bytes of no file to files of which nothing was read.

    There must be one copy for each such file, and none may be a copy of a copy.
    """
    for place, content in enumerate(strays):
        if place == len(empty) or any(mark.same_content(content.whole) for mark in taken):
            raise unknown(content.file.file.name)
        supplied.supplies.append(Supply(content, 0, within=False))
        supplied.marks.append(content.whole)
        supplied.settled.append(empty[place])


def _found_again(content: Content, missing: list[Mark]) -> bool:
    """Whether this is a copy that was read and is missing, because it was compressed.

    Each missing copy is found again once: equal logs have a copy each.
    """
    for mark in missing:
        if mark.same_content(content.whole):
            missing.remove(mark)
            return True
    return False


def _check_again(
    again: Sequence[Content],
    gone: Sequence[Mark],
    supplied: Supplied,
    declared: Callable[[set[str]], Declared],
) -> None:
    """Refuses a copy that may be one that was read, or the rest of a missing file."""
    settled = {id(mark) for mark in supplied.settled}
    unsettled = [mark for mark in gone if id(mark) not in settled]
    for content in again:
        fits = any(content.begins_with(mark) for mark in unsettled)
        if fits and declared(content.file.names) != "same":
            raise unknown(content.file.file.name)


def _begins(file: Present, whole: Mark) -> bool:
    """Whether a present file begins with all of a copy."""
    if file.status.st_size < whole.offset:
        return False
    with opened(file) as handle:
        return whole.fits(handle) and whole_digest(handle, whole.offset) == whole.digest


def measured(file: Present, places: Iterable[int]) -> Content:
    """Reads a copy once, and keeps the digests at some offsets."""
    wanted = sorted({place for place in places if place})
    with opened(file) as handle, unpacking(handle, file.file.name) as stream:
        birth = born(handle)
        head, last, first, length, lines = b"", b"", b"", 0, 0
        tails: dict[int, tuple[bytes, str]] = {}
        running = Running()
        while piece := stream.read(min(BLOCK, wanted[0] - length) if wanted else BLOCK):
            length += len(piece)
            running.update(piece)
            newline = piece.rfind(b"\n")
            if newline >= 0:
                lines = length - len(piece) + newline + 1
            if len(head) < SPAN:
                head = (head + piece)[:SPAN]
            if len(first) <= LONGEST and b"\n" not in first:
                first = (first + piece)[: LONGEST + 1]
            last = (last + piece)[-SPAN:]
            if wanted and length == wanted[0]:
                tails[wanted.pop(0)] = last, running.digest()
    edges = {
        place: (_digest(head[:place]), _digest(tail), digest)
        for place, (tail, digest) in {**tails, length: (last, running.digest())}.items()
    }
    whole = Mark(
        name=file.file.name,
        device=file.status.st_dev,
        inode=file.status.st_ino,
        born=birth,
        offset=length,
        head=edges[length][0],
        tail=edges[length][1],
        digest=edges[length][2],
        within=last[-1:] not in (b"", b"\n"),
        rotated=True,
    )
    return Content(file, whole, edges, first[: first.find(b"\n") + 1] or first, lines)


def unpacking(handle: int, name: str) -> BinaryIO:
    """The decompressed content of an open copy, from its start."""
    raw = os.fdopen(os.dup(handle), "rb")
    raw.seek(0)
    return compressed.unpacked(raw, name) if compressed.is_compressed(name) else raw


def piece_of(stream: BinaryIO, start: int, end: int) -> Callable[[int], bytes]:
    """Reads the bytes from ``start`` to ``end`` of a stream that can only be read from its
    start."""
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
