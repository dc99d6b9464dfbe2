"""Overwriting secrets that Python itself would leave in memory."""

from __future__ import annotations

import ctypes


def wipe_bytes(*secrets: bytes) -> None:
    """Overwrites ``bytes`` that nobody else has and nobody uses any more.

    Such objects cannot be changed by Python's own means; in CPython their content stands before
    the zero with which the object ends.
    """
    for secret in secrets:
        if len(secret) > 1:  # those with one byte or none are shared by all who have them
            ctypes.memset(id(secret) + bytes.__basicsize__ - 1, 0, len(secret))
