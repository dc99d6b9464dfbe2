r"""Compressed files: gzip, zstd and bzip2, told by the ending of their names.

They are decompressed as they are read, a piece at a time, so the whole decompressed content is
never in memory.  A file that ends too early raises ``Incomplete``, and one that is not what its
ending says raises ``Damaged``; errors of the operating system pass through unchanged.

>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     file = Path(folder, "events.csv.gz")
...     _ = file.write_bytes(gzip.compress(b"a,b\n1,2\n"))
...     with opened(file) as unpacked:
...         unpacked.read(4), unpacked.read()
(b'a,b\n', b'1,2\n')
"""

from __future__ import annotations

import bz2
import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING or sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd

_PIECE = 1 << 20  # most bytes that are decompressed at a time
_SHORTEST = 4  # bytes; none of the programs writes a shorter file
# The largest window that a zstd frame may ask for, as a power of two: the limit of the zstd
# program.
_WINDOW = 27

_UNPACKERS: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": lambda packed: gzip.GzipFile(fileobj=packed, mode="rb"),
    ".zst": lambda packed: zstd.ZstdFile(
        packed, options={zstd.DecompressionParameter.window_log_max: _WINDOW}
    ),
    ".bz2": lambda packed: bz2.BZ2File(packed),
}
ENDINGS = tuple(_UNPACKERS)


class Incomplete(Exception):
    """The file ends too early: somebody may still be writing it."""


class Damaged(Exception):
    """The content of the file is not what its ending says."""


def is_compressed(name: str | Path) -> bool:
    """Whether a file of this name is decompressed when it is read.

    >>> is_compressed("logs/events.csv.2.gz"), is_compressed("events.csv")
    (True, False)
    """
    return Path(name).suffix.lower() in _UNPACKERS


def without_ending(name: str) -> str:
    """A name without the ending of its compression.

    >>> without_ending("events.csv.gz"), without_ending("events.csv")
    ('events.csv', 'events.csv')
    """
    return name[: -len(Path(name).suffix)] if is_compressed(name) else name


def opened(path: Path) -> BinaryIO:
    """The bytes of a file, decompressed if its ending says so; ``fileno`` is that of the file.

    It can be read once, from start to end.  A file that is not compressed can also seek.
    """
    raw = path.open("rb")
    return unpacked(raw, path.name) if is_compressed(path.name) else raw


def unpacked(packed: BinaryIO, name: str, size: int | None = None) -> BinaryIO:
    """The decompressed content of an open file of this name; closing it closes the file.

    ``size`` is that of the packed file, if it is no file of this machine.
    """
    return io.BufferedReader(_Unpacked(packed, name, size))


class _Unpacked(io.RawIOBase):
    """The decompressed bytes of a file."""

    def __init__(self, packed: BinaryIO, name: str, size: int | None) -> None:
        self._packed = packed
        self._size = size
        self._inner = _UNPACKERS[Path(name).suffix.lower()](packed)

    def readable(self) -> bool:
        """It can be read."""
        return True

    def fileno(self) -> int:
        """The descriptor of the packed file."""
        return self._packed.fileno()

    def readinto(self, buffer: Any) -> int:
        """Decompresses at most as many bytes as fit into the buffer."""
        view = memoryview(buffer)[:_PIECE]
        problem: Exception
        try:
            piece: bytes = self._inner.read(len(view))
        except (EOFError, gzip.BadGzipFile, zlib.error, zstd.ZstdError, OSError, ValueError) as no:
            problem = Incomplete() if self._tiny() else _told(no)
        else:
            if piece or not self._tiny():
                view[: len(piece)] = piece
                return len(piece)
            problem = Incomplete()
        # Raised outside of the handler: the text of the caught error may quote the file's content.
        raise problem

    def _tiny(self) -> bool:
        """Whether the file is shorter than the magic bytes of its kind."""
        if self._size is not None:
            return self._size < _SHORTEST
        return os.fstat(self._packed.fileno()).st_size < _SHORTEST

    def close(self) -> None:
        """Closes the file too."""
        if not self.closed:
            super().close()
            self._inner.close()
            self._packed.close()


def _told(problem: Exception) -> Exception:
    if isinstance(problem, EOFError):
        return Incomplete()
    if isinstance(problem, OSError) and problem.errno is not None:
        return problem  # of the operating system
    return Damaged()
