"""CSV and JSON Lines files that releases are appended to.

Beside ``releases.csv`` stands ``releases.csv.ameles``: whose file it is, how many of its bytes
are whole steps, and a digest of the last of them.  It is written after the bytes are durable.
So bytes beyond are what a crash left of a write that is about to come again, from the store, with
the same bytes; until then they are published, and a store that does not have their steps is too
old.  A file that is shorter, or looks different at that place, was changed by someone else.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from ameles.connectors import durable
from ameles.connectors.notes import Note, Notes
from ameles.connectors.records import Format
from ameles.connectors.sink import Row, Sink
from ameles.core.exceptions import StoreRefused

_AT_ONCE = 10_000  # rows in memory
_TAIL = 1 << 16  # bytes of what a crash left in which its last step is looked for


class AppendedSink(Sink):
    """A file of lines, one a record."""

    def __init__(self, name: str, path: Path, form: Format, stream: str, identity: str) -> None:
        self.name = name
        self._path = path
        self._notes = Notes(path.with_name(path.name + ".ameles"))
        self._form = form
        self._stream = stream
        self._identity = identity
        self._named = False  # whether its name is known to be durable
        with durable.writing(name):
            self._note = self._opened()
            self._shown = self._last_shown()

    def last(self) -> int:
        return self._shown

    def first_needed(self, sent: int) -> int:
        return self._note.last + 1

    def write(self, rows: Iterable[Row], through: int) -> None:
        if through <= self._note.last:
            return
        with durable.writing(self.name):
            if not self._notes.begun:
                self._notes.write(self._note)  # first, so that a torn first write is known as ours
            with self._open() as file:
                offset, tail = self._append(file, rows)
            if not self._named:
                durable.sync_folder(self._path.parent)
                self._named = True
            note = self._noted(offset, through, tail)
            self._notes.write(note)
            self._note, self._shown = note, through

    def _open(self) -> BinaryIO:
        try:
            return self._path.open("r+b")
        except FileNotFoundError:
            if self._note.offset:
                raise self._changed() from None
        return self._path.open("w+b")

    def _append(self, file: BinaryIO, rows: Iterable[Row]) -> tuple[int, str]:
        """Where the file ends now, and the digest of its end."""
        if os.fstat(file.fileno()).st_size < self._note.offset:
            raise self._changed()
        # Over what an earlier write may have left: what is published is at no time not there.
        file.seek(self._note.offset)
        if not self._note.offset:
            file.write(self._form.header.encode())
        remaining = iter(rows)
        while some := list(islice(remaining, _AT_ONCE)):
            file.write(self._form.lines(some).encode())
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
        offset = file.tell()
        start = max(0, offset - durable.SPAN)
        return offset, hashlib.sha256(os.pread(file.fileno(), offset - start, start)).hexdigest()

    def _noted(self, offset: int, last: int, tail: str) -> Note:
        return Note(
            stream=self._stream, identity=self._identity, offset=offset, last=last, tail=tail
        )

    def _opened(self) -> Note:
        """What the file holds, once it is seen to be ours."""
        size = self._path.stat().st_size if self._path.exists() else 0
        note, beside = self._notes.read(), self._notes.path.name
        if note is None:
            if size:
                raise self._refused(
                    "was not written by Ameles, or has lost the file beside it",
                    f"another name for the sink, or put '{beside}' back beside it",
                )
            return self._noted(0, 0, "")
        if note.identity != self._identity:
            raise self._refused(
                f"belongs to another launch of stream '{note.stream}'",
                f"another name for the sink, or move the file and '{beside}' away",
            )
        if size < note.offset:
            raise self._changed()
        if note.offset and durable.tail(self._path, note.offset) != note.tail:
            raise self._changed()
        return note

    def _last_shown(self) -> int:
        """The last step of which the file shows anything, also by a write that a crash ended."""
        offset = self._note.offset
        size = self._path.stat().st_size if self._path.exists() else 0
        if size <= offset:
            return self._note.last
        with self._path.open("rb") as file:
            file.seek(max(offset, size - _TAIL))
            lines = file.read().decode("utf-8", errors="replace").split("\n")
        steps = [self._form.step_of(line) for line in lines]
        return max(self._note.last + 1, *(step for step in steps if step is not None), 0)

    def _changed(self) -> StoreRefused:
        return self._refused(
            "was cut, removed or changed since it was written",
            f"put the file back, or remove it and '{self._notes.path.name}' to have all releases "
            "written again",
        )

    def _refused(self, what: str, tip: str) -> StoreRefused:
        return StoreRefused(
            f"The file '{self._path.name}' of the sink {self.name} {what}.",
            why="what a sink already has must stay as it was published",
            tip=tip,
        )
