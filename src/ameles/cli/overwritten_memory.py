"""A process in which freed memory is overwritten, small objects included.

Python keeps memory of its own for small objects, and does not overwrite what was in them.  A posted
event may be such an object.  The choice is made when a process begins, so the program begins again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping

# Python asks the system for every object; the system fills what is freed, and keeps no small
# pieces apart.
SETTINGS = {
    "PYTHONMALLOC": "malloc",
    "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.perturb=165",
}


def overwrite_memory(
    environment: Mapping[str, str] = os.environ,
    begin: Callable[[str, list[str], Mapping[str, str]], object] = os.execve,
) -> None:
    """Begins the program again with these settings, unless it has them already.

    >>> overwrite_memory(SETTINGS, print)  # nothing to do
    """
    if sys.platform != "linux" or SETTINGS.items() <= environment.items():
        return
    arguments = [sys.executable, "-m", "ameles", *sys.argv[1:]]
    begin(sys.executable, arguments, {**environment, **SETTINGS})
