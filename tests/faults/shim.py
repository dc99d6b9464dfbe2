"""The shim: a small library that is loaded before all others, and stands between the program and
the disk."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import mmap
import os
import shutil
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")
MODES = {"": 0, "before": 1, "torn": 2, "after": 3, "fail": 4}
SECOND = 1_000_000_000  # in nanoseconds


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens at the ``at``-th change of a file below the folder, counted from 1.

    The modes ``before``, ``torn`` and ``after`` kill the process there; with ``fail`` this change
    and all later ones are refused with ``error``.  ``log`` is where all changes are written down.
    """

    at: int = 0
    mode: str = ""
    error: int = errno.EIO
    log: str = ""


def missing_compiler() -> str:
    """Why there can be no shim here, as a sentence; empty if there can."""
    if not Path("/proc/self/fd").is_dir():
        return "Faults need Linux."
    return "" if shutil.which("cc") else "Faults need a C compiler. Debian: gcc, libc6-dev"


def build_shim() -> Path:
    """The compiled shim; made once for each version of its source, for this user alone."""
    version = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir(), f"ameles-testing-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(str(folder))
    library = folder / f"{version}.so"
    if not library.exists():
        fresh = folder / f"{version}.{os.getpid()}.new"
        command = ["cc", "-O2", "-fPIC", "-shared", "-o", str(fresh), str(SOURCE), "-ldl"]
        subprocess.run(command, check=True)
        fresh.replace(library)
    return library


def arm(root: str, fault: Fault, clock: str) -> None:
    """From here on, in this process, which was started with the shim."""
    library = ctypes.CDLL(os.environ["LD_PRELOAD"])
    library.ameles_arm(
        root.encode(),
        ctypes.c_long(fault.at),
        MODES[fault.mode],
        fault.error,
        fault.log.encode(),
        clock.encode(),
    )


class Clock:
    """What time it is for the processes that are given this clock; it may jump at any time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_bytes(bytes(8))
        with path.open("r+b") as file:
            self._offset = mmap.mmap(file.fileno(), 8)

    def set(self, seconds: float) -> None:
        """It is so many seconds after 1970 now, and time goes on from there."""
        struct.pack_into("<q", self._offset, 0, int(seconds * SECOND) - time.time_ns())

    def jump(self, seconds: float) -> None:
        """So much later, or earlier."""
        (before,) = struct.unpack("<q", self._offset)
        struct.pack_into("<q", self._offset, 0, before + int(seconds * SECOND))

    @property
    def now(self) -> float:
        """Seconds after 1970."""
        (offset,) = struct.unpack("<q", self._offset)
        return (time.time_ns() + int(offset)) / SECOND
