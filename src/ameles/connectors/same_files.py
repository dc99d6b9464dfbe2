"""Which of the files that are there now were taken before, and how far.

A file is what it is by device, inode and birth, whatever its names; links to one file are one.  Its
content can cause a refusal, and never that an event is skipped: ``docs/decisions/files.md`` has all
cases in a table.

A file whose status is as it was when its content was last compared has the same content, and is
not opened again: so a folder of many files costs a look at each.  The status tells every change
but one within a tick of the file system's clock, so only that of a file that had been left alone
for a while is relied on.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

from ameles.connectors import marks
from ameles.connectors.declarations import Declarations, Declared
from ameles.connectors.file_identity import Present, Signature, born, opened
from ameles.connectors.marks import Mark
from ameles.connectors.rotated_copies import Supplied, Supply, measured, supply
from ameles.core.exceptions import AmelesError, SourceUnreadable, StoreRefused

ALONE = 2 * 10**9  # nanoseconds: the coarsest tick of a file system that is in use
_COPIES = 100  # marks of copies that are gone; they may be there again, compressed
LOOKS = 10  # how often files are looked at that change meanwhile

Fits: TypeAlias = Callable[[Mark, int], bool]
Outcome = TypeVar("Outcome")

# What a rotation adds to a name: a number or a date
_ROTATED = re.compile(r"([-._]?\d[-\d_T:.]*)+$")


@dataclass(slots=True)
class Matched:
    """Every file with its mark, and the marks whose files are not there."""

    files: list[tuple[Present, Mark | None]]
    gone: list[Mark]
    problems: list[AmelesError] = field(default_factory=list)  # of files that are left out
    declared_new: list[Present] = field(default_factory=list)
    supplies: list[Supply] = field(default_factory=list)  # ends of files, from their copies

    def declared(self, file: Present, mark: Mark | None) -> Declared:
        """What the owner said about a file, to be kept in its mark."""
        if mark is not None:
            return mark.declared
        return "new" if any(file is one for one in self.declared_new) else None


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
            self._taken = marks.from_json(self._kind, position)
            self._position = position
        return self._taken

    def position(self, taken: list[Mark]) -> str:
        """The position of these marks."""
        self._taken = taken
        self._position = marks.to_json(self._kind, taken)
        return self._position

    def unread(self, position: str) -> str:
        """The position with the same files, none of which was taken; copies stay the past."""
        return self.position(
            [
                mark if mark.rotated or not mark.offset else replace(mark, unread=True)
                for mark in self.taken(position)
            ]
        )

    def match(self, files: Sequence[Present], position: str | None) -> Matched:
        """Gives each file its mark in a position; refuses what cannot be told."""
        taken = self.taken(position)
        return _Matching(self, files, taken, first=position is None).matched()

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


class _Matching:
    """One look at all files."""

    def __init__(
        self, known: SameFiles, files: Sequence[Present], taken: Sequence[Mark], *, first: bool
    ) -> None:
        self._known = known
        self._first = first
        self._supplied = Supplied()
        self._files = files
        self._taken = taken
        self._found: dict[int, Mark] = {}  # by the place of a file
        self._left = {id(mark): mark for mark in taken}
        self._births: dict[int, int | None] = {}
        self._altered: dict[int, list[Mark]] = defaultdict(list)
        self._rotated: set[str] = set()  # families of names in which files were renamed
        self._unread: dict[int, AmelesError] = {}
        self._declared_new: list[Present] = []
        self._inodes: dict[int, list[Mark]] = defaultdict(list)
        self._names: dict[str, list[Mark]] = defaultdict(list)
        for mark in taken:
            self._inodes[mark.inode].append(mark)
            self._names[mark.name].append(mark)

    def matched(self) -> Matched:
        """Every file with its mark."""
        self._recognise()
        self._supply()
        for place, file in enumerate(self._files):
            if place not in self._found and place not in self._unread and not file.copy:
                with self._left_out(place):
                    self._judge(place)
        files = [
            (file, self._found.get(place))
            for place, file in enumerate(self._files)
            if place in self._found or not (file.copy or place in self._unread)
        ]
        problems = [*self._unread.values(), *self._supplied.problems]
        marks = [*self._supplied.marks, *self._gone()]
        return Matched(files, marks, problems, self._declared_new, self._supplied.supplies)

    def _supply(self) -> None:
        """Ends of files that were cut or are gone, from their copies."""
        copies = [
            file
            for place, file in enumerate(self._files)
            if file.copy and place not in self._found and place not in self._unread
        ]
        if not copies:
            return
        altered = {id(mark): mark for some in self._altered.values() for mark in some}
        self._supplied = supply(
            copies,
            cut=[mark for key, mark in altered.items() if key in self._left],
            gone=[mark for key, mark in self._left.items() if key not in altered],
            known=[mark for mark in self._found.values() if mark.rotated],
            empty=[*filter(self._known.watched, [*self._left.values(), *self._found.values()])],
            there=[file for file in self._files if not file.copy],
            declared=self._known.declared,
            first=self._first,
        )
        for mark in self._supplied.settled:
            self._left.pop(id(mark), None)  # one of which nothing was taken may be there

    def _recognise(self) -> None:
        """Files that are certainly those of their marks."""
        claims: list[tuple[int, int, Mark]] = []
        for place, file in enumerate(self._files):
            inode = file.status.st_ino
            some = self._inodes.get(inode, [])
            for mark in some:
                if self._known.unchanged(file, mark):
                    del self._left[id(mark)]
                    self._found[place] = mark
                    break
            if place in self._found:
                continue
            named = self._named(file)
            some = some + [mark for mark in named if mark.first and mark.inode != inode]
            if some:
                with self._left_out(place):
                    claims += self._claims(place, some)
        for _, place, mark in sorted(claims, key=lambda claim: claim[:2]):
            if place not in self._found and id(mark) in self._left:
                self._give(place, mark)

    @contextmanager
    def _left_out(self, place: int) -> Iterator[None]:
        """A file that cannot be opened stops no other; the marks that may be its stay."""
        try:
            yield
        except SourceUnreadable as problem:
            self._unread[place] = problem

    def _named(self, file: Present) -> list[Mark]:
        """The marks that have a name of a file."""
        return [mark for link in file.links for mark in self._names.get(link.name, ())]

    def _claims(self, place: int, some: list[Mark]) -> Iterator[tuple[int, int, Mark]]:
        file = self._files[place]
        with opened(file) as handle:
            birth = self._births[place] = born(handle)
            for mark in some:
                rank = _rank(file, birth, mark)
                if rank is None:
                    continue
                if self._same_content(file, birth, mark, handle):
                    yield rank, place, mark
                elif mark.device == file.status.st_dev and mark.inode == file.status.st_ino:
                    self._altered[place].append(mark)

    def _same_content(self, file: Present, birth: int | None, mark: Mark, handle: int) -> bool:
        """Whether a file has what was taken; a copy is known by its birth, or it is unpacked."""
        if not mark.rotated:
            return self._known.fits(mark, handle)
        told = birth is not None and mark.born is not None
        return told or measured(file, ()).whole.same_content(mark)

    def _give(self, place: int, mark: Mark, declared: Declared = None) -> None:
        """This file is that of this mark."""
        file = self._files[place]
        del self._left[id(mark)]
        if mark.name not in file.names:
            self._rotated.add(_family(mark.name))
        self._found[place] = mark = self._brought_up(place, mark, declared)
        self._known.compared(file, mark)

    def _brought_up(self, place: int, mark: Mark, declared: Declared) -> Mark:
        """The mark with what its file is called and known by now."""
        file, birth = self._files[place], self._births.get(place)
        now = replace(
            mark,
            name=mark.name if mark.name in file.names else file.file.name,
            device=file.status.st_dev,
            inode=file.status.st_ino,
            born=mark.born if birth is None and declared is None else birth,
            declared=declared or mark.declared,
            digest=mark.digest if declared is None else None,  # another file, said to be the same
            first=False,
        )
        return mark if now == mark else now

    def _judge(self, place: int) -> None:
        """A file that no mark is certainly about is new, or it is refused."""
        file = self._files[place]
        some = self._possible(place)
        if not some:
            return
        with opened(file) as handle:
            birth = self._births[place] = born(handle)
            fitting = [mark for mark in some if mark.offset and self._known.fits(mark, handle)]
            unsure = [
                mark
                for mark in some
                if self._in_question(place, mark, birth, handle, fits=mark in fitting)
            ]
        if not unsure:
            return
        said = self._known.declared(file.names)
        if said == "new":
            self._declared_new.append(file)
            self._let_go(unsure, file)
            return
        known = [mark for mark in unsure if mark in fitting]
        same = known or [mark for mark in unsure if not mark.offset]
        if said == "same" and same:
            self._give(place, max(same, key=lambda mark: mark.offset), "same")
            return
        name = file.file.name
        raise self._known.refusal(name, some=unsure, known=known)

    def _let_go(self, some: list[Mark], file: Present) -> None:
        """These marks are not about this file: what was its inode is gone, and the name its own."""
        for mark in some:
            del self._left[id(mark)]
            if (mark.device, mark.inode) != (file.status.st_dev, file.status.st_ino):
                nameless = replace(mark, name="")
                self._left[id(nameless)] = nameless

    def _possible(self, place: int) -> list[Mark]:
        """The marks of missing files that this one could be."""
        file = self._files[place]
        some = {id(mark): mark for mark in self._inodes.get(file.status.st_ino, ())}
        some |= {id(mark): mark for mark in self._named(file)}
        some |= {key: mark for key, mark in self._left.items() if mark.first}
        return [mark for key, mark in some.items() if key in self._left]

    def _in_question(
        self, place: int, mark: Mark, birth: int | None, handle: int, *, fits: bool
    ) -> bool:
        """Whether a file may be that of a mark, though this is not certain."""
        file = self._files[place]
        told = birth is not None and mark.born is not None  # by their births
        if mark in self._altered[place]:  # and they are the same, or one is unknown
            return told or mark.name in file.names or mark.begins(handle)
        if mark.name in file.names:
            return fits or _family(mark.name) not in self._rotated
        if mark.first:
            return fits and mark.offset > self._known.start(handle)
        return fits and not told and mark.device != file.status.st_dev

    def _gone(self) -> list[Mark]:
        """The marks to keep of files that are not there.

        One can go if its inode is another file's and its name too: nothing brings it back.
        """
        if not self._left:
            return []
        copies = [key for key, mark in self._left.items() if mark.rotated]
        for key in copies[:-_COPIES]:
            del self._left[key]
        read = [file for place, file in enumerate(self._files) if place not in self._unread]
        inodes = {(file.status.st_dev, file.status.st_ino) for file in read}
        names = {link.name for file in read for link in file.links} | {""}
        return [
            replace(mark, first=False) if mark.first else mark
            for mark in self._left.values()
            if (mark.device, mark.inode) not in inodes or mark.name not in names
        ]


def _rank(file: Present, birth: int | None, mark: Mark) -> int | None:
    """How sure it is that a file is that of a mark, if its content fits; 0 is surest."""
    named, here = mark.name in file.names, mark.device == file.status.st_dev
    if mark.inode != file.status.st_ino:
        return 4 if named and mark.first else None  # version 1 went by content alone
    if birth is not None and mark.born is not None and birth != mark.born:
        return None
    if here:
        return 0 if named else 2
    if named:
        return 1
    return 3 if birth is not None and birth == mark.born else None


def _family(name: str) -> str:
    """A name without what a rotation adds to it.

    >>> _family("log.csv.1"), _family("log.csv-20260101"), _family("log.csv")
    ('log.csv', 'log.csv', 'log.csv')
    """
    return _ROTATED.sub("", name)


def settled(look: Callable[[], list[Present]], work: Callable[[list[Present]], Outcome]) -> Outcome:
    """What is said of files that hold still: those that change meanwhile are listed again."""
    for _ in range(LOOKS):
        files = look()
        try:
            return work(files)
        except AmelesError as refusal:
            problem = refusal
        if _listing(files) == _listing(look()):
            break
    raise problem


def _listing(files: list[Present]) -> set[tuple[Signature, str]]:
    return {(file.signature, link.name) for file in files for link in file.links}


def replaced(
    name: str, *, unread: bool = False, copies: bool = False, grows: bool = True
) -> StoreRefused:
    """The error for a file that is no longer the one that was taken, or, if ``unread``, that was
    there at the launch; ``copies``: the plan has ``rotated``; ``grows``: the file may get more."""
    copytruncate = 'rotated = "events.csv.*" in the plan'
    if copies:
        copytruncate = "its copy, as long as its rest was not read, under a name that rotated in "
        copytruncate += "the plan matches: none that is there begins with what the file had"
    counted = "if none of its events was counted before,"
    back = (
        "put the file back as it was and only append to it; for files that are rotated, a source "
        'such as "events.csv*", which also matches their old names; for copytruncate, '
        f"{copytruncate}"
    )
    if not grows:
        back = "put the file back as it was, and new events into a file of their own"
    return StoreRefused(
        f"The file '{name}' was replaced or {'cut' if grows else 'changed'} since "
        + ("the launch." if unread else "it was last read."),
        why=(
            "what it had then was not counted yet, and is not there"
            if unread
            else "which of its events were counted before can no longer be told"
        )
        + ("" if grows else "; a compressed file, or one of Parquet, must not change"),
        tip=f"{back}; {'without what is lost,' if unread else counted} "
        f"ameles run --new-file '{name}' counts all of it",
    )


def copied(name: str, *, unread: bool = False) -> StoreRefused:
    """The error for a file that begins like one that was taken, and is another one."""
    return StoreRefused(
        f"The file '{name}' begins with what "
        + ("was there at the launch" if unread else "was read before")
        + ", but is another file.",
        why="a file is known by its device and inode, and these are new: it may be the old file, "
        "copied or restored, or a new one whose events all count",
        tip=f"ameles run --same-file '{name}' to go on where the old file ended, or "
        f"ameles run --new-file '{name}' to count all of it",
    )
