"""Lines of text from bytes, in bounded memory; what one line is does not depend on any other.

A newline ends a line, whatever stands before it: no quote, NUL or broken character can reach
across.  A line that is longer than a limit, or that has a NUL, counts nowhere.

>>> import io
>>> [text(chunk) for block in blocks(io.BytesIO(b"a,1\\r\\nb,2\\0\\n\\nc,3").read)
...  for chunk in chunks(block)]
['a,1\\n\\n', 'c,3\\n']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ameles.connectors.encodings import UTF_8, Script

BLOCK = 8 << 20  # bytes that are read at a time
CHUNK = 64 << 10  # bytes that DuckDB splits at a time, about
LONGEST = 1 << 20  # bytes of a line without its newline


TOO_LONG = "too long"
WITH_NUL = "NUL"


@dataclass
class Tally:
    """Lines that count nowhere, by what is wrong with them; only ``ameles check`` keeps one.

    Exact and secret: nothing that a run says or stores may come from here.
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
    """Whole lines, many at a time, in UTF-8; the last gets its newline if it has none.

    ``within`` says that the bytes begin inside a line, which is left out.
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
        # Already too long, however it goes on: no unit is shorter in UTF-8 than one byte.
        if len(rest) > LONGEST * script.width:
            rest, skipping = rest[script.whole(len(rest)) :], True
            if tally is not None:
                tally.flaws[TOO_LONG] += 1
        data = piece = b""  # the next ones may come in hours: nothing is held until then
        if lines:
            yield lines.pop()
    if rest and not skipping:
        yield script.utf8(rest) + b"\n"


def chunks(block: bytes, tally: Tally | None = None) -> Iterator[bytes]:
    """The lines of a block without those that count nowhere, each chunk some whole lines."""
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
