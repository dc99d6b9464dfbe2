"""Marks: how far a file was read, and digests of its content there.

The identity of a file is its device, its inode and its birth time (``identity.py``).  The
digests of the first and the last bytes that were read tell whether it still has them.  A text file
may grow, but its old bytes must stay.  A Parquet file never changes.

A file that exists when a stream is launched gets a mark at its end that says ``unread``.  So if the
file is truncated before it is first read, the mark still says what it had.

The mark of a missing file is kept: a disk may be mounted again, or a file moved back, and without
the mark its events would be counted twice.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Self

from ameles.connectors.declarations import Declared
from ameles.connectors.durable import SPAN
from ameles.connectors.files.identity import born
from ameles.connectors.files.whole_digest import is_digest, whole_digest
from ameles.connectors.text.encodings import UTF_8, Script
from ameles.core import codec
from ameles.core.exceptions import StoreRefused

VERSION = 3
_FOOTER = 16 << 20  # most bytes of a Parquet footer that are digested
_FIRST = ("name", "device", "inode", "offset", "head", "tail", "within")
_SECOND = (*_FIRST, "born", "declared", "rotated")
_FIELDS = (*_SECOND, "unread")
_OF_VERSION = {1: _FIRST, 2: _SECOND, VERSION: _FIELDS}


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One file, read up to ``offset``; if ``unread``, only known to reach that far."""

    name: str
    device: int
    inode: int
    born: int | None
    offset: int
    head: str
    tail: str
    within: bool  # the last line that was read had no newline yet
    declared: Declared = None  # what the owner declared when the file could not be identified
    rotated: bool = False  # a copy of a file that was truncated or compressed, read to its end
    unread: bool = False  # it existed at the launch; nothing of it was read yet
    digest: str | None = None  # of all that was read, if the plan names copies
    first: bool = field(default=False, repr=False)  # from a position of version 1

    @classmethod
    def of(
        cls,
        handle: int,
        name: str,
        offset: int,
        declared: Declared = None,
        script: Script = UTF_8,
    ) -> Self:
        """The mark of an open text file, read up to here."""
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
        """The mark of a whole open Parquet file: its size, and its footer, which describes all of
        it."""
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
        """The offset up to which its events were read."""
        return 0 if self.unread else self.offset

    def fits(self, handle: int) -> bool:
        """Whether an open text file has the bytes that were taken; a shorter one has fewer."""
        return _edges(handle, self.offset)[:2] == (self.head, self.tail)

    def begins(self, handle: int) -> bool:
        """Whether an open file begins with the first bytes that were read."""
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
        """Whether its digests cover every byte that was read."""
        return self.digest is not None or self.offset <= 2 * SPAN

    def digested(self, handle: int, before: Mark | None = None) -> Self:
        """The mark with the digest of all that was read; ``before`` is a mark at a smaller
        offset."""
        known = None
        if before is not None and before.digest is not None and before.offset <= self.offset:
            known = before.offset, before.digest
        return replace(self, digest=whole_digest(handle, self.offset, known))

    @cached_property
    def json(self) -> str:
        """The JSON for a position; cached, because most files do not change."""
        fields = {name: getattr(self, name) for name in _FIELDS}
        if self.digest is not None:
            fields["digest"] = self.digest
        return json.dumps(fields, separators=(",", ":"))


def _digest(part: bytes) -> str:
    return hashlib.sha256(part).hexdigest()


def _edges(handle: int, offset: int) -> tuple[str, str, bytes]:
    """The digests of a file's first and last bytes before an offset, and these last bytes."""
    first = os.pread(handle, min(SPAN, offset), 0)
    last = first if offset <= SPAN else os.pread(handle, SPAN, offset - SPAN)
    return _digest(first), _digest(last), last


def to_json(kind: str, marks: Iterable[Mark]) -> str:
    """A position: the files that were read, and how far."""
    return f"{_start(kind)}{','.join([mark.json for mark in marks])}]}}"


@cache
def _start(kind: str) -> str:
    """How a position begins; it is written at every step."""
    return codec.write("position", VERSION, {"kind": kind, "files": []}).removesuffix("]}")


def from_json(kind: str, text: str | None) -> list[Mark]:
    """The marks in a position; None means that the source was never read."""
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
    """The end of the last whole line between two offsets of a file; ``start`` if there is none."""
    end = script.whole(end)
    while end > start:
        block = max(start, end - SPAN)
        behind = script.after_last_newline(os.pread(handle, end - block, block))
        if behind:
            return block + behind
        end = block
    return start
