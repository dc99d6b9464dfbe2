r"""The body of a posted batch as lines, whole or not at all.

A body is refused for its framing only: its type, its size, broken compression, broken JSON, a first
line of CSV without the plan's columns.  Whether a row makes sense is decided later, and nobody
learns it: the answer to a sender must not depend on what the other rows of a batch are like.

>>> events_in_json(b'[{"age": 40}, {\n"age": 41}]').lines
b'{"age": 40}\n { "age": 41}\n'
"""

from __future__ import annotations

import re
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import orjson

from ameles.connectors.http_source import JSON, HttpSource, csv_form
from ameles.service.ingest.json_syntax import is_json
from ameles.service.refusals import Refused

MOST_BYTES = 1 << 20
MOST_EVENTS = 1_000
LONGEST_HEADER = 1 << 14
MOST_MEMBERS = 1_000  # as many as events: a sender may have packed each by itself
AT_ONCE = 1 << 14
_CHARSET = re.compile(r"charset\s*=\s*\"?([^\s\";]+)", re.IGNORECASE)
_SPACE = b" \t\r\n"
_SPACED = bytes.maketrans(b"\r\n", b"  ")

ARRAY = frozenset({"application/json"})
LINES = frozenset({"application/x-ndjson", "application/jsonl", "application/x-jsonlines"})
CSV = frozenset({"text/csv"})
KINDS = ARRAY | LINES | CSV
TYPES = "application/json, application/x-ndjson or text/csv"
NOT_GUESSED = "how a body is written is not guessed from its bytes"


@dataclass(frozen=True, slots=True)
class Framed:
    """Whole lines of events, and how they are written."""

    form: str
    lines: bytes = field(repr=False)


def framed(body: bytes, content_type: str, encoding: str, source: HttpSource) -> Framed:
    """The events of a body, as its headers say that they are written."""
    kind, _, parameters = content_type.partition(";")
    kind = kind.strip().lower()
    charset = _CHARSET.search(parameters)
    if charset is not None and charset[1].lower() not in ("utf-8", "utf8"):
        raise _type("Events are posted in UTF-8.", "other text would be read wrongly")
    if kind not in KINDS:
        raise _type("The type of this body is not one that Ameles reads.", NOT_GUESSED)
    plain = unpacked(body, encoding).removeprefix(BOM_UTF8)
    if kind in ARRAY:
        return events_in_json(plain)
    return events_in_lines(plain) if kind in LINES else events_in_csv(plain, source)


def unpacked(body: bytes, encoding: str) -> bytes:
    """The body without its compression, within the limit of its size."""
    if len(body) > MOST_BYTES:
        raise too_large()
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return body
    if name != "gzip":
        raise _type("The compression of this body is not one that Ameles reads.", NOT_GUESSED)
    try:
        return b"".join(_members(body))
    except zlib.error:
        raise _broken("The compressed body is broken.") from None


def _members(body: bytes) -> Iterator[bytes]:
    """The pieces of an unpacked body, which may have been packed in several parts (RFC 1952)."""
    left, size, members = memoryview(body), 0, 0
    while left or not members:
        members += 1
        if members > MOST_MEMBERS:
            raise _broken("The compressed body has too many parts.")
        unpacking = zlib.decompressobj(wbits=31)
        while not unpacking.eof:
            if not left:
                raise _broken("The compressed body is broken.")
            some = left[:AT_ONCE]  # what follows a part is copied, so not all of the rest
            piece = unpacking.decompress(some, MOST_BYTES + 1 - size)
            size += len(piece)
            if size > MOST_BYTES:
                raise too_large()
            left = left[len(some) - len(unpacking.unused_data) :]
            yield piece


def events_in_json(plain: bytes) -> Framed:
    """The events of a JSON array, each on a line of its own and otherwise as it was written."""
    events = _checked(plain)
    if plain.lstrip(_SPACE)[:1] != b"[":
        raise _broken("The body is not a JSON array.")
    if (
        isinstance(events, list)
        and len(events) <= MOST_EVENTS
        and {type(event) for event in events} == {dict}
        and plain.count(b"{") == plain.count(b"}") == len(events)
        and plain.count(b"},") == len(events) - 1
    ):  # there is no brace inside of an event
        first, last = plain.index(b"["), plain.rindex(b"]")
        alone = plain[first + 1 : last].translate(_SPACED)  # a string has no newline
        return Framed(JSON, alone.replace(b"},", b"}\n") + b"\n")
    signs = np.frombuffer(_without_escapes(plain), dtype=np.uint8)
    outside = np.cumsum(signs == ord('"')) & 1 == 0  # of strings
    opening = ((signs == ord("[")) | (signs == ord("{"))) & outside
    closing = ((signs == ord("]")) | (signs == ord("}"))) & outside
    depth = np.cumsum(opening, dtype=np.int32) - np.cumsum(closing, dtype=np.int32)
    lines = np.frombuffer(plain, dtype=np.uint8).copy()
    lines[(signs == ord("\n")) | (signs == ord("\r"))] = ord(" ")  # a string has none
    lines[(signs == ord(",")) & outside & (depth == 1)] = ord("\n")
    first, last = plain.index(b"["), plain.rindex(b"]")
    events_alone = lines[first + 1 : last].tobytes() + b"\n"
    lines.fill(0)  # numpy keeps small arrays for later, as they are
    if not events_alone.strip(_SPACE):
        return Framed(JSON, b"")
    if events_alone.count(b"\n") > MOST_EVENTS:
        raise _too_many()
    return Framed(JSON, events_alone)


def events_in_lines(plain: bytes) -> Framed:
    """The events of JSON Lines, of which each is valid JSON."""
    alone = plain.removesuffix(b"\n")
    if _one_object_a_line(alone):
        return Framed(JSON, alone + b"\n")
    lines = [line for line in alone.split(b"\n") if line.strip(_SPACE)]
    if len(lines) > MOST_EVENTS:
        raise _too_many()
    for line in lines:
        _checked(line)
    return Framed(JSON, _joined(lines))


def _one_object_a_line(plain: bytes) -> bool:
    """Whether each line is an object without another inside, and there are not too many lines.

    All lines are parsed at once, as an array.  If it has as many objects as there are lines, and as
    there are opening braces, then no such brace is in a string or inside of an object.  Each line
    begins with one, after a line that ends with a closing one; so each line is one of the objects.

    >>> _one_object_a_line(b'{"a": 1}\\n{"a": 2}'), _one_object_a_line(b'{"a": "}\\n{"}')
    (True, False)
    """
    count = plain.count(b"\n") + 1
    if count > MOST_EVENTS or plain.count(b"{") != count or plain[:1] != b"{":
        return False
    together = plain.replace(b"}\n{", b"},{")
    if b"\n" in together:
        return False
    with suppress(orjson.JSONDecodeError):  # it also refuses numbers that are too large for it
        events = orjson.loads(b"[%b]" % together)
        return len(events) == count and set(map(type, events)) == {dict}
    return False


def events_in_csv(plain: bytes, source: HttpSource) -> Framed:
    """The lines of CSV; the first one names the columns, unless the plan does."""
    _text(plain)
    lines = [line for line in plain.split(b"\n") if line.strip(b"\r")]
    header = ""
    if source.csv_header:
        header = _text(lines.pop(0)).rstrip("\r") if lines else ""
        if len(header) > LONGEST_HEADER or source.csv_refusal(header):
            raise _broken(
                "The first line lacks a column of the plan, or has it twice.",
                why="the first line of CSV names its columns",
            )
    if len(lines) > MOST_EVENTS:
        raise _too_many()
    return Framed(csv_form(header), _joined(lines))


def too_large() -> Refused:
    """The refusal of a body that is too large, packed or not."""
    return Refused(413, "The body is too large.", why="at most 1 MiB", tip="several batches")


def _too_many() -> Refused:
    return Refused(
        413, "There are too many events.", why=f"at most {MOST_EVENTS:,}", tip="several batches"
    )


def _type(what: str, why: str) -> Refused:
    return Refused(
        415, what, why=why, tip=f"Content-Type: {TYPES}; Content-Encoding: gzip, or none"
    )


def _broken(what: str, why: str = "the body counts as a whole, or not at all") -> Refused:
    return Refused(400, what, why=why, tip="send what was meant; nothing was counted")


def _text(plain: bytes) -> str:
    try:
        return plain.decode("utf-8")
    except UnicodeDecodeError:
        raise _broken("The body is not valid UTF-8.") from None


def _joined(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def _checked(text: bytes) -> object:
    """What valid JSON says; None if a row is too deep for the parser, or a number too large.

    Such a row must not stop the others.
    """
    with suppress(orjson.JSONDecodeError):
        return orjson.loads(text)
    _text(text)
    if not is_json(text):
        raise _broken("The body is not valid JSON.")
    return None


def _without_escapes(text: bytes) -> bytes:
    r"""JSON of the same length in which every quote begins or ends a string.

    >>> _without_escapes(rb'["a\\", "b\""]')
    b'["a__", "b__"]'
    """
    return text.replace(rb"\\", b"__").replace(rb"\"", b"__")
