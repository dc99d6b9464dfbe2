"""A file that is on no disk, where the system can do that, under a path that DuckDB can open."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def memory_file(path: Path) -> Iterator[int]:
    """The handle of a new file at a path, whose folder is made for it; both are gone at the end.

    On Linux the path is a link to memory.  Elsewhere it is a file that only its owner can read.
    """
    path.parent.mkdir(mode=0o700)  # refused if somebody has made it
    try:
        if sys.platform == "linux":
            handle = os.memfd_create("ameles")
            path.symlink_to(f"/proc/{os.getpid()}/fd/{handle}")
        else:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            yield handle
        finally:
            os.close(handle)
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)
            path.parent.rmdir()
