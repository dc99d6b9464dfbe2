"""Standard input: events come once, in blocks of whole lines; it cannot be read again.

Events that were read but not committed when the program ends are lost: the writer must keep what
matters, or write to a file that is followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Self

from ameles.connectors.format import DEFAULT, Format
from ameles.connectors.reading import Reading
from ameles.connectors.source import BlockSource, SourceRequest
from ameles.connectors.text.dialect import Dialect
from ameles.connectors.text.dialects import DIALECTS
from ameles.connectors.text.encodings import UTF_8, script_of
from ameles.connectors.text.line_blocks import LinesPiece
from ameles.connectors.text.lines import blocks, text
from ameles.core import codec

PIECE = 1 << 20  # most bytes that are read at a time
DESCRIPTOR = 0
POSITION = codec.write("position", 1, {"kind": "standard input"})


class StandardInput(BlockSource):
    """Lines of a descriptor, as they come; for CSV the first line names the columns."""

    @classmethod
    def claims(cls, text: str) -> bool:
        return text == "-"

    @classmethod
    def describe(cls, text: str) -> str:
        return "standard input"

    @classmethod
    def open(cls, request: SourceRequest) -> Self:
        return cls(request.records, request.columns, DESCRIPTOR, request.form)

    def __init__(
        self,
        kind: str,
        columns: Mapping[str, str],
        descriptor: int = 0,
        form: Format = DEFAULT,
    ) -> None:
        self._dialect = DIALECTS[kind](columns, form)
        self._names = () if self._dialect.header else self._dialect.names("")
        self._descriptor = descriptor

    @property
    def dialect(self) -> Dialect:
        """How its lines are events."""
        return self._dialect

    def incoming(self) -> Iterator[bytes]:
        """Blocks of the whole lines that have come, in UTF-8, until the input ends; a last line
        without a newline counts."""
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
        # Keep no reference to a block while waiting for the next, which may take hours.
        while held := list(islice(lines, 1)):
            yield held.pop().removeprefix(UTF_8.mark if first else b"")
            first = False

    def reading(self, blocks: list[bytes]) -> Reading:
        kept = [block for block in blocks if block]
        if not self._names and kept:
            line, _, kept[0] = kept[0].partition(b"\n")
            self._names = self._dialect.names(text(line).rstrip("\r"))
            self._dialect.check(self._names, "standard input")
            if (tally := self._dialect.tally) is not None:
                tally.starts = [(0, tally.place(1))]
        kept = [block for block in kept if block]
        pieces = (LinesPiece(self._dialect, self._names, tuple(kept)),) if kept else ()
        return Reading(pieces, POSITION)
