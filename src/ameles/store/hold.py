"""One process per stream: a lock file that the kernel frees when its holder dies.

The lock is ``flock`` on a file beside the store, which stays there: removing it would let two
processes lock two files of one name.  A process that forks shares its lock with its children.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from ameles.core.exceptions import StoreRefused
from ameles.store.place import OWNER_ONLY


@contextmanager
def held(store: Path, stream: str) -> Iterator[None]:
    """Holds a stream of the store at this path; refused while another does."""
    name = quote(stream, safe="", errors="surrogatepass")
    path = store.with_name(f"{store.name}-{name}.lock")
    try:
        handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, OWNER_ONLY)
    except OSError:
        raise StoreRefused(
            f"The lock file '{path}' cannot be opened.",
            why="one process at a time may run a stream, and a lock file tells which",
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
                tip="again when it is done; a process that died holds nothing",
            ) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, b"%d\n" % os.getpid(), 0)
        yield
    finally:
        os.close(handle)


def _holder(handle: int) -> str:
    written = os.pread(handle, 32, 0).strip()
    return f" ({int(written)})" if written.isdigit() else ""
