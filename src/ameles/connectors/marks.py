"""How far a file was taken, and whether it is still the same file: its content decides.

A text file may grow, and its old bytes must stay.  A Parquet file never changes.  A name, device
and inode are kept for people and for following a file that moves; they decide nothing.

The mark of a file that is gone stays for ever: a disk that is mounted again, a rotated file that
is put back, a folder that is synchronised may bring the file back, and without its mark its events
would be counted twice.  Nothing here can tell that this will not happen.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from ameles.connectors.durable import SPAN, digest
from ameles.core import codec
from ameles.core.exceptions import StoreRefused

_FOOTER = 16 << 20  # bytes of a Parquet footer that are digested at the most


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One file, taken up to ``offset``."""

    name: str
    device: int
    inode: int
    offset: int
    head: str
    tail: str
    within: bool  # the last line that was taken had no newline yet

    @classmethod
    def of(cls, path: Path, name: str, offset: int) -> Self:
        """A text file, taken up to here."""
        with path.open("rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            head, tail, last = _edges(file.fileno(), offset)
        return cls(
            name=name,
            device=status.st_dev,
            inode=status.st_ino,
            offset=offset,
            head=head,
            tail=tail,
            within=last not in (b"", b"\n"),
        )

    @classmethod
    def of_parquet(cls, path: Path, name: str) -> Self:
        """A whole Parquet file, by its size and its footer, which describes all of it."""
        status = path.stat()
        size = status.st_size
        with path.open("rb") as file:
            file.seek(max(0, size - 8))
            length = int.from_bytes(file.read(4), "little")
        start = max(0, size - 8 - min(length, _FOOTER))
        return cls(
            name=name,
            device=status.st_dev,
            inode=status.st_ino,
            offset=size,
            head=digest(path, 0, min(SPAN, size)),
            tail=digest(path, start, size),
            within=False,
        )

    def fits(self, path: Path) -> bool:
        """Whether a text file still has the bytes that were taken."""
        with path.open("rb", buffering=0) as file:
            if os.fstat(file.fileno()).st_size < self.offset:
                return False
            return _edges(file.fileno(), self.offset)[:2] == (self.head, self.tail)

    @cached_property
    def json(self) -> str:
        """For a position; made once, since most files of many do not change."""
        return json.dumps(asdict(self), separators=(",", ":"))

    def fits_parquet(self, path: Path) -> bool:
        """Whether this is the Parquet file that was taken."""
        now = Mark.of_parquet(path, self.name)
        return (now.offset, now.head, now.tail) == (self.offset, self.head, self.tail)


def _edges(handle: int, offset: int) -> tuple[str, str, bytes]:
    """The digests of a file's first and last bytes before a place, and the last of them."""
    first = os.pread(handle, min(SPAN, offset), 0)
    last = first if offset <= SPAN else os.pread(handle, SPAN, offset - SPAN)
    digests = [hashlib.sha256(part).hexdigest() for part in (first, last)]
    return digests[0], digests[1], last[-1:]


def replaced(name: str) -> StoreRefused:
    """The error for a file that is no longer the one that was taken."""
    return StoreRefused(
        f"The file '{name}' was replaced or cut since it was last read.",
        why="which of its events were counted before can no longer be told",
        tip="put the file back as it was and only append to it; for files that are rotated, a "
        'source such as "events.csv*", which also matches their old names',
    )


def to_json(kind: str, marks: Iterable[Mark]) -> str:
    """A position: the files that were taken, and how far."""
    start = codec.write("position", 1, {"kind": kind, "files": []}).removesuffix("]}")
    return f"{start}{','.join(mark.json for mark in marks)}]}}"


def from_json(kind: str, text: str | None) -> dict[str, Mark]:
    """The marks in a position, by the names of their files; None is a source never read."""
    if text is None:
        return {}
    fields = codec.read("position", 1, text)
    if fields.get("kind") != kind:
        raise StoreRefused(
            f"The stored position is not one of {kind} files.",
            why="the stream has read another kind of source before",
            tip="the source that the stream was launched with",
        )
    try:
        marks = [_mark(file) for file in fields["files"]]
    except (KeyError, TypeError):
        raise codec.damaged("position") from None
    return {mark.name: mark for mark in marks}


def _mark(file: dict[str, Any]) -> Mark:
    mark = Mark(**file)
    numbers = (mark.device, mark.inode, mark.offset)
    texts = (mark.name, mark.head, mark.tail)
    sound = all(type(n) is int and n >= 0 for n in numbers) and isinstance(mark.within, bool)
    if not sound or not all(isinstance(text, str) for text in texts):
        raise TypeError
    return mark


def last_newline(path: Path, start: int, end: int) -> int:
    """Where the last whole line between two places of a file ends; ``start`` if there is none."""
    with path.open("rb") as file:
        while end > start:
            block = max(start, end - SPAN)
            file.seek(block)
            found = file.read(end - block).rfind(b"\n")
            if found >= 0:
                return block + found + 1
            end = block
    return start
