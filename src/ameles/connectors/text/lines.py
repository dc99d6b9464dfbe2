"""Cuts bytes into lines, in bounded memory; no line depends on another.

A newline always ends a line: a quote, a NUL or a broken character has no effect beyond it.  A line
that is longer than a limit, or that has a NUL, counts nowhere.

>>> import io
>>> [text(chunk) for block in blocks(io.BytesIO(b"a,1\\r\\nb,2\\0\\n\\nc,3").read)
...  for chunk in chunks(block)]
['a,1\\n\\n', 'c,3\\n']
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


@dataclass
class Tally:
    """The number of lines that count nowhere, by what is wrong; only ``ameles check`` keeps one.

    It is exact and secret: nothing that a run prints or stores may depend on it.
    """

    flaws: Counter[str] = field(default_factory=Counter)
    read: int = 0  # bytes, for progress

    def __repr__(self) -> str:
        return "<Tally>"


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
        end = script.after_last_newline(data)
        lines = [script.utf8(data[:end])] if end else []
        rest = data[end:]
        # The line is already too long, whatever follows: in UTF-8 every unit takes at least a byte.
        if len(rest) > LONGEST * script.width:
            rest, skipping = rest[script.whole(len(rest)) :], True
            if tally is not None:
                tally.flaws[TOO_LONG] += 1
        data = piece = b""  # the next read may wait for hours: keep no data meanwhile
        if lines:
            yield lines.pop()
    if rest and not skipping:
        yield script.utf8(rest) + b"\n"


def chunks(block: bytes, tally: Tally | None = None) -> Iterator[bytes]:
    """The lines of a block in chunks of whole lines, without the lines that count nowhere."""
    start = 0
    while start < len(block):
        end = block.rfind(b"\n", start, start + CHUNK) + 1
        if not end:
            end = block.index(b"\n", start + CHUNK) + 1
            if end - 1 - start > LONGEST:
                start = end
                if tally is not None:
                    tally.flaws[TOO_LONG] += 1
                continue
        chunk, start = block[start:end], end
        if b"\0" in chunk:
            lines = chunk.split(b"\n")
            kept = [line for line in lines if b"\0" not in line]
            if tally is not None:
                tally.flaws[WITH_NUL] += len(lines) - len(kept)
            chunk = b"\n".join(kept)
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n")
        yield chunk


def text(chunk: bytes) -> str:
    """A chunk as text: broken UTF-8 is replaced inside its own line."""
    return chunk.decode("utf-8", errors="replace")
