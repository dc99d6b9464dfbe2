"""One process per stream or question: a lock file that the kernel frees when its holder dies.

The lock is ``flock`` on a file beside the store.  A question's file is removed by its holder.  Two
processes could then lock two files of the same name, so who gets the lock checks that its file is
still there.  A process that forks shares its lock with its children.

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
from ameles.core.own_file import Planted, open_own
from ameles.store.lock_names import in_use, is_question

# The fields of struct flock: type, whence, start, length, pid.
_RECORD = struct.Struct("@hhqqi0q")
_SET = getattr(fcntl, "F_OFD_SETLK", None)
_ASK = getattr(fcntl, "F_OFD_GETLK", None)


@contextmanager
def held(store: Path, name: str) -> Iterator[None]:
    """Takes a lock of the store at this path; refused while another process holds it."""
    path, process = _path(store, name), os.getpid()
    handle = _locked(path, name)
    try:
        if _SET is not None:
            fcntl.fcntl(handle, _SET, _record(fcntl.F_WRLCK))
        with suppress(OSError):  # it only tells others who holds the lock
            os.ftruncate(handle, 0)
            os.pwrite(handle, b"%d\n" % process, 0)
        yield
    finally:
        # Streams are few and questions are many.
        if is_question(name) and os.getpid() == process:
            with suppress(OSError):
                os.unlink(path)
        os.close(handle)


def _locked(path: Path, name: str) -> int:
    """The lock file at this path, open and locked."""
    while True:
        try:
            handle = open_own(path, os.O_CREAT | os.O_RDWR)
        except OSError as problem:
            what = problem.strerror if isinstance(problem, Planted) else "cannot be opened"
            raise StoreRefused(
                f"The lock file '{path}' {what}.",
                why="only one process at a time may do this work, and the lock file ensures that",
                tip="a folder in which this user may write",
            ) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(path, handle):
                return handle
        except BlockingIOError:
            holder = _holder(handle)
            os.close(handle)
            raise in_use(name, holder) from None
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _is_at(path: Path, handle: int) -> bool:
    """Whether the open file is still the one at the path: its last holder may have removed it."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False


def is_held(store: Path, name: str) -> bool:
    """Whether any process, including this one, holds this lock."""
    try:
        handle = open_own(_path(store, name), os.O_RDONLY)
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


def _path(store: Path, name: str) -> Path:
    quoted = quote(name, safe="", errors="surrogatepass")
    return store.with_name(f"{store.name}-{quoted}.lock")


def _holder(handle: int) -> str:
    written = os.pread(handle, 32, 0).strip()
    return f" ({int(written)})" if written.isdigit() else ""
