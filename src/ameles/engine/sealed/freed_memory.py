"""Overwrites freed memory, if the system's allocator can do that.

Memory that Python, numpy and DuckDB free keeps its content until something else is written there.
Glibc can be asked to fill freed memory; then texts of events and old states do not outlive their
use.  SECURITY.md says what this does not reach: Python's own memory for objects of up to 512 bytes,
and small pieces that glibc keeps for the thread that freed them.
"""

from __future__ import annotations

import ctypes
import sys

_FILL = -6  # M_PERTURB
_PATTERN = 0xA5


def overwrite_freed_memory() -> bool:
    """Asks the allocator to fill freed memory from now on; returns whether it can.

    This holds for the whole process, until it ends.
    """
    if sys.platform != "linux":
        return False
    system = ctypes.CDLL(None)
    return hasattr(system, "mallopt") and bool(system.mallopt(_FILL, _PATTERN))
