"""Cuts bytes into lines, in bounded memory; no line depends on another.

A newline always ends a line: a quote, a NUL or a broken character has no effect beyond it.  A line
that is longer than a limit, or that has a NUL, counts nowhere.

>>> import io
>>> [text(chunk) for block in blocks(io.BytesIO(b"a,1\\r\\nb,2\\0\\n\\nc,3").read)
...  for chunk in chunks(block)]
['a,1\\n\\n\\n', 'c,3\\n']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ameles.connectors.text.encodings import UTF_8, Script

BLOCK = 8 << 20  # bytes that are read at a time
CHUNK = 64 << 10  # about how many bytes DuckDB splits at a time
LONGEST = 1 << 20  # bytes of a line without its newline


TOO_LONG = "too long"
WITH_NUL = "NUL"
NAMED = 5  # broken lines of each kind whose place is kept


@dataclass(frozen=True, slots=True, repr=False)
class LinePlace:
    """A line of a file, by its number from 1; the file is empty if the source has no files."""

    file: str
    line: int

    def __repr__(self) -> str:
        return "<LinePlace>"


@dataclass
class Tally:
    """The number of lines that count nowhere, by what is wrong, and where the first ones are.

    Only ``ameles check`` keeps one.  It is exact and secret: nothing that a run prints or stores
    may depend on it.
    """

    flaws: Counter[str] = field(default_factory=Counter)
    read: int = 0  # bytes, for progress
    places: dict[str, list[LinePlace]] = field(default_factory=dict)
    next: LinePlace = LinePlace("", 1)  # the line that is read next
    # Of the block that is handed over: from this line of it on, these lines of a file.
    starts: list[tuple[int, LinePlace]] = field(default_factory=lambda: [(0, LinePlace("", 1))])

    def __repr__(self) -> str:
        return "<Tally>"

    def opened(self, file: str, line: int) -> None:
        """Says that the next block begins with this line of this file."""
        self.next = LinePlace(file, line)

    def passed(self, lines: int) -> None:
        """Says that so many lines of the file were read."""
        self.next = LinePlace(self.next.file, self.next.line + lines)

    def begun(self, block: bytes) -> None:
        """Says where the block begins that is read now."""
        self.starts = [(0, self.next)]
        self.passed(block.count(b"\n"))

    def broken(self, flaw: str, place: LinePlace) -> None:
        """Counts a broken line, and keeps its place if it is one of the first."""
        self.flaws[flaw] += 1
        self.found(flaw, place)

    def found(self, flaw: str, place: LinePlace) -> None:
        """Keeps the place of a broken line that was counted, if it is one of the first."""
        known = self.places.setdefault(flaw, [])
        if len(known) < NAMED:
            known.append(place)

    def place(self, line: int) -> LinePlace:
        """The place of a line of the block, counted from 0."""
        first, start = next(one for one in reversed(self.starts) if one[0] <= line)
        return LinePlace(start.file, start.line + line - first)


def blocks(
    read: Callable[[int], bytes],
    *,
    within: bool = False,
    script: Script = UTF_8,
    tally: Tally | None = None,
) -> Iterator[bytes]:
    """Blocks of whole lines in UTF-8; a newline is added to the last line if it has none.

    ``within`` says that the bytes begin inside a line; the rest of that line is left out.
    """
    rest, skipping = b"", within
    while piece := read(BLOCK):
        data = rest + piece
        if skipping:
            start = script.after_first_newline(data)
            if not start:
                rest = data[script.whole(len(data)) :]
                data = piece = b""
                continue
            data, skipping = data[start:], False
            if tally is not None:
                tally.passed(1)
        end = script.after_last_newline(data)
        lines = [script.utf8(data[:end])] if end else []
        rest = data[end:]
        # The line is already too long, whatever follows: in UTF-8 every unit takes at least a byte.
        if len(rest) > LONGEST * script.width:
            rest, skipping = rest[script.whole(len(rest)) :], True
        data = piece = b""  # the next read may wait for hours: keep no data meanwhile
        if tally is not None:
            if lines:
                tally.begun(lines[0])
            if skipping:
                tally.broken(TOO_LONG, tally.next)
        if lines:
            yield lines.pop()
    if rest and not skipping:
        last = script.utf8(rest) + b"\n"
        if tally is not None:
            tally.begun(last)
        yield last


def chunks(block: bytes, tally: Tally | None = None) -> Iterator[bytes]:
    """The lines of a block in chunks of whole lines; lines that count nowhere are empty in them, so
    that the others keep their numbers."""
    start = line = 0
    while start < len(block):
        end = block.rfind(b"\n", start, start + CHUNK) + 1
        if not end:
            end = block.index(b"\n", start + CHUNK) + 1
            if end - 1 - start > LONGEST:
                start = end
                if tally is not None:
                    tally.broken(TOO_LONG, tally.place(line))
                    line += 1
                yield b"\n"
                continue
        chunk, start = block[start:end], end
        if b"\0" in chunk:
            lines = chunk.split(b"\n")
            if tally is not None:
                for number, one in enumerate(lines, start=line):
                    if b"\0" in one:
                        tally.broken(WITH_NUL, tally.place(number))
            chunk = b"\n".join(b"" if b"\0" in one else one for one in lines)
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n")
        if tally is not None:
            line += chunk.count(b"\n")
        yield chunk


def text(chunk: bytes) -> str:
    """A chunk as text: broken UTF-8 is replaced inside its own line."""
    return chunk.decode("utf-8", errors="replace")
