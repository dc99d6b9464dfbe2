"""One process per stream: a lock file that the kernel frees when its holder dies.

The lock is ``flock`` on a file beside the store.  The file is never removed: otherwise two
processes could lock two files of the same name.  A process that forks shares its lock with its
children.

``flock`` can only be tested by taking it.  So if the system has record locks of open files, as
Linux does, the holder also takes one of those, and ``is_held`` tests that lock: a process that
starts at that moment is not refused.  Elsewhere ``is_held`` takes a shared lock for an instant.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from ameles.core.exceptions import StoreRefused
from ameles.store.sqlite.database_file import OWNER_ONLY

# The fields of struct flock: type, whence, start, length, pid.
_RECORD = struct.Struct("@hhqqi0q")
_SET = getattr(fcntl, "F_OFD_SETLK", None)
_ASK = getattr(fcntl, "F_OFD_GETLK", None)


@contextmanager
def held(store: Path, stream: str) -> Iterator[None]:
    """Locks a stream of the store at this path; refused while another process holds the lock."""
    path = _path(store, stream)
    try:
        handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, OWNER_ONLY)
    except OSError:
        raise StoreRefused(
            f"The lock file '{path}' cannot be opened.",
            why="only one process at a time may run a stream, and the lock file ensures that",
            tip="a folder in which this user may write",
        ) from None
    try:
        os.fchmod(handle, OWNER_ONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreRefused(
                f"The stream '{stream}' is run by another process{_holder(handle)}.",
                why="two at once would publish two values for one step",
                tip="run again when it is done; a process that died holds no lock",
            ) from None
        if _SET is not None:
            fcntl.fcntl(handle, _SET, _record(fcntl.F_WRLCK))
        with suppress(OSError):  # it only tells others who holds the lock
            os.ftruncate(handle, 0)
            os.pwrite(handle, b"%d\n" % os.getpid(), 0)
        yield
    finally:
        os.close(handle)


def is_held(store: Path, stream: str) -> bool:
    """Whether any process, including this one, holds the lock of a stream."""
    try:
        handle = os.open(_path(store, stream), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False  # nobody ever did
    try:
        if _ASK is not None:
            answer = fcntl.fcntl(handle, _ASK, _record(fcntl.F_WRLCK))
            return bool(_RECORD.unpack(answer)[0] != fcntl.F_UNLCK)
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _record(kind: int) -> bytes:
    return _RECORD.pack(kind, os.SEEK_SET, 0, 0, 0)  # all of the file


def _path(store: Path, stream: str) -> Path:
    name = quote(stream, safe="", errors="surrogatepass")
    return store.with_name(f"{store.name}-{name}.lock")


def _holder(handle: int) -> str:
    written = os.pread(handle, 32, 0).strip()
    return f" ({int(written)})" if written.isdigit() else ""
