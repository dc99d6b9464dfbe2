r"""Compressed files: gzip, zstd and bzip2, told by the ending of their names.

They are unpacked as they are read, a piece at a time, so that what a small file unpacks to is
never in memory as a whole.  A file that ends too early raises ``Incomplete``, and one that is not
what its ending says raises ``Damaged``; both are told from what the operating system refuses.

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

_PIECE = 1 << 20  # bytes that are unpacked at a time at the most
_SHORTEST = 4  # bytes, of what none of the programs writes less
# A frame of zstd may ask for a window of this size, in powers of two: what its own program allows.
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
    """The file ends before what it holds does: it may still be being written."""


class Damaged(Exception):
    """The file does not hold what its ending says."""


def is_compressed(name: str | Path) -> bool:
    """Whether a file of this name is unpacked when it is read.

    >>> is_compressed("logs/events.csv.2.gz"), is_compressed("events.csv")
    (True, False)
    """
    return Path(name).suffix.lower() in _UNPACKERS


def without_ending(name: str) -> str:
    """A name as it is without its compression.

    >>> without_ending("events.csv.gz"), without_ending("events.csv")
    ('events.csv', 'events.csv')
    """
    return name[: -len(Path(name).suffix)] if is_compressed(name) else name


def opened(path: Path) -> BinaryIO:
    """The bytes of a file, unpacked if its ending says so; ``fileno`` is the file's own.

    It can be read from its start to its end.  A file that is not compressed can seek too.
    """
    raw = path.open("rb")
    return unpacked(raw, path.name) if is_compressed(path.name) else raw


def unpacked(packed: BinaryIO, name: str) -> BinaryIO:
    """What an open file of this name holds; closing it closes the file."""
    return io.BufferedReader(_Unpacked(packed, name))


class _Unpacked(io.RawIOBase):
    """Bytes as they come out of a file."""

    def __init__(self, packed: BinaryIO, name: str) -> None:
        self._packed = packed
        self._inner = _UNPACKERS[Path(name).suffix.lower()](packed)

    def readable(self) -> bool:
        """It can be read."""
        return True

    def fileno(self) -> int:
        """The descriptor of the packed file."""
        return self._packed.fileno()

    def readinto(self, buffer: Any) -> int:
        """Unpacks up to as many bytes as there is place for."""
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
        # Raised here, outside of the handler: the other's text may quote what the file holds.
        raise problem

    def _tiny(self) -> bool:
        """Whether there is less in the file than the bytes that tell its kind."""
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
