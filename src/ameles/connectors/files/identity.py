"""The identity of a file, whatever its name: its device, its inode, and its birth time.

A file system gives the inode of a removed file to the next new file, often at once.  The birth time
tells these two apart, if the file system keeps it (ext4, XFS, Btrfs, ZFS, APFS, newer tmpfs);
elsewhere it is None, and the content must tell.  Python's ``stat`` has no birth time on Linux, so
this module calls the system itself.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar

from ameles.connectors.files.named_files import NamedFile
from ameles.connectors.files.refusals import unreadable
from ameles.core.exceptions import AmelesError

Inode: TypeAlias = tuple[int, int]  # with its device
Signature: TypeAlias = tuple[int, int, int, int, int]

LOOKS = 10  # tries, if files change meanwhile
_EMPTY_PATH = 0x1000
_BIRTH = 0x800
_NANO = 10**9

# A value that changes whenever a file does, except for changes within one clock tick.
signature_of: Callable[[os.stat_result], Signature] = attrgetter(
    "st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns"
)

Outcome = TypeVar("Outcome")


class _Statx(ctypes.Structure):
    """``struct statx`` of Linux, up to the birth time; it is the same on all processors."""

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
    """The birth time of an open file in nanoseconds; None if the file system does not say."""
    ask = _statx()
    if ask is None:
        seconds = getattr(os.fstat(handle), "st_birthtime", None)
        return None if seconds is None else int(seconds * _NANO)
    status = _Statx()
    if ask(handle, b"", _EMPTY_PATH, _BIRTH, ctypes.byref(status)) or not status.mask & _BIRTH:
        return None
    return int(status.born_seconds) * _NANO + int(status.born_nanoseconds)


@dataclass(frozen=True, slots=True, eq=False)
class Present:
    """A file that exists now, with all names that the source matches.

    It is equal to itself alone: ``Looks`` gives the same object as long as a file does not change.
    """

    links: list[NamedFile]
    status: os.stat_result = field(repr=False)
    copy: bool = False  # of a rotated file: only what was not read of that file is read
    inode: Inode = field(init=False, repr=False)  # its identity while a program runs
    key: str = field(init=False, repr=False)  # the same as a text
    signature: Signature = field(init=False, repr=False)

    def __post_init__(self) -> None:
        signature = signature_of(self.status)
        object.__setattr__(self, "signature", signature)
        object.__setattr__(self, "inode", signature[:2])
        object.__setattr__(self, "key", f"{signature[0]}:{signature[1]}")

    @property
    def file(self) -> NamedFile:
        """The first of its names."""
        return self.links[0]

    @property
    def names(self) -> set[str]:
        """All of its names."""
        return {link.name for link in self.links}


def birth_of(file: Present) -> int | None:
    """The birth time of a file that need not be readable; None if nobody says it."""
    if not hasattr(os, "O_PATH"):
        return None
    try:
        handle = os.open(file.file.path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(handle)
        return born(handle) if (status.st_dev, status.st_ino) == file.inode else None
    finally:
        os.close(handle)


@contextmanager
def opened(file: Present) -> Iterator[int]:
    """The descriptor of a file; refuses a file that is not the one that was listed."""
    with readable(file.file):
        handle = os.open(file.file.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            status = os.fstat(handle)
            if (status.st_dev, status.st_ino) != file.inode:
                raise vanished(file.file.name)
            yield handle
        finally:
            os.close(handle)


@contextmanager
def readable(file: NamedFile) -> Iterator[None]:
    """Turns an error of the operating system into a refusal about a source."""
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


def settled(
    look: Callable[[], list[Present]],
    work: Callable[[list[Present]], Outcome],
    seen: list[Present] | None = None,
) -> Outcome:
    """The outcome of ``work`` on files that did not change meanwhile; if they did, it is retried
    with a new listing.  It begins with those that were ``seen`` just now, if there was a look."""
    for _ in range(LOOKS):
        files, seen = look() if seen is None else seen, None
        try:
            return work(files)
        except AmelesError as refusal:
            problem = refusal
        if _listing(files) == _listing(look()):
            break
    raise problem


def _listing(files: list[Present]) -> set[tuple[Signature, str]]:
    return {(file.signature, link.name) for file in files for link in file.links}
