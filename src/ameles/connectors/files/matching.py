"""Finds which of the present files were read before, and how far.

The identity of a file is its device, inode and birth time, whatever its names; several links to a
file are one file.  Its content can cause a refusal, but never a skipped event:
``docs/decisions/files.md`` has all cases in a table.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from ameles.connectors.declarations import Declared
from ameles.connectors.files.claims import brought_up, family, kept_marks, rank
from ameles.connectors.files.file_marks import Mark
from ameles.connectors.files.identity import Present, birth_of, born, opened
from ameles.connectors.files.refusals import uncut
from ameles.connectors.files.rotated_copies import Content, Supplied, Supply, measured, supply
from ameles.connectors.files.same_files import SameFiles
from ameles.core.exceptions import AmelesError, SourceUnreadable

UNCUT = 60 * 10**9  # longest time between a copy and the truncation of its original, in nanoseconds


@dataclass(slots=True)
class Matched:
    """The mark of every file, in the order of the files, and the marks whose files are gone."""

    marks: list[Mark | None]
    open: list[tuple[int, Present]]  # the files that may have something to read, by their places
    gone: list[Mark]
    problems: list[AmelesError] = field(default_factory=list)  # one for each file that is left out
    declared_new: list[Present] = field(default_factory=list)
    supplies: list[Supply] = field(default_factory=list)  # ends of files, from their copies
    held: list[Present] = field(default_factory=list)  # files of which nothing is taken for now

    def declared(self, file: Present, mark: Mark | None) -> Declared:
        """What the owner said about a file, to be kept in its mark."""
        if mark is not None:
            return mark.declared
        return "new" if file in self.declared_new else None

    def taken(self) -> list[Mark]:
        """All marks, for the position of a reading."""
        return [*filter(None, self.marks), *self.gone]


def match(known: SameFiles, files: Sequence[Present], position: str | None) -> Matched:
    """Gives each file its mark in a position; refuses a file whose mark is not certain."""
    taken = known.taken(position)  # first: another position knows no finished files
    return _Matching(known, files, taken, first=position is None).matched()


class _Matching:
    """One matching of all present files with their marks."""

    def __init__(
        self, known: SameFiles, files: Sequence[Present], taken: Sequence[Mark], *, first: bool
    ) -> None:
        self._known = known
        self._first = first
        self._supplied = Supplied()
        self._files = files
        # By the place of a file.  Most files are as the last reading left them, so there is only
        # this line for each of them.
        self._marks = [*map(known.finished.get, files)]
        self._open = [place for place, mark in enumerate(self._marks) if mark is None]
        given = {*map(id, self._marks)}
        self._left = {id(mark): mark for mark in taken if id(mark) not in given}
        self._births: dict[int, int | None] = {}
        self._altered: dict[int, list[Mark]] = defaultdict(list)
        self._rotated: set[str] = set()  # families of names in which files were renamed
        self._unread: dict[int, AmelesError] = {}
        self._hidden: set[int] = set()  # marks of files that cannot be opened; they fit no other
        self._declared_new: list[Present] = []
        self._held: list[Present] = []
        self._inodes: dict[int, list[Mark]] = defaultdict(list)
        self._names: dict[str, list[Mark]] = defaultdict(list)

    def matched(self) -> Matched:
        """Every file with its mark."""
        self._recognise()
        self._supply()
        for place in self._open:
            if self._may_be_new(place) and not self._files[place].copy:
                with self._left_out(place):
                    self._judge(place)
        self._known.finish(self._files, self._marks, self._open)
        some = [(place, self._files[place]) for place in self._open if self._readable(place)]
        problems = [*self._unread.values(), *self._supplied.problems]
        gone = [*self._supplied.marks, *self._gone()]
        supplies = self._supplied.supplies
        return Matched(self._marks, some, gone, problems, self._declared_new, supplies, self._held)

    def _may_be_new(self, place: int) -> bool:
        """Whether a file has no mark so far, and can be read."""
        return self._marks[place] is None and place not in self._unread

    def _readable(self, place: int) -> bool:
        """Whether a file has a mark, or is new and not a copy of another."""
        new = self._may_be_new(place) and not self._files[place].copy
        return new or self._marks[place] is not None

    def _supply(self) -> None:
        """Finds the unread ends of files that were truncated or are gone in their copies."""
        copies = [
            self._files[place]
            for place in self._open
            if self._may_be_new(place) and self._files[place].copy
        ]
        if not copies:
            return
        self._supplied = self._from_copies(copies)
        if self._cut_again():
            self._supplied = self._from_copies(copies)
        for mark in self._supplied.settled:
            self._left.pop(id(mark), None)  # the file of an empty mark may still exist

    def _from_copies(self, copies: Sequence[Present]) -> Supplied:
        altered = {id(mark): mark for some in self._altered.values() for mark in some}
        found = [*filter(None, self._marks)]
        return supply(
            copies,
            cut=[mark for key, mark in altered.items() if key in self._left],
            gone=[mark for key, mark in self._left.items() if key not in altered],
            known=[mark for mark in found if mark.rotated],
            empty=[*filter(self._known.watched, [*self._left.values(), *found])],
            there=[file for file in self._files if not file.copy],
            declared=self._known.declared,
            first=self._first,
        )

    def _cut_again(self) -> bool:
        """Whether the owner declares that a log was truncated although it begins like its copy.

        Such a log may be about to be truncated; or it was truncated and has received the same lines
        again, which all count.  Its content does not tell which, so nothing is taken of it until it
        is truncated.  If that takes longer than a rotation does, it is refused.
        """
        said = False
        for content, files in self._supplied.uncut:
            for file in files:
                place = self._files.index(file)
                mark = self._marks[place]
                if place in self._unread or not self._may_be_cut(file, mark, content):
                    continue
                if mark is not None and self._known.declared(file.names) == "new":
                    self._marks[place] = None
                    self._open = sorted({*self._open, place})
                    self._left[id(mark)] = mark
                    self._altered[place].append(mark)
                    said = True
                elif time.time_ns() - content.file.status.st_ctime_ns < UNCUT:
                    self._held.append(file)
                else:
                    raise uncut(content.file.file.name, file.file.name)
        return said

    def _may_be_cut(self, file: Present, mark: Mark | None, content: Content) -> bool:
        """Whether a copy, which the file begins with, has events and all that was taken of the
        file."""
        if mark is not None and mark.offset > content.whole.offset:
            return False
        with opened(file) as handle:
            return content.lines > self._known.start(handle)

    def _recognise(self) -> None:
        """Gives marks to the files that certainly belong to them."""
        claims: list[tuple[int, int, Mark]] = []
        asked, self._open = self._open, []
        for mark in self._left.values():
            self._inodes[mark.inode].append(mark)
            self._names[mark.name].append(mark)
        for place in asked:
            file = self._files[place]
            inode = file.status.st_ino
            some = self._inodes.get(inode, [])
            same = next((mark for mark in some if self._known.unchanged(file, mark)), None)
            if same is not None:
                del self._left[id(same)]
                self._marks[place] = same
                if not self._known.ended(file, same):
                    self._open.append(place)
                continue
            self._open.append(place)
            old = [mark for mark in self._named(file) if mark.first and mark.inode != inode]
            if some := some + old:
                with self._left_out(place):
                    claims += self._claims(place, some)
        for _, place, mark in sorted(claims, key=lambda claim: claim[:2]):
            if self._marks[place] is None and id(mark) in self._left:
                self._give(place, mark)

    @contextmanager
    def _left_out(self, place: int) -> Iterator[None]:
        """Leaves out a file that cannot be opened, and keeps the marks that may belong to it."""
        try:
            yield
        except SourceUnreadable as problem:
            self._unread[place] = problem
            file, some = self._files[place], self._inodes.get(self._files[place].status.st_ino, ())
            birth = birth_of(file) if some else None
            self._hidden |= {
                id(mark)
                for mark in some
                if birth is not None and (mark.device, mark.born) == (file.status.st_dev, birth)
            }

    def _named(self, file: Present) -> list[Mark]:
        """The marks that have one of the file's names."""
        return [mark for link in file.links for mark in self._names.get(link.name, ())]

    def _claims(self, place: int, some: list[Mark]) -> Iterator[tuple[int, int, Mark]]:
        file = self._files[place]
        with opened(file) as handle:
            birth = self._births[place] = born(handle)
            for mark in some:
                certainty = rank(file, birth, mark)
                if certainty is None:
                    continue
                if self._same_content(file, birth, mark, handle):
                    yield certainty, place, mark
                elif mark.device == file.status.st_dev and mark.inode == file.status.st_ino:
                    self._altered[place].append(mark)

    def _same_content(self, file: Present, birth: int | None, mark: Mark, handle: int) -> bool:
        """Whether a file has what was taken.  A copy is recognised by its birth time; otherwise it
        is decompressed and compared."""
        if not mark.rotated:
            return self._known.fits(mark, handle)
        told = birth is not None and mark.born is not None
        return told or measured(file, ()).whole.same_content(mark)

    def _give(self, place: int, mark: Mark, declared: Declared = None) -> None:
        """Records that this file belongs to this mark."""
        file = self._files[place]
        del self._left[id(mark)]
        if declared == "same" and mark.born is not None and (mark.device, mark.inode) != file.inode:
            # the file that was read before may come back under any name, and must not count again
            nameless = replace(mark, name="")
            self._left[id(nameless)] = nameless
        if mark.name not in file.names:
            self._rotated.add(family(mark.name))
        mark = brought_up(mark, file, self._births.get(place), declared)
        self._marks[place] = mark
        self._known.compared(file, mark)

    def _judge(self, place: int) -> None:
        """Takes a file without a certain mark as new, or refuses it."""
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
        """Records that these marks do not belong to this file: it has reused their inode, and its
        name is its own."""
        for mark in some:
            del self._left[id(mark)]
            if (mark.device, mark.inode) != (file.status.st_dev, file.status.st_ino):
                nameless = replace(mark, name="")
                self._left[id(nameless)] = nameless

    def _possible(self, place: int) -> list[Mark]:
        """The marks of missing files that could belong to this file."""
        file = self._files[place]
        some = {id(mark): mark for mark in self._inodes.get(file.status.st_ino, ())}
        some |= {id(mark): mark for mark in self._named(file)}
        some |= {key: mark for key, mark in self._left.items() if mark.first}
        return [mark for key, mark in some.items() if key in self._left.keys() - self._hidden]

    def _in_question(
        self, place: int, mark: Mark, birth: int | None, handle: int, *, fits: bool
    ) -> bool:
        """Whether a file possibly, but not certainly, belongs to a mark."""
        file = self._files[place]
        told = birth is not None and mark.born is not None  # their birth times decide
        if mark in self._altered[place]:  # the birth times are equal, or one is unknown
            return told or mark.name in file.names or mark.begins(handle)
        if mark.name in file.names:
            return fits or family(mark.name) not in self._rotated
        if mark.first:
            return fits and mark.offset > self._known.start(handle)
        return fits and not told and mark.device != file.status.st_dev

    def _gone(self) -> list[Mark]:
        if not self._left:
            return []
        read = [file for place, file in enumerate(self._files) if place not in self._unread]
        return kept_marks(self._left.values(), read)
