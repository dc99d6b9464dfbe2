"""CSV and JSON Lines files that releases are appended to.

Beside ``releases.csv`` there is a note, ``releases.csv.ameles``: whose file it is, how many of its
bytes are whole steps, and a digest of the last of these bytes.  The note is written after the bytes
are durable.  So bytes after that offset were left by a crash during a write.  The store will write
them again, with the same content.  They count as published: a store that does not have their steps
is too old.  If the file is shorter, or differs at that offset, somebody else changed it.  If the
file is gone, it is written again whole, and takes its place if it matches the note.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice, pairwise
from stat import S_ISDIR
from typing import BinaryIO, Self

from ameles.connectors import durable
from ameles.connectors.own_folder import FRESH, OwnFolder, SinkPlace
from ameles.connectors.records import FORMATS, SHIELDED, LineFormat, ShieldedCsv
from ameles.connectors.sink import Row, Sink, SinkRequest, other_launch
from ameles.connectors.sink_notes import PLAIN, Note, Notes
from ameles.core.exceptions import PlanError, StoreRefused

_AT_ONCE = 10_000  # rows in memory
_TAIL = 1 << 16  # bytes at the end of what a crash left that are searched for its last step
NOTE = ".ameles"  # how the name of a note ends


class AppendedSink(Sink):
    """A file of lines, one a record."""

    @classmethod
    def open(cls, request: SinkRequest) -> Self:
        whose = request.stream, request.identity
        return cls(request.place, request.kind, *whose, sparse=request.sparse)

    def __init__(
        self, place: SinkPlace, kind: str, stream: str, identity: str, *, sparse: bool = False
    ) -> None:
        self.name = place.sink
        self._place = place
        self._notes = Notes(place.name + NOTE)
        self._stream = stream
        self._identity = identity
        self._sparse = sparse
        self._named = False  # whether its name is durable
        self._changed: StoreRefused | None = None
        self._shown = 0
        with durable.writing(self.name), place.entered() as folder:
            self._note = self._opened(folder, kind)
            self._form: LineFormat = ShieldedCsv() if self._note.form == SHIELDED else FORMATS[kind]
            self._check(folder)

    def last(self) -> int:
        return max(self._shown, self._note.last)

    def problem(self) -> StoreRefused | None:
        return self._changed

    def stands(self) -> bool:
        with durable.writing(self.name), self._place.entered() as folder:
            if self._changed is not None or not self._notes.still(folder, self._note):
                return False
            if not self._note.offset:
                return True
            try:
                handle = folder.open(self._place.name, writing=False)
            except FileNotFoundError:
                return False
            try:
                offset = self._note.offset
                whole = os.fstat(handle).st_size == offset
                return whole and _tail(handle, offset) == self._note.tail
            finally:
                os.close(handle)

    def agrees(self, rows_of: Callable[[int], Iterable[Row]]) -> bool:
        offset = self._note.offset
        if not offset or self._changed is not None or self._gone():
            return True  # a file that is gone is compared when it is written again
        expected = self._form.lines(rows_of(self._note.last)).encode()
        with (
            durable.writing(self.name),
            self._place.entered() as folder,
            open(folder.open(self._place.name, writing=False), "rb") as file,
        ):
            start = max(0, offset - len(expected))
            return os.pread(file.fileno(), offset - start, start) == expected

    def first_needed(self, sent: int) -> int:
        return 1 if self._gone() else self._note.last + 1

    def write(self, rows: Iterable[Row], through: int) -> None:
        with durable.writing(self.name), self._place.entered() as folder:
            gone = self._is_gone(folder)
            if through <= self._note.last and not gone:
                return
            if self._changed is not None:
                self._check(folder)
            if self._changed is not None:
                raise self._changed
            if not self._notes.begun:
                # the note first, so that a torn first write is recognised as ours
                self._notes.write(folder, self._note)
            offset, tail = self._rewrite(folder, rows) if gone else self._append(folder, rows)
            if not self._named and not gone:
                folder.sync()
            self._named = True
            note = replace(self._note, offset=offset, last=through, tail=tail)
            self._notes.write(folder, note)
            self._note, self._shown = note, through

    def _gone(self) -> bool:
        """Whether there was a file that does not exist any more."""
        with durable.writing(self.name), self._place.entered() as folder:
            return self._is_gone(folder)

    def _is_gone(self, folder: OwnFolder) -> bool:
        return bool(self._note.offset) and folder.look(self._place.name) is None

    def _append(self, folder: OwnFolder, rows: Iterable[Row]) -> tuple[int, str]:
        """Appends rows; returns the new end of the file and the digest of its last bytes."""
        new = folder.look(self._place.name) is None
        if new and self._note.offset:
            raise self._was_changed()  # just now
        with open(self._handle(folder, new=new), "r+b") as file:
            if os.fstat(file.fileno()).st_size < self._note.offset:
                raise self._was_changed()
            # Overwrite what an earlier write may have left: no published byte ever disappears.
            file.seek(self._note.offset)
            return self._written(file, rows)

    def _handle(self, folder: OwnFolder, *, new: bool) -> int:
        name = self._place.name
        return folder.create(name) if new else folder.open(name, writing=True)

    def _rewrite(self, folder: OwnFolder, rows: Iterable[Row]) -> tuple[int, str]:
        """Writes all steps of a file that is gone to a temporary file, which takes its place once
        its content is known to be what was published."""
        name, offset = self._place.name, self._note.offset
        fresh = name + FRESH
        with open(folder.create_fresh(fresh), "r+b") as file:
            end, tail = self._written(file, rows)
            same = end >= offset and _tail(file.fileno(), offset) == self._note.tail
        if not same:
            folder.remove(fresh)
            raise self._refused(
                "is gone, and what the store has is not what was published in it",
                "the newest copy of the store; put the file back if there is no other",
            )
        folder.rename(fresh, name)
        return end, tail

    def _written(self, file: BinaryIO, rows: Iterable[Row]) -> tuple[int, str]:
        if not file.tell():
            file.write(self._form.header.encode())
        remaining = iter(rows)
        while some := list(islice(remaining, _AT_ONCE)):
            file.write(self._form.lines(some).encode())
        file.flush()
        end = file.tell()
        if os.fstat(file.fileno()).st_size > end:  # what a crash left
            os.ftruncate(file.fileno(), end)
        os.fsync(file.fileno())
        return end, _tail(file.fileno(), end)

    def _opened(self, folder: OwnFolder, kind: str) -> Note:
        """The note, after checking that the sink is ours."""
        before = folder.look(self._place.name)
        if before is not None and S_ISDIR(before.st_mode):
            raise PlanError(
                f"The sink {self.name} is a folder.",
                why="a sink of this kind is one file",
                tip=f"{self._place.name}/releases.{kind}, or another name for the folder",
            )
        if before is not None:
            os.close(folder.open(self._place.name, writing=False))  # a link, or another user's
        note, beside = self._notes.read(folder), self._notes.name
        if note is None:
            if before is not None and (before.st_size or before.st_nlink > 1):
                raise self._refused(
                    "was not written by Ameles, or has lost the file beside it",
                    f"another name for the sink, or put '{beside}' back beside it",
                )
            form = SHIELDED if kind == "csv" else PLAIN
            begun = {"stream": self._stream, "identity": self._identity}
            return Note(**begun, offset=0, last=0, tail="", form=form)
        if note.identity != self._identity:
            place = self._place.name
            raise other_launch(self.name, place, beside, stream=self._stream, whose=note.stream)
        return note

    def _check(self, folder: OwnFolder) -> None:
        """Compares the file with the note, and looks at the bytes beyond it."""
        self._changed, self._shown = None, self._note.last
        try:
            handle = folder.open(self._place.name, writing=False)
        except FileNotFoundError:
            return
        with open(handle, "rb") as file:
            size, offset = os.fstat(handle).st_size, self._note.offset
            if size < offset or (offset and _tail(handle, offset) != self._note.tail):
                self._changed = self._was_changed()
            elif size > offset:
                self._look_beyond(file, size)

    def _look_beyond(self, file: BinaryIO, size: int) -> None:
        """Checks the bytes that a crash left: the steps after the noted ones, in order, the last
        one perhaps torn.  After a power failure, sectors that did not reach the disk are zeros.
        Anything else was added by somebody."""
        offset, noted = self._note.offset, self._note.last
        start = max(offset, size - _TAIL)
        content = os.pread(file.fileno(), size - start, start)
        text = content.decode("utf-8", errors="replace")
        if start == 0:
            header = self._form.header
            text = "" if header.startswith(text) else text.removeprefix(header)
        elif start > offset:
            text = text[text.find("\n") + 1 :]
        end = self._form.whole(text)
        steps, torn = self._form.steps_of(text[:end]), text[end:]
        known = [step for step in steps if step is not None]
        ours = known == steps and self._form.begins(torn, self._stream)
        gaps = [after - before for before, after in pairwise([noted, *known])]
        follows = all(gap in (0, 1) or (self._sparse and gap > 1) for gap in gaps)
        seen_whole = start == offset and b"\0" not in content
        if noted in known or (seen_whole and not (ours and follows)):
            self._changed = self._was_changed()
            return
        self._shown = max(noted + 1, *known, 0)

    def _was_changed(self) -> StoreRefused:
        kept = f"'{self._notes.name}'"
        return self._refused(
            "was cut or edited since it was written",
            f"put the file back, or move it away and keep {kept}: all releases are then written "
            "again, the same as before",
        )

    def _refused(self, what: str, tip: str) -> StoreRefused:
        return StoreRefused(
            f"The file '{self._place.name}' of the sink {self.name} {what}.",
            why="what a sink already has must stay as it was published",
            tip=tip,
        )


def _tail(handle: int, offset: int) -> str:
    """The digest of an open file's last bytes before ``offset``."""
    start = max(0, offset - durable.SPAN)
    return hashlib.sha256(os.pread(handle, offset - start, start)).hexdigest()
