"""Memory that was freed is overwritten, where the system's allocator can do that.

What Python, numpy and DuckDB free stays as it was until something else is written there.  Glibc can
be asked to fill what is freed; then texts of events and old states do not outlive their use.  What
this does not reach is said in SECURITY.md: Python's own memory for objects of up to 512 bytes, and
small pieces that glibc keeps for the thread that freed them.
"""

from __future__ import annotations

import ctypes
import sys

_FILL = -6  # M_PERTURB
_PATTERN = 0xA5


def overwrite_freed_memory() -> bool:
    """Asks the allocator to fill what is freed from now on; whether it can.

    For the whole process, and for as long as it lives.
    """
    if sys.platform != "linux":
        return False
    system = ctypes.CDLL(None)
    return hasattr(system, "mallopt") and bool(system.mallopt(_FILL, _PATTERN))
