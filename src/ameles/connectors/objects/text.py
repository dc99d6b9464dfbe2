"""Objects of text: their lines are events, also the last one, since an object is complete."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import BinaryIO, TypeVar

from ameles.connectors.files.compressed import Damaged, Incomplete, is_compressed, unpacked
from ameles.connectors.files.compressed_source import damaged
from ameles.connectors.objects.object_store import ObjectPattern, ObjectReader, StoredObject
from ameles.connectors.reading import Piece
from ameles.connectors.text.dialect import Dialect, Start, check_start, start_of
from ameles.connectors.text.line_blocks import LinesOfFile
from ameles.connectors.text.lines import LONGEST, blocks

Outcome = TypeVar("Outcome")


@dataclass(frozen=True, slots=True)
class TextObjects:
    """The objects of text that a pattern names."""

    place: ObjectPattern
    dialect: Dialect

    def names(self, each: StoredObject) -> Sequence[str]:
        """The columns of an object."""
        return self._start(each).names

    def pieces(self, each: StoredObject) -> tuple[Piece, ...]:
        """All lines of an object; refuses one without a column of the plan."""
        if not each.size:
            return ()
        start, packed = self._start(each), is_compressed(each.name)
        begin, end = (0, each.size) if packed else (start.body, each.size)
        return (ObjectLines(self.dialect, self.place, each, start, begin, end),)

    def _start(self, each: StoredObject) -> Start:
        """What its first bytes say."""
        head = b""
        with opened(self.place, each) as stream:

            def head_of(size: int) -> bytes:
                nonlocal head
                head += stream.read(size - len(head))
                return head

            start = _whole(each, lambda: start_of(self.dialect, head_of, each.name))
        check_start(self.dialect, start, each.name)
        return start


@dataclass(frozen=True, slots=True, repr=False)
class ObjectLines(LinesOfFile):
    """The lines of an object from one byte to another; all of them if it is compressed."""

    dialect: Dialect
    place: ObjectPattern
    each: StoredObject
    start: Start
    begin: int
    end: int

    def __repr__(self) -> str:
        return "<ObjectLines>"

    @property
    def size(self) -> int:
        return self.end - self.begin

    def cut(self, size: int) -> tuple[ObjectLines, ...]:
        if is_compressed(self.each.name) or self.size <= size:
            return (self,)
        starts = [self.begin, *self._line_starts(size), self.end]
        return tuple(replace(self, begin=begin, end=end) for begin, end in pairwise(starts))

    def _line_starts(self, size: int) -> Iterator[int]:
        """Where lines begin, about ``size`` bytes apart."""
        script, place = self.start.script, self.begin + self.start.script.whole(size)
        while place < self.end:
            some = self.place.read(self.each, place, min(place + LONGEST, self.end))
            after = script.after_first_newline(some)
            if after and place + after < self.end:
                yield place + after
                place += after + script.whole(size)
            else:  # inside a line that is too long, or the last one
                place += script.whole(LONGEST)

    @property
    def names(self) -> tuple[str, ...]:
        return self.start.names

    def blocks(self) -> Iterator[bytes]:
        tally = self.dialect.tally
        if tally is not None:
            tally.opened(self.each.name, 2 if self.dialect.header else 1)
        with opened(self.place, self.each, self.begin, self.end) as stream:
            if is_compressed(self.each.name):
                _whole(self.each, lambda: stream.read(self.start.body))

            def read(size: int) -> bytes:
                return _whole(self.each, lambda: stream.read(size))

            yield from blocks(read, script=self.start.script, tally=tally)


def opened(
    place: ObjectPattern, each: StoredObject, begin: int = 0, end: int | None = None
) -> BinaryIO:
    """The bytes of an object, decompressed if its ending says so."""
    raw = ObjectReader(place, each, begin, each.size if end is None else end)
    stream = io.BufferedReader(raw)
    return unpacked(stream, each.name, each.size) if is_compressed(each.name) else stream


def _whole(each: StoredObject, work: Callable[[], Outcome]) -> Outcome:
    """What some work on an object gives; an object is complete, so one that ends early is
    damaged."""
    try:
        return work()
    except (Incomplete, Damaged):
        pass
    raise damaged(each.name)
