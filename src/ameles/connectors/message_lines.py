r"""Messages of brokers and databases as lines: a message is one event, and so one line.

What parses lines of files then parses messages too, with the same casts, ids and limits.  A newline
inside a JSON message is a space between its parts; a CSV message with one has more than one line,
and counts nowhere.  So does an empty message.

>>> b"".join(line_blocks([b'{"a": 1,\n "b": 2}\n', None, b'{"a": 3}'], "jsonl"))
b'{"a": 1,  "b": 2}\n{"a": 3}\n'
>>> b"".join(line_blocks([b"1,north\r\n", b'2,"so\nuth"', b"3,east"], "csv"))
b'1,north\n3,east\n'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ameles.connectors.text.encodings import UTF_8, Script
from ameles.connectors.text.lines import BLOCK


def line_blocks(
    messages: Iterable[bytes | None], records: str, script: Script = UTF_8
) -> Iterator[bytes]:
    """Blocks of whole lines, one line for each message; ``records`` is the name of a dialect."""
    lines: list[bytes] = []
    size = 0
    for message in messages:
        line = _line(script.utf8(message), records) if message else None
        if line is not None:
            lines.append(line)
            size += len(line)
        if size >= BLOCK:
            yield b"".join(lines)
            lines, size = [], 0
    if lines:
        yield b"".join(lines)


def _line(message: bytes, records: str) -> bytes | None:
    """A message with one newline, at its end; None if it has another that ends a line."""
    body = message.rstrip(b"\r\n")
    if b"\n" in body:
        if records == "csv":
            return None
        body = body.replace(b"\n", b" ")
    return body + b"\n"
