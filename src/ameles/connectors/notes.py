"""The note beside a file that grows: whose file it is, and how far it is whole.

It has two places, a sector each, that are written in turns and in place.  Whatever tears a write,
the other place has the note before it.  A note is written after the bytes that it is about are
durable, and need not be so itself: after a power cut the file may have whole steps beyond its
note, which are taken for what they are, published, and written over with the same bytes.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ameles.connectors import durable
from ameles.core import codec
from ameles.core.exceptions import StoreRefused

SECTOR = 512
_KIND, _VERSION = "sink", 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What is noted: the bytes of all whole steps, the last of these, and a digest of the end."""

    stream: str
    identity: str
    offset: int
    last: int
    tail: str


class Notes:
    """The notes of one file; version 1 was a single note, replaced with each step."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._place: int | None = None  # of the newest note; None: not in this version

    @property
    def begun(self) -> bool:
        """Whether there are notes in this version."""
        return self._place is not None

    def read(self) -> Note | None:
        """The newest note, or None if there is no file of notes."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        if len(content) != 2 * SECTOR:
            return _fields(_document(content, 1))
        places = [content[:SECTOR], content[SECTOR:]]
        found = {place: note for place, text in enumerate(places) if (note := _checked(text))}
        if not found:
            raise codec.damaged(_KIND)
        self._place = max(found, key=lambda place: found[place].last)
        return found[self._place]

    def write(self, note: Note) -> None:
        """A newer note; the first time durably, so that the file is known as ours."""
        text = _written(note)
        if self._place is not None and self._over(1 - self._place, text):
            self._place = 1 - self._place
            return
        durable.replace(self.path, 2 * text)
        self._place = 0

    def _over(self, place: int, text: bytes) -> bool:
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False  # someone has removed it
        try:
            return os.pwrite(handle, text, place * SECTOR) == SECTOR
        finally:
            os.close(handle)


def _written(note: Note) -> bytes:
    fields = asdict(note)
    text = codec.write(_KIND, _VERSION, {**fields, "check": _check(fields)})
    return text.encode().ljust(SECTOR - 1) + b"\n"


def _check(fields: dict[str, Any]) -> str:
    return hashlib.sha256(repr(sorted(fields.items())).encode()).hexdigest()[:32]


def _checked(text: bytes) -> Note | None:
    """The note in one place; None if it is torn."""
    try:
        document = codec.parse(_KIND, text.decode())
    except (StoreRefused, UnicodeDecodeError):
        return None
    codec.accept(_KIND, _VERSION, document.pop("version", None))
    check = document.pop("check", None)
    return _fields(document) if check == _check(document) else None


def _document(content: bytes, version: int) -> dict[str, Any]:
    try:
        return codec.read(_KIND, version, content.decode())
    except UnicodeDecodeError:
        raise codec.damaged(_KIND) from None


def _fields(document: dict[str, Any]) -> Note:
    try:
        note = Note(**document)
    except TypeError:
        raise codec.damaged(_KIND) from None
    numbers: list[Any] = [note.offset, note.last]
    texts = (note.stream, note.identity, note.tail)
    sound = all(type(number) is int and number >= 0 for number in numbers)
    if not sound or not all(isinstance(text, str) for text in texts):
        raise codec.damaged(_KIND)
    return note
