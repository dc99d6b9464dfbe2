"""What calls leave behind in their buffers: every array and every bytearray that a function of the
package has had in a variable, or in a list, a dictionary or a record there, is kept, and looked at
when the call is over.

In Python what is deleted stays in memory until something else is written there.  So whatever held
a secret must have been overwritten, unless it is the state.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Self

import numpy as np

import ameles

PACKAGE = str(Path(ameles.__file__).parent)


class Leftovers:
    """The buffers that were used while it was entered, with the function that had them last."""

    def __init__(self) -> None:
        self._buffers: dict[int, tuple[Any, str]] = {}

    def __enter__(self) -> Self:
        self._before = sys.getprofile()
        sys.setprofile(self._looked)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)

    def _looked(self, frame: FrameType, event: str, arg: object) -> None:
        if event != "return" or not frame.f_code.co_filename.startswith(PACKAGE):
            return
        for name, value in [*frame.f_locals.items(), ("what it gave", arg)]:
            self._keep(value, f"{frame.f_code.co_qualname}: {name}")

    def _keep(self, value: object, where: str, depth: int = 0) -> None:
        if isinstance(value, np.ndarray):
            held: Any = value
            while isinstance(held.base, np.ndarray):
                held = held.base
            self._buffers[id(held)] = (held, where)
        elif isinstance(value, bytearray):
            self._buffers[id(value)] = (value, where)
        elif isinstance(value, list | tuple) and depth < 2 and len(value) < 100:
            for each in value:
                self._keep(each, where, depth + 1)
        elif isinstance(value, dict) and depth < 2 and len(value) < 100:
            self._keep(list(value.values()), where, depth)
        elif is_dataclass(value) and not isinstance(value, type):
            for each in fields(value):
                held = getattr(value, each.name, None)
                if isinstance(held, np.ndarray | bytearray):
                    self._keep(held, where)

    def arrays(self) -> list[tuple[Any, str]]:
        """All arrays, each with where it was last."""
        return [one for one in self._buffers.values() if isinstance(one[0], np.ndarray)]

    def numbers(self, secrets: Iterable[int], *, but: Iterable[object] = ()) -> set[str]:
        """Where a secret number is still in an array, of those that are not allowed to have it."""
        wanted = np.array(sorted(set(secrets)), dtype=np.int64)
        allowed = {id(one) for one in but}
        return {
            where
            for held, where in self._buffers.values()
            if isinstance(held, np.ndarray)
            and held.dtype.kind in "iu"
            and id(held) not in allowed
            and np.isin(held.reshape(-1), wanted).any()
        }

    def bytes(self, secrets: Iterable[bytes]) -> set[str]:
        """Where secret bytes are still in a bytearray."""
        wanted = list(secrets)
        return {
            where
            for held, where in self._buffers.values()
            if isinstance(held, bytearray) and any(secret in held for secret in wanted)
        }
