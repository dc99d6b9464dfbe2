"""A folder of Parquet files: only the last file is ever written again.

``releases.parquet/00000001.parquet`` and so on have the releases in the order of their steps, each
file whole steps.  A file with ``SEALED`` rows never changes again.  The last file is written again
at each step and replaces itself by one rename.  So a row is always in exactly one file: whoever
lists the folder and opens the listed files, however slowly, sees every row once, up to some step
(docs/decisions/parquet_sink.md).  At each step at most one such file is written, however long the
history is.

Beside the folder there is its note (``connectors/sink_notes.py``), and the metadata of each file
says whose it is and which steps it has.  If the folder is gone, it is written again under a
temporary name, and takes its place if it matches the note.  A folder replaces the single file of
earlier versions in the same way.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby
from stat import S_ISDIR, S_ISREG
from typing import Self, TypeAlias

from ameles.connectors import durable
from ameles.connectors.appended_sink import NOTE
from ameles.connectors.own_folder import FRESH, OwnFolder, SinkPlace, write_all
from ameles.connectors.parquet.release_file import KIND, VERSION, ReleaseFile
from ameles.connectors.parquet.rows import ParquetRows, digest, reading
from ameles.connectors.sink import Row, Sink, SinkRequest, other_launch
from ameles.connectors.sink_notes import Note, Notes
from ameles.core import codec
from ameles.core.exceptions import StoreRefused
from ameles.core.release import COLUMNS

SEALED = 1 << 16  # a file with this many rows gets no more
_STEP = COLUMNS.index("step")
_FRESH = re.compile(r"\.[0-9]{8}\.parquet\.new")  # what a crash may leave in the folder
_OURS = re.compile(rf"[0-9]{{8}}\.parquet|{_FRESH.pattern}")

_Seen: TypeAlias = tuple[str | int, ...]


class ParquetSink(Sink):
    """Files of whole steps in a folder."""

    of_folder = True

    @classmethod
    def open(cls, request: SinkRequest) -> Self:
        return cls(request.place, request.stream, request.identity)

    def __init__(self, place: SinkPlace, stream: str, identity: str) -> None:
        self.name = place.sink
        self._place = place
        self._notes = Notes(place.name + NOTE)
        self._stream = stream
        self._identity = identity
        self._rows = ParquetRows()
        self._looked = False  # whether the folder was looked at
        self._ready = False  # whether the rows of the last file are in memory
        self._changed: StoreRefused | None = None
        self._left: _Seen = ()  # by this program
        with durable.writing(self.name), place.entered() as folder:
            note = self._notes.read(folder)
            if note is not None and note.identity != identity:
                raise self._of_another(note.stream)
            begun = {"stream": stream, "identity": identity}
            self._note = note or Note(**begun, offset=0, last=0, tail="")
            self._end: ReleaseFile | None = None  # None: everything must be written
            self._look(folder)

    def last(self) -> int:
        return max(self._note.last, self._end.last if self._end else 0)

    def problem(self) -> StoreRefused | None:
        return self._changed

    def stands(self) -> bool:
        with durable.writing(self.name), self._place.entered() as folder:
            known = self._looked and self._end is not None and self._changed is None
            return (
                known and self._notes.still(folder, self._note) and self._seen(folder) == self._left
            )

    def agrees(self, rows_of: Callable[[int], Iterable[Row]]) -> bool:
        note, end = self._note, self._end
        if not note.tail:
            return True
        if end is not None and end.last <= note.last:  # the steps after it have no rows
            return digest(rows_of(end.last)) == note.tail
        rows = list(rows_of(note.last))
        return not rows or digest(rows) == note.tail

    def first_needed(self, sent: int) -> int:
        with durable.writing(self.name), self._place.entered() as folder:
            status = folder.look(self._place.name)
            there = status is not None and S_ISDIR(status.st_mode)
            vanished = self._end is not None and not there
            if self._changed is not None or not self._looked or vanished:
                self._look(folder)
        if self._end is None:
            return 1
        grows = self._end.rows < SEALED and not self._ready
        return self._end.first if grows else self._end.last + 1

    def write(self, rows: Iterable[Row], through: int) -> None:
        if through <= self._note.last and self._end is not None:
            return
        with durable.writing(self.name), self._place.entered() as folder:
            if self._changed is not None:
                raise self._changed
            if not self._notes.begun:
                self._notes.write(folder, self._note)  # first, so that the rest is known as ours
            try:
                if self._end is None:
                    end = self._build(folder, rows)
                else:
                    with folder.below(self._place.name) as files:
                        end = self._extend(files, rows, self._end)
            except BaseException:
                self._forget()
                raise
            self._end, self._ready, self._left = end, True, self._seen(folder)
            note = replace(self._note, offset=end.number, last=through, tail=end.tail)
            self._notes.write(folder, note)
            self._note = note

    def _forget(self) -> None:
        """Forgets the rows in memory, which may not all be written; the next write looks again."""
        self._looked = self._ready = False
        self._rows.clear()

    def _extend(
        self, folder: OwnFolder, rows: Iterable[Row], end: ReleaseFile, known: Note | None = None
    ) -> ReleaseFile:
        """Writes steps after those of the last file, or that file again if its rows are not in
        memory.

        ``known`` is the digest that the rows of its last step must have; steps without rows may
        follow that one.
        """
        if end.rows < SEALED and not self._ready:
            end = replace(end, rows=0)
        of_step: list[Row] = []
        for step, together in groupby(rows, key=lambda row: int(row[_STEP])):
            if known is not None and step > known.last:
                self._check_published(of_step, known)
                known = None
            if end.rows >= SEALED:
                if of_step:
                    self._put(folder, end, of_step)
                self._rows.clear()
                end = ReleaseFile(end.number + 1, step)
            of_step = list(together)
            self._rows.add(of_step)
            end = ReleaseFile(end.number, end.first, step, self._rows.size)
        if known is not None:
            self._check_published(of_step, known)
        return self._put(folder, end, of_step) if of_step else end

    def _check_published(self, last: list[Row], known: Note) -> None:
        """Refuses other rows of the last step than those that a folder had which is gone."""
        if known.tail and digest(last) != known.tail:
            raise self._refused(
                "is gone, and what the store has is not what was published in it",
                "the newest copy of the store; put the folder back if there is no other",
            )

    def _put(self, folder: OwnFolder, end: ReleaseFile, last: list[Row]) -> ReleaseFile:
        """Writes a file atomically; readers do not take the temporary file for a part.

        ``last`` are the rows of its last step.
        """
        end = replace(end, tail=digest(last))
        content = self._rows.content(end.note(self._stream, self._identity))
        fresh = f".{end.name}{FRESH}"
        handle = folder.create_fresh(fresh)
        try:
            write_all(handle, content)
            os.fsync(handle)
        finally:
            os.close(handle)
        folder.rename(fresh, end.name)
        return end

    def _build(self, folder: OwnFolder, rows: Iterable[Row]) -> ReleaseFile:
        """Writes all files under a temporary name, until they are known to be what was
        published."""
        name, fresh = self._place.name, self._place.name + FRESH
        left = folder.look(fresh)
        if left is not None and S_ISDIR(left.st_mode):
            folder.empty(fresh, _OURS)
            folder.remove_folder(fresh)
        elif left is not None:
            folder.remove(fresh)
        folder.make(fresh)
        self._rows.clear()
        with folder.below(fresh) as files:
            end = self._extend(files, rows, ReleaseFile(), self._note)
        before = folder.look(name)
        if before is not None and S_ISDIR(before.st_mode):
            folder.empty(name, _FRESH)  # a rename can replace an empty folder only
        elif before is not None:
            folder.remove(name)
        folder.rename(fresh, name)
        return end

    def _seen(self, folder: OwnFolder) -> _Seen:
        """The names of all files, and a value that changes whenever the last file does."""
        status = folder.look(self._place.name)
        if status is None or not S_ISDIR(status.st_mode):
            return ()
        with folder.below(self._place.name) as files:
            names = _names(files)
            last = files.look(names[-1]) if names else None
        if last is None:
            return (*names,)
        return *names, last.st_ino, last.st_size, last.st_mtime_ns, last.st_ctime_ns

    def _look(self, folder: OwnFolder) -> None:
        """Looks at what is there: nothing, the single file of an earlier version, or a folder."""
        self._changed, self._end = None, None
        self._forget()
        self._looked, self._left = True, self._seen(folder)
        status = folder.look(self._place.name)
        if status is None:
            return
        if S_ISREG(status.st_mode):
            self._look_at_single(folder)
            return
        with folder.below(self._place.name) as files:
            names = _names(files)
            if names and not self._notes.begun:
                raise self._refused(
                    "was not written by Ameles, or has lost the file beside it",
                    f"another name for the sink, or put '{self._notes.name}' back beside it",
                )
            expected = [ReleaseFile(number).name for number in range(1, len(names) + 1)]
            if names != expected:
                self._changed = self._was_changed()
            elif names:
                self._look_at_last(files, names[-1])

    def _look_at_last(self, files: OwnFolder, name: str) -> None:
        with files.looking(name) as handle, reading(handle) as file:
            text = file.note()
            told = ReleaseFile() if text is None else self._told(text, VERSION)
            same = told.last > self._note.last or told.tail == self._note.tail
        if text is None or not same or name != told.name:
            self._changed = self._was_changed()
        else:
            self._end = told

    def _look_at_single(self, folder: OwnFolder) -> None:
        """Looks at a file of all steps, which a folder with the same content will replace."""
        with folder.looking(self._place.name) as handle, reading(handle) as file:
            text = file.note()
            if text is None:
                raise self._refused(
                    "was not written by Ameles, or is damaged", "another name for the sink"
                )
            last = self._told(text, 1).last
            tail = file.digest(last)
        if last < 1 or tail is None:
            raise codec.damaged(KIND)
        if last > self._note.last:
            self._note = replace(self._note, last=last, tail=tail)

    def _told(self, text: str, version: int) -> ReleaseFile:
        """What the note in a file says, after checking that the file is ours."""
        document = codec.read(KIND, version, text)
        if document.pop("identity", None) != self._identity:
            raise self._of_another(str(document.get("stream")))
        document.pop("stream", None)
        return ReleaseFile.from_note(document)

    def _was_changed(self) -> StoreRefused:
        return self._refused(
            "was changed since it was written",
            f"put its files back, or move the folder away and keep '{self._notes.name}': all "
            "releases are then written again, the same as before",
        )

    def _of_another(self, whose: str) -> StoreRefused:
        place, note = self._place.name, self._notes.name
        return other_launch(self.name, place, note, stream=self._stream, whose=whose)

    def _refused(self, what: str, tip: str) -> StoreRefused:
        return StoreRefused(
            f"'{self._place.name}' of the sink {self.name} {what}.",
            why="what a sink already has must stay as it was published",
            tip=tip,
        )


def _names(files: OwnFolder) -> list[str]:
    """The files that readers of the folder read."""
    return sorted(
        name for name in files.names() if name.endswith(".parquet") and name[0] not in "._"
    )
