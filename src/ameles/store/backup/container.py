"""The file of a backup: a SQLite database, a line about it, and a checksum of both.

    database | line of JSON | magic, length of the database, length of the line, SHA-256

The checksum shows whether a file is whole and unchanged.  It is no signature: whoever may write the
file can compute it again.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import struct
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ameles.core import codec
from ameles.core.exceptions import BadInput, StoreRefused

_MAGIC = b"AMELESBK"
_TAIL = struct.Struct(">8sQQ32s")
_KIND, _VERSION = "backup", 1
_LONGEST = 1 << 16  # bytes of the line
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a backup says of itself."""

    made: int  # microseconds since 1970
    database: str  # what the store was in: sqlite or postgres


def seal(path: Path, about: About) -> None:
    """Appends the line and the checksum to a database; durable when it returns."""
    line = codec.write(_KIND, _VERSION, asdict(about)).encode()
    with path.open("r+b") as file:
        length, digest = 0, hashlib.sha256()
        while piece := file.read(_PIECE):
            digest.update(piece)
            length += len(piece)
        digest.update(line)
        digest.update(_TAIL.pack(_MAGIC, length, len(line), bytes(32)))
        file.write(line + _TAIL.pack(_MAGIC, length, len(line), digest.digest()))
        file.flush()
        os.fsync(file.fileno())


def unseal(path: Path, *, into: int | None = None) -> About:
    """Reads a backup and refuses it unless it is whole; copies its database into an open file."""
    try:
        with path.open("rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _damaged(path)
            return _unsealed(path, file, into)
    except OSError as problem:
        if problem.errno == errno.ENOSPC:
            raise
        raise BadInput(
            f"The backup '{path}' cannot be read: {(problem.strerror or '').lower()}.",
            tip="the path of a backup that ameles backup has written",
        ) from None


def check_replaced(path: Path) -> None:
    """Refuses to replace a file that is not a backup, such as the store itself."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL.size))
        if not file.read(_TAIL.size).startswith(_MAGIC):
            raise BadInput(
                f"The file '{path}' is not a backup, and is not replaced.",
                why="--replace is for an older backup",
                tip="another name",
            )


def _unsealed(path: Path, file: Any, into: int | None) -> About:
    size = os.fstat(file.fileno()).st_size
    file.seek(max(0, size - _TAIL.size))
    tail = file.read(_TAIL.size)
    if len(tail) < _TAIL.size:
        raise _damaged(path)
    magic, length, rest, expected = _TAIL.unpack(tail)
    if magic != _MAGIC or length + rest + _TAIL.size != size or rest > _LONGEST:
        raise _damaged(path)
    digest = hashlib.sha256()
    file.seek(0)
    left = length
    while left:
        piece = file.read(min(left, _PIECE))
        if not piece:
            raise _damaged(path)
        digest.update(piece)
        if into is not None:
            _write(into, piece)
        left -= len(piece)
    line = file.read(rest)
    digest.update(line)
    digest.update(_TAIL.pack(magic, length, rest, bytes(32)))
    if digest.digest() != expected:
        raise _damaged(path)
    try:
        return About(**codec.read(_KIND, _VERSION, line.decode()))
    except (TypeError, UnicodeDecodeError):
        raise _damaged(path) from None


def _write(handle: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _damaged(path: Path) -> StoreRefused:
    return StoreRefused(
        f"'{path}' is not a whole backup of Ameles.",
        why="its checksum does not fit: it was cut off, changed, or is something else",
        tip="another backup",
    )
