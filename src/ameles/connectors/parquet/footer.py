"""Footers of Parquet files without the types that DuckDB would convert values to.

DuckDB shows the smallest and the largest value of each part of a column in the column's type, and
fails for all of them if one has no such value, such as a time that is not within DuckDB's years.
It also converts milliseconds as it reads them, and one that is too large fails the whole scan.  If
the footer does not say that integers are times, DuckDB reads the integers, and none of them fails.

The part of the footer that says so is a list of the columns (``SchemaElement``), in the compact
protocol of Thrift.  It comes before the part that grows with the file, which is only copied.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ameles.connectors.memory_file import memory_file

_MAGIC = b"PAR1"
_NONE = "The file has no footer that can be read."
_END = 8  # bytes after a footer: its length, and the magic bytes
_SCHEMA = 2  # the field of a footer with the columns

# Fields of a column.
_TYPE, _NAME, _CHILDREN, _CONVERTED, _LOGICAL = 1, 4, 5, 6, 10
_MEANINGS = (_CONVERTED, 7, 8, _LOGICAL)  # 7 and 8 are the scale and the precision of a decimal
_INT64 = 2
_TIMESTAMP_MILLIS = 9  # of the converted types
_TIMESTAMP, _UNIT, _MILLIS = 8, 2, 1  # of the logical types, their fields and units

# Kinds of values in Thrift.
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT, _UUID = (
    1, 2, 3, 7, 8, 9, 10, 11, 12, 13,
)  # fmt: skip
_SIZES = {_BYTE: 1, _DOUBLE: 8, _UUID: 16}
_INTEGERS = (4, 5, 6)


class _Field(NamedTuple):
    """A field of a struct: its number, the kind of its value, and where the value is."""

    number: int
    kind: int
    start: int
    end: int


class Footer:
    """The footer of a file; ValueError if the file has none that can be read."""

    def __init__(self, path: str | Path) -> None:
        with open(path, "rb", buffering=0) as file:
            self.size = os.fstat(file.fileno()).st_size
            end = os.pread(file.fileno(), _END, max(0, self.size - _END))
            length = int.from_bytes(end[:4], "little")
            self.start = self.size - _END - length
            if len(end) < _END or end[4:] != _MAGIC or self.start < 0:
                raise ValueError(_NONE)
            self._data = os.pread(file.fileno(), length, self.start)
        try:
            self._read()
        except (IndexError, RecursionError, StopIteration):
            raise ValueError(_NONE) from None

    def _read(self) -> None:
        data = self._data
        schema = next(field for field in _fields(data, 0) if field.number == _SCHEMA)
        many, _, self._first = _list(data, schema.start)
        self._rest = schema.end
        self._columns = list[list[_Field]]()
        at = self._first
        for _ in range(many):
            self._columns.append([*_fields(data, at)])
            at = (self._columns[-1][-1].end if self._columns[-1] else at) + 1
        self._millis = {self._name(place): place for place in self._found_millis()}

    def millis(self) -> frozenset[str]:
        """The columns, not parts of others, that are times in milliseconds."""
        return frozenset(self._millis)

    def ending(self, *, millis: bool = False) -> bytes:
        """The bytes of the end of a file, from where its footer begins, without the types of all
        columns; or of those in ``millis``, also within others."""
        every = range(len(self._columns))
        places = {place for place in every if not millis or self._is_millis(place)}
        parts = [self._data[: self._first]]
        for place, fields in enumerate(self._columns):
            left_out = _MEANINGS if place in places else ()
            parts.append(self._written([f for f in fields if f.number not in left_out]))
        footer = b"".join([*parts, self._data[self._rest :]])
        return footer + len(footer).to_bytes(4, "little") + _MAGIC

    def _found_millis(self) -> Iterator[int]:
        """The places of columns that are times in milliseconds."""
        place = 1  # the first is the root
        while place < len(self._columns):
            left = 1
            if not self._integer(place, _CHILDREN) and self._is_millis(place):
                yield place
            while left:
                left += self._integer(place, _CHILDREN) - 1
                place += 1

    def _is_millis(self, place: int) -> bool:
        if self._integer(place, _TYPE) != _INT64:
            return False
        for logical in self._of(place, _LOGICAL):
            for time in _fields(self._data, logical.start):
                if time.number == _TIMESTAMP:
                    units = [f for f in _fields(self._data, time.start) if f.number == _UNIT]
                    return any(
                        unit.number == _MILLIS
                        for field in units
                        for unit in _fields(self._data, field.start)
                    )
        return self._integer(place, _CONVERTED) == _TIMESTAMP_MILLIS

    def _of(self, place: int, number: int) -> list[_Field]:
        return [field for field in self._columns[place] if field.number == number]

    def _integer(self, place: int, number: int) -> int:
        for field in self._of(place, number):
            return _zigzag(_varint(self._data, field.start)[0])
        return 0

    def _name(self, place: int) -> str:
        (field,) = self._of(place, _NAME)
        _, start = _varint(self._data, field.start)
        return self._data[start : field.end].decode("utf-8", errors="replace")

    def _written(self, fields: list[_Field]) -> bytes:
        """A column with these fields."""
        parts, last = list[bytes](), 0
        for number, kind, start, end in fields:  # no number is more than 15 after another
            parts.append(bytes([(number - last) << 4 | kind]) + self._data[start:end])
            last = number
        return b"".join([*parts, b"\0"])


@contextmanager
def without_types(path: str, bare: Path) -> Iterator[str]:
    """While open, a file in memory with the same footer, but no values and no types of columns.

    Its path is ``bare``; or ``path``, if the footer cannot be read.
    """
    try:
        footer = Footer(path)
        end = footer.ending()
    except (ValueError, OSError):
        yield path
        return
    with memory_file(bare) as handle:
        os.pwrite(handle, _MAGIC, 0)
        os.pwrite(handle, end, footer.start)
        yield str(bare)


def new_token() -> str:
    """A name that no other file in memory has."""
    return secrets.token_hex(16)


def memory_path(token: str) -> Path:
    """A path of this process for a file in memory."""
    folder = Path(tempfile.gettempdir()).resolve()
    return folder / f"ameles-parquet-{token}-{os.getpid()}" / "e.parquet"


def _fields(data: bytes, at: int) -> Iterator[_Field]:
    number = 0
    while head := data[at]:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            found, at = _varint(data, at)
            number = _zigzag(found)
        kind = head & 15
        end = at if kind in (_TRUE, _FALSE) else _after(data, at, kind)
        yield _Field(number, kind, at, end)
        at = end


def _after(data: bytes, at: int, kind: int) -> int:
    """Where a value ends."""
    if kind in _INTEGERS:
        return _varint(data, at)[1]
    if kind == _BINARY:
        length, at = _varint(data, at)
        return at + length
    if kind in (_LIST, _SET):
        many, held, at = _list(data, at)
        for _ in range(many):
            at = _after(data, at, held)
        return at
    if kind == _MAP:
        many, at = _varint(data, at)
        if many:
            kinds, at = data[at], at + 1
            for _ in range(many):
                at = _after(data, _after(data, at, kinds >> 4), kinds & 15)
        return at
    if kind == _STRUCT:
        for field in _fields(data, at):
            at = field.end
        return at + 1
    if kind in (_TRUE, _FALSE):  # in a list
        return at + 1
    if kind not in _SIZES:
        raise ValueError(_NONE)
    return at + _SIZES[kind]


def _list(data: bytes, at: int) -> tuple[int, int, int]:
    """How many values a list has, their kind, and where the first is."""
    many, kind, at = data[at] >> 4, data[at] & 15, at + 1
    if many == 15:
        many, at = _varint(data, at)
    return many, kind, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while data[at] & 128:
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
    return number | data[at] << shift, at + 1


def _zigzag(number: int) -> int:
    return number >> 1 ^ -(number & 1)
