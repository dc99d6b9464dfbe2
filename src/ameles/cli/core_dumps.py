"""Turns off core dumps of this process: a dump of its memory would have events, states and keys.

The limit of dumped bytes is set to 0, also for programs that it starts.  A dump that a program such
as systemd-coredump takes through a pipe ignores that limit; on Linux the process is therefore also
marked as one that must not be dumped, and then other processes of the same user cannot read its
memory either.  A debugger needs the administrator.
"""

from __future__ import annotations

import ctypes
import resource
import sys
from contextlib import suppress

_SET_DUMPABLE = 4  # PR_SET_DUMPABLE of Linux


def forbid_core_dumps() -> None:
    """No core dump from here on, as far as the system lets itself be told."""
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
