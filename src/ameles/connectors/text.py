"""Text files: they are read as bytes, cut at newlines, and split into fields by DuckDB."""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import numpy as np

from ameles.connectors.compressed import Damaged, Incomplete
from ameles.connectors.declarations import NOTHING, Declarations, Declared
from ameles.connectors.duck import quiet
from ameles.connectors.durable import SPAN
from ameles.connectors.encodings import Script, script_of
from ameles.connectors.file_identity import Present, born, changed, opened, present, vanished
from ameles.connectors.format import DEFAULT, Format
from ameles.connectors.lines import LONGEST, Tally, blocks, chunks, text
from ameles.connectors.marks import Mark, last_newline
from ameles.connectors.rotated_copies import Supply, piece_of, unpacking
from ameles.connectors.same_files import LOOKS, SameFiles, settled
from ameles.connectors.source import Reading, Source, list_names
from ameles.connectors.whole_digest import nothing_of
from ameles.core.exceptions import AmelesError, PlanError, SourceUnreadable
from ameles.measures.fields import literal

_VIEW = "ameles_text"
LINES = f"(SELECT unnest(string_split(chunk, chr(10))) AS line FROM {_VIEW})"


class Dialect(ABC):
    """How a line is an event."""

    header: bool  # the first line of a file names its columns

    tally: Tally | None = None  # for the owner's secret look alone: counts broken lines

    def __init__(
        self, columns: Mapping[str, str], form: Format = DEFAULT, *, raw: bool = False
    ) -> None:
        self.columns = columns
        self.form = form
        self.raw = raw  # relations also have what was given, under given_name

    @abstractmethod
    def names(self, first: str) -> tuple[str, ...]:
        """The columns of a file, from its first line."""

    @abstractmethod
    def check(self, names: tuple[str, ...], file: str) -> None:
        """Refuse a file that lacks a column of the plan, or has it twice."""

    @abstractmethod
    def prepared(self, chunk: bytes) -> tuple[bytes, bool]:
        """A chunk as ``relation`` expects it, and whether its lines need the slower way."""

    @abstractmethod
    def relation(self, names: tuple[str, ...], *, slower: bool) -> str:
        """SQL: the plan's columns of each line of ``LINES`` that is an event."""

    @abstractmethod
    def flaws(self, names: tuple[str, ...]) -> Mapping[str, str]:
        """SQL conditions on a ``line`` of ``LINES`` that is no event; the first that holds is why.

        A line without any, that is not empty, is an event of ``relation``.
        """


@dataclass(frozen=True, slots=True)
class Start:
    """What the beginning of a file says."""

    names: tuple[str, ...]
    body: int  # where its events begin
    whole: bool  # the line that names its columns has its newline, or is too long
    script: Script


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes of a file that are read now."""

    file: Present
    start: int
    mark: Mark  # how far, and what the file looks like there
    names: tuple[str, ...]
    within: bool  # it begins inside a line that was taken before
    end: int
    script: Script


class TextSource(Source):
    """A file or files of lines, which may grow."""

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
        """``take_last`` takes a last line without its newline too, unless files are followed;
        ``rotated`` are patterns of copies."""
        self._rotated = rotated
        self._pattern = pattern
        self._base = base
        self.dialect = self._dialect = dialect
        self._take_last = take_last
        self._nothing = nothing_of(rotated) if rotated else None
        self._same = SameFiles(
            "text",
            declarations,
            fits=Mark.fits,
            start=lambda handle: self._start(handle).body,
            nothing=self._nothing,
        )

    def names(self) -> tuple[str, ...]:
        found = settled(self._files, self._common_names)
        return found if self._dialect.header else self._dialect.names("")

    def _common_names(self, files: list[Present]) -> tuple[str, ...]:
        found, problems = [], []
        files = [file for file in files if not file.copy]
        for file in files:
            try:
                with opened(file) as handle:
                    start = self._start(handle, file.file.name)
                if start.whole or (start.body and self._take_last):  # else still to be written
                    check_start(self._dialect, start, file.file.name)
                    found.append(start.names)
            except (PlanError, SourceUnreadable) as problem:
                problems.append(problem)
        if problems and len(problems) == len(files):
            raise problems[0]
        if not found:
            return tuple(self._dialect.columns)
        everywhere = set(found[0]).intersection(*found[1:])
        return tuple(name for name in found[0] if name in everywhere)

    def paths(self) -> tuple[str, ...]:
        return ()

    def ends(self) -> dict[str, int]:
        """By what a file is and not by its name, which it may lose before it is read."""
        return {_key(file.status): file.status.st_size for file in self._files()}

    def at_launch(self) -> str:
        return self._same.unread(self.reading(None).position)

    def reading(self, position: str | None, ends: Mapping[str, int] | None = None) -> TextReading:
        return settled(self._files, lambda files: self._reading(files, position, ends))

    def _reading(
        self, files: list[Present], position: str | None, ends: Mapping[str, int] | None
    ) -> TextReading:
        matched = self._same.match(files, position)
        whole = ends is not None or not self._take_last
        segments, taken, problems = [], [], list(matched.problems)
        for file, known in matched.files:
            end = file.status.st_size
            if ends is not None:
                end = min(end, ends.get(_key(file.status), 0))
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
            if mark is not None:
                taken.append(mark)
        for supply in matched.supplies:
            segment = self._end_of(supply)
            if segment is not None:
                segments.append(segment)
        taken += matched.gone
        position = self._same.position(taken)
        return TextReading(self._dialect, segments, position, self._files, tuple(problems))

    def _files(self) -> list[Present]:
        """Those of the source, and the copies of those that were rotated."""
        rest = {file.name: file for file in list_names(self._pattern, self._base)}
        if not self._rotated:
            return present(rest.values())
        copies = {
            file.name: file for pattern in self._rotated for file in list_names(pattern, self._base)
        }
        files = present((copies | rest).values())
        for file in files:
            file.copy = not file.names.isdisjoint(copies)
        return files

    def _segment(
        self, file: Present, known: Mark | None, end: int, declared: Declared, *, whole: bool
    ) -> Segment | None:
        """What to read of a file, in whole lines if so; None if it has nothing new."""
        start = known.taken if known else 0
        if end <= start:
            return None
        with opened(file) as handle:
            first = self._start(handle, file.file.name)
            if whole:
                end = last_newline(handle, first.script.whole(start), end, first.script)
            if end <= start:
                return None
            check_start(self._dialect, first, file.file.name)
            if end <= first.body:
                return None  # no event is taken: whatever becomes of the file, it is new
            name = known.name if known else file.file.name
            mark = Mark.of(handle, name, end, declared, first.script)
        within = known is not None and known.within and start > first.body
        start = max(first.script.whole(start), first.body)
        return Segment(file, start, mark, first.names, within, end, first.script)

    def _digested(self, file: Present, mark: Mark | None, known: Mark | None) -> Mark | None:
        """A mark with the digest of all that was taken, if copies are looked for."""
        if mark is None or file.copy:
            return mark
        if self._nothing is None or not mark.offset:
            return mark if mark.digest == self._nothing else replace(mark, digest=self._nothing)
        if mark.digest is not None:
            return mark
        with opened(file) as handle:
            return mark.digested(handle, known)

    def _end_of(self, supply: Supply) -> Segment | None:
        """What to read of a copy."""
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

    def _start(self, handle: int, name: str = "") -> Start:
        """What the first bytes of an open file say; they are read again with every segment."""
        return start_of(self._dialect, lambda size: os.pread(handle, size, 0), name)


class TextReading(Reading):
    """Segments of files, from where they were last taken to where they end now."""

    def __init__(
        self,
        dialect: Dialect,
        segments: list[Segment],
        position: str,
        files: Callable[[], list[Present]],
        problems: tuple[AmelesError, ...] = (),
    ) -> None:
        self._dialect = dialect
        self._segments = segments
        self._position = position
        self._files = files
        self._problems = problems

    @property
    def problems(self) -> tuple[AmelesError, ...]:
        """Files that cannot be read now, each with its fix."""
        return self._problems

    @property
    def size(self) -> int:
        """How many bytes are unread."""
        return sum(segment.end - segment.start for segment in self._segments)

    @property
    def position(self) -> str:
        """What to store with the rows' counts; the next reading begins there."""
        return self._position

    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        for segment in self._segments:
            if segment.mark.rotated:
                yield from self._copied(duck, segment)
                continue
            with self._opened(segment) as handle:
                read, tally = _up_to(_from_start(handle, segment), segment), self._dialect.tally
                lines = blocks(read, within=segment.within, script=segment.script, tally=tally)
                yield from handed_over(duck, self._dialect, segment.names, lines)
                if not segment.mark.fits(handle):
                    raise changed(segment.file.file.name)

    def _copied(self, duck: duckdb.DuckDBPyConnection, segment: Segment) -> Iterator[str]:
        """The end of a file, from its copy."""
        name = segment.file.file.name
        with self._opened(segment) as handle, unpacking(handle, name) as stream:
            piece, tally = piece_of(stream, segment.start, segment.end), self._dialect.tally
            read = _up_to(piece, segment)
            lines = blocks(read, within=segment.within, script=segment.script, tally=tally)
            yield from handed_over(duck, self._dialect, segment.names, lines)

    @contextlib.contextmanager
    def _opened(self, segment: Segment) -> Iterator[int]:
        """The file of a segment, under another name if it was renamed since it was listed."""
        with contextlib.ExitStack() as stack:
            yield self._found(segment, stack)

    def _found(self, segment: Segment, stack: contextlib.ExitStack) -> int:
        wanted, files = _key(segment.file.status), [segment.file]
        for _ in range(LOOKS):
            for file in files:
                if _key(file.status) == wanted:
                    with contextlib.suppress(AmelesError):  # renamed just now
                        handle = stack.enter_context(opened(file))
                        if born(handle) == segment.mark.born:
                            return handle
            files = self._files()
        raise vanished(segment.file.file.name)


def start_of(dialect: Dialect, head_of: Callable[[int], bytes], name: str) -> Start:
    """What the first bytes of a file say; ``head_of`` gives so many of them."""
    head = head_of(SPAN)
    script = script_of(dialect.form.encoding, head)
    mark = len(script.mark) if head.startswith(script.mark) else 0
    if not dialect.header:
        return Start(dialect.names(""), mark, True, script)
    longest = LONGEST * script.width
    end = script.after_first_newline(head)
    if not end and len(head) == SPAN:
        head = head_of(longest + script.width)
        end = script.after_first_newline(head)
    first = head[: end or len(head)]
    line = text(script.utf8(first[mark:])).rstrip("\r\n")
    names = dialect.names(line) if line and len(first) <= longest else ()
    return Start(names, len(first), bool(end) or len(first) > longest, script)


def check_start(dialect: Dialect, start: Start, name: str) -> None:
    """Refuses a file that has not the plan's columns, or a first line without end."""
    if dialect.header and start.body > LONGEST * start.script.width:
        raise PlanError(
            f"The first line of the file '{name}' is longer than 1 MiB.",
            why="the first line of a CSV file names its columns",
            tip=f"a first line such as {dialect.form.delimiter.join(dialect.columns)}, and then a "
            "newline",
        )
    dialect.check(start.names, name)


def seen(file: Present) -> Mark:
    """The mark of a file of which nothing was taken: by it the file is known when it is renamed."""
    with opened(file) as handle:
        return Mark.of(handle, file.file.name, 0)


def handed_over(
    duck: duckdb.DuckDBPyConnection,
    dialect: Dialect,
    names: tuple[str, ...],
    lines: Iterable[bytes],
) -> Iterator[str]:
    """Blocks of lines as relations, one at a time; what follows a stream uses this too."""
    try:
        for block in lines:
            prepared = [dialect.prepared(chunk) for chunk in chunks(block, dialect.tally)]
            if not prepared:
                continue
            held = np.empty(len(prepared), dtype=object)
            held[:] = [text(chunk) for chunk, _ in prepared]
            with quiet("reading lines"):
                duck.register(_VIEW, {"chunk": held})
            if dialect.tally is not None:
                dialect.tally.read += len(block)
                _count_flaws(duck, dialect.flaws(names), dialect.tally)
            slower = any(needs for _, needs in prepared)
            yield dialect.relation(names, slower=slower)
    finally:
        with contextlib.suppress(duckdb.Error):  # the connection may be closed by now
            duck.unregister(_VIEW)


def _count_flaws(duck: duckdb.DuckDBPyConnection, flaws: Mapping[str, str], tally: Tally) -> None:
    cases = " ".join(f"WHEN {holds} THEN {literal(name)}" for name, holds in flaws.items())
    lines = f"SELECT CASE {cases} END AS flaw FROM {LINES} WHERE line <> ''"
    with quiet("counting lines"):
        found = duck.execute(f"SELECT flaw, count(*) FROM ({lines}) GROUP BY flaw").fetchall()
    tally.flaws.update({flaw: count for flaw, count in found if flaw is not None})


def _from_start(handle: int, segment: Segment) -> Callable[[int], bytes]:
    """Reads an open file, from where a segment begins."""
    place = segment.start

    def read(size: int) -> bytes:
        nonlocal place
        piece = os.pread(handle, size, place)
        place += len(piece)
        return piece

    return read


def _up_to(source: Callable[[int], bytes], segment: Segment) -> Callable[[int], bytes]:
    """Reads a segment to its end, which must still be there."""
    left = segment.end - segment.start

    def read(size: int) -> bytes:
        nonlocal left
        if not left:
            return b""
        piece = b""
        with contextlib.suppress(Incomplete, Damaged):
            piece = source(min(size, left))
        if not piece:
            raise changed(segment.file.file.name)
        left -= len(piece)
        return piece

    return read


def _key(status: os.stat_result) -> str:
    """What a file is, whatever its name, while a program runs."""
    return f"{status.st_dev}:{status.st_ino}"
