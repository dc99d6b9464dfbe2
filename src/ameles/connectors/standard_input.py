"""Standard input: events that pass once, in blocks of whole lines; it cannot be read again.

What has been read and not been committed when the program ends is lost: whoever writes must keep
what matters, or write to a file that is followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import islice

import duckdb

from ameles.connectors.csv_lines import CsvLines
from ameles.connectors.dialect import Dialect
from ameles.connectors.encodings import UTF_8, script_of
from ameles.connectors.format import DEFAULT, Format
from ameles.connectors.json_lines import JsonLines
from ameles.connectors.line_blocks import handed_over
from ameles.connectors.lines import blocks, text
from ameles.connectors.source import Reading
from ameles.core import codec

DIALECTS: dict[str, type[Dialect]] = {"csv": CsvLines, "jsonl": JsonLines}
PIECE = 1 << 20  # bytes that are read at a time at the most
POSITION = codec.write("position", 1, {"kind": "standard input"})


class StandardInput:
    """Lines of a descriptor, as they come; the first line names the columns of CSV."""

    def __init__(
        self,
        kind: str,
        columns: Mapping[str, str],
        descriptor: int = 0,
        form: Format = DEFAULT,
    ) -> None:
        self.dialect = self._dialect = DIALECTS[kind](columns, form)
        self._names = () if self._dialect.header else self._dialect.names("")
        self._descriptor = descriptor

    def pieces(self) -> Iterator[bytes]:
        """Whole lines in UTF-8, as many as have come, until the input ends; a line without its
        newline counts if the input ends with it."""
        head, first = b"", True
        encoding = self._dialect.form.encoding
        while encoding == "utf-16" and len(head) < 2:  # no line is shorter
            piece = os.read(self._descriptor, PIECE)
            if not piece:
                break
            head += piece
            piece = b""
        script = script_of(encoding, head)

        def read(size: int) -> bytes:
            nonlocal head
            piece, head = head or os.read(self._descriptor, min(size, PIECE)), b""
            return piece

        lines = blocks(read, script=script, tally=self._dialect.tally)
        # No name holds them while the next are awaited, which may come in hours.
        while held := list(islice(lines, 1)):
            yield held.pop().removeprefix(UTF_8.mark if first else b"")
            first = False

    def reading(self, pieces: list[bytes]) -> Reading:
        """Some pieces, in order, to be counted together."""
        kept = [block for block in pieces if block]
        if not self._names and kept:
            line, _, kept[0] = kept[0].partition(b"\n")
            self._names = self._dialect.names(text(line).rstrip("\r"))
            self._dialect.check(self._names, "standard input")
        return _Blocks(self._dialect, self._names, [block for block in kept if block])


class _Blocks(Reading):
    """Lines in memory."""

    def __init__(self, dialect: Dialect, names: tuple[str, ...], blocks: list[bytes]) -> None:
        self._dialect = dialect
        self._names = names
        self._blocks = blocks

    def __repr__(self) -> str:
        return "<lines of standard input>"

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return sum(len(block) for block in self._blocks)

    @property
    def position(self) -> str:
        """That there is none to go back to."""
        return POSITION

    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        return handed_over(duck, self._dialect, self._names, self._blocks)
