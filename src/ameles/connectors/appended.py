"""CSV and JSON Lines files that releases are appended to.

Beside ``releases.csv`` stands ``releases.csv.ameles``: whose file it is, how many of its bytes
are whole steps, and a digest of the last of them.  It is replaced after the bytes are durable.
So bytes beyond are what a crash left of a write that is about to come again, which cuts them;
until then they are published, and a store that does not have their steps is too old.  A file that
is shorter, or looks different at that place, was changed by someone else.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from ameles.connectors import durable
from ameles.connectors.records import Format
from ameles.connectors.sink import Row, Sink
from ameles.core import codec
from ameles.core.exceptions import StoreRefused

_AT_ONCE = 10_000  # rows in memory
_TAIL = 1 << 16  # bytes of what a crash left in which its last step is looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class _Note:
    """What stands beside the file."""

    stream: str
    identity: str
    offset: int
    last: int
    tail: str


class AppendedSink(Sink):
    """A file of lines, one a record."""

    def __init__(self, name: str, path: Path, form: Format, stream: str, identity: str) -> None:
        self.name = name
        self._path = path
        self._beside = path.with_name(path.name + ".ameles")
        self._form = form
        self._stream = stream
        self._identity = identity
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
            if not self._beside.exists():
                self._keep(self._note)  # first, so that a torn first write is known as ours
            with self._path.open("r+b" if self._path.exists() else "w+b") as file:
                offset = self._append(file, rows)
            durable.sync_folder(self._path.parent)
            self._keep(self._now(offset, through))
            self._shown = through

    def _append(self, file: BinaryIO, rows: Iterable[Row]) -> int:
        file.truncate(self._note.offset)  # a write before this one may have failed half-way
        file.seek(self._note.offset)
        if not self._note.offset:
            file.write(self._form.header.encode())
        remaining = iter(rows)
        while some := list(islice(remaining, _AT_ONCE)):
            file.write(self._form.lines(some).encode())
        file.flush()
        os.fsync(file.fileno())
        return file.tell()

    def _now(self, offset: int, last: int) -> _Note:
        return _Note(
            stream=self._stream,
            identity=self._identity,
            offset=offset,
            last=last,
            tail=durable.tail(self._path, offset) if offset else "",
        )

    def _keep(self, note: _Note) -> None:
        durable.replace(self._beside, codec.write("sink", 1, asdict(note)).encode())
        self._note = note

    def _opened(self) -> _Note:
        """What the file holds, once it is seen to be ours."""
        size = self._path.stat().st_size if self._path.exists() else 0
        if not self._beside.exists():
            if size:
                raise self._refused(
                    "was not written by Ameles, or has lost the file beside it",
                    f"another name for the sink, or put '{self._beside.name}' back beside it",
                )
            return self._now(0, 0)
        note = self._read()
        if note.identity != self._identity:
            raise self._refused(
                f"belongs to another launch of stream '{note.stream}'",
                f"another name for the sink, or move the file and '{self._beside.name}' away",
            )
        if size < note.offset or (note.offset and self._tail(note) != note.tail):
            raise self._refused(
                "was cut, removed or changed since it was written",
                f"put the file back, or remove it and '{self._beside.name}' to have all "
                "releases written again",
            )
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

    def _tail(self, note: _Note) -> str:
        return durable.tail(self._path, note.offset)

    def _read(self) -> _Note:
        try:
            fields = codec.read("sink", 1, self._beside.read_text(encoding="utf-8"))
            note = _Note(**fields)
        except (TypeError, UnicodeDecodeError):
            raise codec.damaged("sink") from None
        numbers: list[Any] = [note.offset, note.last]
        texts = (note.stream, note.identity, note.tail)
        sound = all(type(number) is int and number >= 0 for number in numbers)
        if not sound or not all(isinstance(text, str) for text in texts):
            raise codec.damaged("sink")
        return note

    def _refused(self, what: str, tip: str) -> StoreRefused:
        return StoreRefused(
            f"The file '{self._path.name}' of the sink {self.name} {what}.",
            why="what a sink already has must stay as it was published",
            tip=tip,
        )
