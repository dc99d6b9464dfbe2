"""How far a file was taken, and what it looked like there.

A file is its device, its inode and its birth (``file_identity.py``); the digests of the first and
the last bytes that were taken tell whether it still has them.  A text file may grow, and its old
bytes must stay.  A Parquet file never changes.

What is there when a stream is launched gets marks as if it had been taken, which say that it was
not: so a file that is cut before it is first read is known by what it had.

The mark of a file that is gone stays: a disk that is mounted again or a file that is moved back
brings it back, and without its mark its events would be counted twice.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from ameles.connectors.declarations import Declared
from ameles.connectors.durable import SPAN
from ameles.connectors.encodings import UTF_8, Script
from ameles.connectors.file_identity import born
from ameles.connectors.whole_digest import is_digest, whole_digest
from ameles.core import codec
from ameles.core.exceptions import StoreRefused

VERSION = 3
_FOOTER = 16 << 20  # bytes of a Parquet footer that are digested at the most
_FIRST = ("name", "device", "inode", "offset", "head", "tail", "within")
_SECOND = (*_FIRST, "born", "declared", "rotated")
_FIELDS = (*_SECOND, "unread")
_OF_VERSION = {1: _FIRST, 2: _SECOND, VERSION: _FIELDS}


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One file, taken up to ``offset``, or, if ``unread``, only seen to go so far."""

    name: str
    device: int
    inode: int
    born: int | None
    offset: int
    head: str
    tail: str
    within: bool  # the last line that was taken had no newline yet
    declared: Declared = None  # what the owner said when the file could not be told
    rotated: bool = False  # a copy of a file that was cut or compressed, all of which was taken
    unread: bool = False  # it was there at the launch; nothing of it was taken yet
    digest: str | None = None  # of all that was taken, where copies are looked for
    first: bool = field(default=False, repr=False)  # of a position of version 1

    @classmethod
    def of(
        cls,
        handle: int,
        name: str,
        offset: int,
        declared: Declared = None,
        script: Script = UTF_8,
    ) -> Self:
        """An open text file, taken up to here."""
        status = os.fstat(handle)
        head, tail, last = _edges(handle, offset)
        whole = last.endswith(script.newline) and offset == script.whole(offset)
        return cls(
            name=name,
            device=status.st_dev,
            inode=status.st_ino,
            born=born(handle),
            offset=offset,
            head=head,
            tail=tail,
            within=offset > 0 and not whole,
            declared=declared,
        )

    @classmethod
    def of_parquet(cls, handle: int, name: str, declared: Declared = None) -> Self:
        """A whole open Parquet file, by its size and its footer, which describes all of it."""
        status = os.fstat(handle)
        size = status.st_size
        length = int.from_bytes(os.pread(handle, 4, max(0, size - 8)), "little")
        start = max(0, size - 8 - min(length, _FOOTER))
        return cls(
            name=name,
            device=status.st_dev,
            inode=status.st_ino,
            born=born(handle),
            offset=size,
            head=_digest(os.pread(handle, min(SPAN, size), 0)),
            tail=_digest(os.pread(handle, size - start, start)),
            within=False,
            declared=declared,
        )

    @property
    def taken(self) -> int:
        """How far its events were taken."""
        return 0 if self.unread else self.offset

    def fits(self, handle: int) -> bool:
        """Whether an open text file has the bytes that were taken."""
        if os.fstat(handle).st_size < self.offset:
            return False
        return _edges(handle, self.offset)[:2] == (self.head, self.tail)

    def begins(self, handle: int) -> bool:
        """Whether an open file has the first of the bytes that were taken."""
        start = os.pread(handle, min(SPAN, self.offset), 0)
        return len(start) == min(SPAN, self.offset) and _digest(start) == self.head

    def fits_parquet(self, handle: int) -> bool:
        """Whether an open file is the Parquet file that was taken."""
        now = Mark.of_parquet(handle, self.name)
        return (now.offset, now.head, now.tail) == (self.offset, self.head, self.tail)

    def same_content(self, other: Mark) -> bool:
        """Whether two marks are about the same bytes."""
        here, there = (self.offset, self.head, self.tail), (other.offset, other.head, other.tail)
        return here == there and (
            None in (self.digest, other.digest) or self.digest == other.digest
        )

    @property
    def compared_whole(self) -> bool:
        """Whether its digests are about every byte that was taken."""
        return self.digest is not None or self.offset <= 2 * SPAN

    def digested(self, handle: int, before: Mark | None = None) -> Self:
        """With the digest of all that was taken of an open file; ``before`` is a mark at less."""
        known = None
        if before is not None and before.digest is not None and before.offset <= self.offset:
            known = before.offset, before.digest
        return replace(self, digest=whole_digest(handle, self.offset, known))

    @cached_property
    def json(self) -> str:
        """For a position; made once, since most files of many do not change."""
        fields = {name: getattr(self, name) for name in _FIELDS}
        if self.digest is not None:
            fields["digest"] = self.digest
        return json.dumps(fields, separators=(",", ":"))


def _digest(part: bytes) -> str:
    return hashlib.sha256(part).hexdigest()


def _edges(handle: int, offset: int) -> tuple[str, str, bytes]:
    """The digests of a file's first and last bytes before a place, and these last bytes."""
    first = os.pread(handle, min(SPAN, offset), 0)
    last = first if offset <= SPAN else os.pread(handle, SPAN, offset - SPAN)
    return _digest(first), _digest(last), last


def to_json(kind: str, marks: Iterable[Mark]) -> str:
    """A position: the files that were taken, and how far."""
    start = codec.write("position", VERSION, {"kind": kind, "files": []}).removesuffix("]}")
    return f"{start}{','.join(mark.json for mark in marks)}]}}"


def from_json(kind: str, text: str | None) -> list[Mark]:
    """The marks in a position; None is a source never read."""
    if text is None:
        return []
    fields = codec.parse("position", text)
    version = fields.pop("version", None)
    codec.accept("position", VERSION, version)
    if fields.get("kind") != kind:
        raise StoreRefused(
            f"The stored position is not one of {kind} files.",
            why="the stream has read another kind of source before",
            tip="the source that the stream was launched with",
        )
    try:
        return [_mark(file, version) for file in fields["files"]]
    except (KeyError, TypeError):
        raise codec.damaged("position") from None


def _mark(file: dict[str, Any], version: int) -> Mark:
    digested = version == VERSION and "digest" in file
    if set(file) - ({"digest"} if digested else set()) != set(_OF_VERSION[version]):
        raise TypeError
    if digested and not is_digest(file["digest"]):
        raise TypeError
    mark = Mark(**{"born": None, **file}, first=version == 1)
    numbers = (mark.device, mark.inode, mark.offset)
    texts = (mark.name, mark.head, mark.tail)
    sound = all(type(n) is int and n >= 0 for n in numbers) and isinstance(mark.within, bool)
    sound = sound and isinstance(mark.rotated, bool)
    sound = sound and isinstance(mark.unread, bool)
    sound = sound and (mark.born is None or type(mark.born) is int)
    if not sound or not all(isinstance(text, str) for text in texts):
        raise TypeError
    if mark.declared not in (None, "same", "new"):
        raise TypeError
    return mark


def last_newline(handle: int, start: int, end: int, script: Script = UTF_8) -> int:
    """Where the last whole line between two places of an open file ends; ``start`` if nowhere."""
    end = script.whole(end)
    while end > start:
        block = max(start, end - SPAN)
        found = script.after_last_newline(os.pread(handle, end - block, block))
        if found:
            return block + found
        end = block
    return start
