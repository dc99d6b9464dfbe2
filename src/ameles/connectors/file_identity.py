"""What a file is, whatever its name: its device, its inode, and when it was born.

A file system gives the inode of a removed file to the next new one, often at once.  The birth of a
file tells these two apart, where the file system keeps it (ext4, XFS, Btrfs, ZFS, APFS, newer
tmpfs); elsewhere it is None, and content has to tell.  Python's ``stat`` has no birth on Linux, so
the system is asked itself.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

from ameles.connectors.file_refusals import unreadable
from ameles.connectors.named_files import NamedFile
from ameles.core.exceptions import AmelesError

Signature: TypeAlias = tuple[int, int, int, int, int]

_EMPTY_PATH = 0x1000
_BIRTH = 0x800
_NANO = 10**9


class _Statx(ctypes.Structure):
    """``struct statx`` of Linux, up to the birth; it is the same on all processors."""

    _fields_ = (
        ("mask", ctypes.c_uint32),
        ("before", ctypes.c_uint8 * 76),
        ("born_seconds", ctypes.c_int64),
        ("born_nanoseconds", ctypes.c_uint32),
        ("after", ctypes.c_uint8 * 164),
    )


@cache
def _statx() -> Any:
    """The function of the C library, or None."""
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None), "statx", None)


def born(handle: int) -> int | None:
    """When an open file was born, in nanoseconds; None if the file system does not say."""
    ask = _statx()
    if ask is None:
        seconds = getattr(os.fstat(handle), "st_birthtime", None)
        return None if seconds is None else int(seconds * _NANO)
    found = _Statx()
    if ask(handle, b"", _EMPTY_PATH, _BIRTH, ctypes.byref(found)) or not found.mask & _BIRTH:
        return None
    return int(found.born_seconds) * _NANO + int(found.born_nanoseconds)


@dataclass(slots=True)
class Present:
    """A file that is there now, with all the names under which a source has it."""

    links: list[NamedFile]
    status: os.stat_result = field(repr=False)
    copy: bool = False  # of a file that was rotated: it is read only where that one ended

    @property
    def file(self) -> NamedFile:
        """The first of its names."""
        return self.links[0]

    @property
    def names(self) -> set[str]:
        """All of its names."""
        return {link.name for link in self.links}

    @property
    def signature(self) -> Signature:
        """What changes whenever the file does, but for changes within one tick of the clock."""
        now = self.status
        return now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns


def present(files: Iterable[NamedFile]) -> list[Present]:
    """The files behind some names: links to one file are one, and folders are none.

    A name that vanished since it was listed is left out: its file is found under its new one.
    """
    found: dict[tuple[int, int], Present] = {}
    for file in files:
        with suppress(OSError):
            status = os.stat(file.path)
            if not stat.S_ISREG(status.st_mode):
                continue
            key = status.st_dev, status.st_ino
            if key in found:
                found[key].links.append(file)
            else:
                found[key] = Present([file], status)
    return list(found.values())


@contextmanager
def opened(file: Present) -> Iterator[int]:
    """The descriptor of a file, which must be the one that was listed."""
    with readable(file.file), file.file.path.open("rb", buffering=0) as raw:
        status = os.fstat(raw.fileno())
        if (status.st_dev, status.st_ino) != (file.status.st_dev, file.status.st_ino):
            raise vanished(file.file.name)
        yield raw.fileno()


@contextmanager
def readable(file: NamedFile) -> Iterator[None]:
    """Turns what the operating system refuses into an error about a source."""
    problem: AmelesError | None = None
    try:
        yield
    except FileNotFoundError:
        problem = vanished(file.name)
    except OSError:
        problem = unreadable(file.name)
    if problem is not None:
        raise problem


class ChangedMeanwhile(AmelesError):
    """A file that changed while it was being read; nothing of it was counted."""

    code = "source"


def changed(name: str) -> ChangedMeanwhile:
    """The error for a file that was cut or replaced while it was being read."""
    return ChangedMeanwhile(
        f"The file '{name}' was replaced or cut while it was being read.",
        why="nothing of it was counted",
        tip="run again",
    )


def vanished(name: str) -> ChangedMeanwhile:
    """The error for a file that went away while it was being read."""
    return ChangedMeanwhile(
        f"The file '{name}' was removed or renamed while it was being read.",
        why="nothing of it was counted",
        tip="run again",
    )
