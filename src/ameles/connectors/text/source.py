"""Text files: read as bytes and cut at newlines; DuckDB splits the lines into fields."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Self

from ameles.connectors.declarations import NOTHING, Declarations, Declared
from ameles.connectors.files.compressed import is_compressed
from ameles.connectors.files.file_marks import Mark, last_newline
from ameles.connectors.files.identity import ChangedMeanwhile, Present, opened
from ameles.connectors.files.matching import match
from ameles.connectors.files.refusals import carriage_returns, packed
from ameles.connectors.files.rotated_copies import Supply
from ameles.connectors.files.same_files import SameFiles
from ameles.connectors.files.source import EndOf, FileSource
from ameles.connectors.files.whole_digest import nothing_of
from ameles.connectors.format import kind_of
from ameles.connectors.reading import Reading
from ameles.connectors.source import SourceRequest
from ameles.connectors.text.dialect import Dialect, Start, check_start, start_of, undecided
from ameles.connectors.text.dialects import DIALECTS
from ameles.connectors.text.piece import Segment, TextFiles, TextPiece
from ameles.core.exceptions import AmelesError, PlanError, SourceUnreadable


class TextSource(FileSource):
    """A file or files of lines, which may grow."""

    @classmethod
    def claims(cls, text: str) -> bool:
        return kind_of(text) in DIALECTS and not is_compressed(text.rstrip("*."))

    @classmethod
    def _opened(cls, request: SourceRequest) -> Self:
        kind = DIALECTS[kind_of(request.text) or "csv"]
        return cls(
            request.text,
            request.base,
            kind(request.columns, request.form, raw=request.raw),
            request.declarations,
            take_last=request.take_last,
            rotated=request.rotated,
        )

    def __init__(
        self,
        pattern: str,
        base: Path,
        dialect: Dialect,
        declarations: Declarations = NOTHING,
        *,
        take_last: bool = False,
        rotated: Sequence[str] = (),
    ) -> None:
        """``take_last`` also takes a last line without a newline, unless files are followed;
        ``rotated`` are patterns of copies."""
        self._listed = TextFiles(pattern, base, tuple(rotated))
        self._pattern = pattern
        self._base = base
        self._dialect = dialect
        self._take_last = take_last
        self._nothing = nothing_of(rotated) if rotated else None
        self._same = SameFiles(
            "text",
            declarations,
            fits=Mark.fits,
            ended=self._ended,
            start=lambda handle: self._start(handle).body,
            nothing=self._nothing,
        )

    @property
    def dialect(self) -> Dialect:
        return self._dialect

    def names(self) -> tuple[str, ...]:
        common = super().names()
        return common if self._dialect.header else self._dialect.names("")

    def refuses_launch(self) -> AmelesError | None:
        """Files may not all have carriage returns where their first line should end.

        What comes before the first newline names the columns, and is public.
        """
        if refusal := undecided(self._dialect):
            return refusal
        files = [file for file in self._present() if not file.copy]
        if files and all(map(self._returns, files)):
            return carriage_returns(files[0].file.name, self._dialect.form.encoding)
        return super().refuses_launch()

    def _returns(self, file: Present) -> bool:
        """Whether a file has carriage returns in place of newlines, if it can be read."""
        try:
            with opened(file) as handle:
                return self._start(handle).returns
        except (SourceUnreadable, ChangedMeanwhile):
            return False

    def _present(self) -> list[Present]:
        return self._listed.present(self._looks)

    def _common_names(self, files: list[Present]) -> tuple[str, ...]:
        return super()._common_names([file for file in files if not file.copy])

    def _looking(
        self, files: list[Present]
    ) -> AbstractContextManager[Callable[[Present], Sequence[str] | None]]:
        return nullcontext(self._names_in)

    def _names_in(self, file: Present) -> Sequence[str] | None:
        with opened(file) as handle:
            start = self._start(handle, file.file.name)
        if not (start.whole or (start.body and self._take_last)):
            return None
        self._check(start, file.file.name)
        return start.names

    def _reading(self, files: list[Present], position: str | None, end_of: EndOf | None) -> Reading:
        matched = match(self._same, files, position)
        whole = end_of is not None or not self._take_last
        segments, problems = [], list(matched.problems)
        for place, file in matched.open:
            known, end = matched.marks[place], file.status.st_size
            if known is not None and self._ended(file, known):
                continue
            if end_of is not None:
                end = min(end, end_of(file) or 0)
            if file in matched.held:
                end = 0
            mark, declared = known, matched.declared(file, known)
            try:
                segment = self._segment(file, known, end, declared, whole=whole)
                if segment is not None:
                    segments.append(segment)
                    mark = segment.mark
                elif known is None:
                    mark = seen(file)
                mark = self._digested(file, mark, known)
            except (PlanError, SourceUnreadable) as problem:
                problems.append(problem)
            matched.marks[place] = mark
        for supply in matched.supplies:
            segment = self._end_of(supply)
            if segment is not None:
                segments.append(segment)
        pieces = (TextPiece(self._dialect, segment, self._listed) for segment in segments)
        return Reading(tuple(pieces), self._same.position(matched.taken()), tuple(problems))

    def _ended(self, file: Present, mark: Mark) -> bool:
        """Whether a file has nothing after what was taken, and its mark lacks nothing."""
        return file.status.st_size <= mark.taken and self._has_digest(file, mark)

    def _segment(
        self, file: Present, known: Mark | None, end: int, declared: Declared, *, whole: bool
    ) -> Segment | None:
        """The segment to read of a file, in whole lines if asked; None if it has nothing new."""
        start = known.taken if known else 0
        if end <= start or (known is not None and known.rotated and is_compressed(file.file.name)):
            return None  # all of a copy was read; its size on disk is that of the compressed bytes
        with opened(file) as handle:
            first = self._start(handle, file.file.name)
            if whole:
                end = last_newline(handle, first.script.whole(start), end, first.script)
            if end <= start:
                return None
            self._check(first, file.file.name)
            if end <= first.body:
                return None  # no event was read: the file still counts as new
            name = known.name if known else file.file.name
            mark = Mark.of(handle, name, end, declared, first.script)
        within = known is not None and known.within and start > first.body
        start = max(first.script.whole(start), first.body)
        return Segment(file, start, mark, first.names, within, end, first.script)

    def _digested(self, file: Present, mark: Mark | None, known: Mark | None) -> Mark | None:
        """A mark with the digest of all that was read, if the plan names copies."""
        if mark is None or self._has_digest(file, mark):
            return mark
        if self._nothing is None or not mark.offset:
            return replace(mark, digest=self._nothing)
        with opened(file) as handle:
            return mark.digested(handle, known)

    def _has_digest(self, file: Present, mark: Mark) -> bool:
        """Whether a mark has the digest that it should have; that of a copy is not changed."""
        if file.copy:
            return True
        if self._nothing is None or not mark.offset:
            return mark.digest == self._nothing
        return mark.digest is not None

    def _end_of(self, supply: Supply) -> Segment | None:
        """The segment to read of a copy."""
        content = supply.content
        name = content.file.file.name
        first = start_of(self._dialect, lambda size: content.first, name)
        check_start(self._dialect, first, name)
        start = max(supply.start, first.body)
        if content.lines <= start:
            return None
        within = supply.within and supply.start > first.body
        end = content.lines
        return Segment(content.file, start, content.whole, first.names, within, end, first.script)

    def _check(self, start: Start, name: str) -> None:
        """Refuses a file whose first line does not name the plan's columns."""
        try:
            check_start(self._dialect, start, name)
        except PlanError:
            if is_compressed(name):
                copies = not self._dialect.form.encoding.startswith("utf-16")
                raise packed(name, self._pattern, copies=copies) from None
            raise

    def _start(self, handle: int, name: str = "") -> Start:
        """What the first bytes of an open file say; they are read again with every segment."""
        return start_of(self._dialect, lambda size: os.pread(handle, size, 0), name)


def seen(file: Present) -> Mark:
    """The mark of a file of which nothing was read; it identifies the file after a rename."""
    with opened(file) as handle:
        return Mark.of(handle, file.file.name, 0)
