"""The note beside a sink: whose it is, and how much of it is complete.

A note file has two places, one sector each, that are overwritten in turn.  If a write is torn, the
other place still has the note before it.  A note is written after the bytes that it describes are
durable, and need not be durable itself: after a power cut the file may have whole steps beyond its
note.  These count as published, and are overwritten with the same bytes.

A note is also a fence: a store that has released fewer steps than the note says is too old to go
on.  The note stays when the sink is removed, and what the store then writes again must match the
note.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, fields
from typing import Any

from ameles.connectors.own_folder import OwnFolder
from ameles.core import codec
from ameles.core.exceptions import StoreRefused

SECTOR = 512
_MOST = 1 << 16  # most bytes of a note
_KIND, _VERSION = "sink", 3
PLAIN = "plain"  # the form of files that were written before notes named a form


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """The size of the whole steps (bytes of lines, or number of Parquet files), the last of these
    steps, a digest of the end, and the form in which the sink is written."""

    stream: str
    identity: str
    offset: int
    last: int
    tail: str
    form: str = PLAIN


_FIELDS = tuple(field.name for field in fields(Note))


class Notes:
    """The notes of one sink.  Version 1 was a single note, replaced at each step; since version 3 a
    note has the form."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._place: int | None = None  # where the newest note is; None: not in two places yet
        self._known: tuple[bytes, Note] | None = None  # what the file had last, and its newest note

    @property
    def begun(self) -> bool:
        """Whether there are notes in two places."""
        return self._place is not None

    def read(self, folder: OwnFolder) -> Note | None:
        """The newest note, or None if there is no file of notes."""
        content = self._content(folder)
        if content is None:
            return None
        if self._known is not None and content == self._known[0]:
            return self._known[1]
        try:
            note = self._newest(content)
        except StoreRefused as problem:
            raise StoreRefused(
                f"The note '{self.name}' of the sink {folder.sink} cannot be used. {problem.what}",
                why=problem.why,
                tip=problem.tip,
            ) from None
        self._known = content, note
        return note

    def _content(self, folder: OwnFolder) -> bytes | None:
        try:
            handle = folder.open(self.name, writing=False)
        except FileNotFoundError:
            return None
        try:
            return os.pread(handle, _MOST, 0)
        finally:
            os.close(handle)

    def _newest(self, content: bytes) -> Note:
        if len(content) != 2 * SECTOR:
            return _fields(_document(content, 1))
        places = [content[:SECTOR], content[SECTOR:]]
        notes = {place: note for place, text in enumerate(places) if (note := _checked(text))}
        if not notes:
            raise codec.damaged(_KIND)
        self._place = max(notes, key=lambda place: notes[place].last)
        return notes[self._place]

    def still(self, folder: OwnFolder, note: Note) -> bool:
        """Whether this is still the newest note, or no note was written yet and there is none."""
        return self.read(folder) == (note if self.begun else None)

    def write(self, folder: OwnFolder, note: Note) -> None:
        """Writes a newer note; the first time durably, so that the sink is recognised as ours."""
        text, known = _written(note), self._known
        self._known = None
        if self._place is not None and self._over(folder, 1 - self._place, text):
            self._place = 1 - self._place
            if known is not None and len(known[0]) == 2 * SECTOR:
                other = known[0][SECTOR:] if self._place == 0 else known[0][:SECTOR]
                self._known = text + other if self._place == 0 else other + text, note
            return
        folder.replace(self.name, 2 * text)
        self._place, self._known = 0, (2 * text, note)

    def _over(self, folder: OwnFolder, place: int, text: bytes) -> bool:
        try:
            handle = folder.open(self.name, writing=True)
        except FileNotFoundError:
            return False  # somebody removed it
        try:
            return os.pwrite(handle, text, place * SECTOR) == SECTOR
        finally:
            os.close(handle)


def _written(note: Note) -> bytes:
    document = {name: getattr(note, name) for name in _FIELDS}
    text = codec.write(_KIND, _VERSION, {**document, "check": _check(document)})
    return text.encode().ljust(SECTOR - 1) + b"\n"


def _check(document: dict[str, Any]) -> str:
    return hashlib.sha256(repr(sorted(document.items())).encode()).hexdigest()[:32]


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
    texts = (note.stream, note.identity, note.tail, note.form)
    sound = all(type(number) is int and number >= 0 for number in numbers)
    if not sound or not all(isinstance(text, str) for text in texts):
        raise codec.damaged(_KIND)
    return note
