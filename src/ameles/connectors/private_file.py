"""Files with secrets that a plan names: only the user who runs Ameles may read them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from stat import S_IMODE, S_ISREG

from ameles.core.exceptions import PlanError

Refusal = Callable[[str, str], PlanError]  # from what is wrong, and what to try


def private_bytes(path: Path, most: int, refusal: Refusal, tip: str) -> bytes:
    """The content of a file, up to ``most`` bytes and one; refuses a file of others, or for them.

    ``tip`` says how to make a good one.
    """
    try:
        # without waiting for a pipe, and by one handle, so that what is checked is what is read
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            status = os.fstat(handle)
            if not S_ISREG(status.st_mode) or status.st_uid not in (0, os.geteuid()):
                raise refusal("must be a file of the user who runs Ameles", tip)
            if S_IMODE(status.st_mode) & 0o077:
                raise refusal("can be read by other users", f"chmod 600 '{path}'")
            return os.read(handle, most + 1)
        finally:
            os.close(handle)
    except OSError as problem:
        raise refusal(f"cannot be read: {problem.strerror}", tip) from None
