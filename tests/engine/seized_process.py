"""A pan-private stream from standard input that stops itself after some steps, to be looked at.

Its noise is made of numbers that are like no others.  With ``careless`` it holds on to its
connection and does not have freed memory overwritten; with ``keeping`` it wipes nothing and keeps
all that it had: events, noise and states.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable
from contextlib import ExitStack, closing
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from ameles.connectors.duck import KeptConnection
from ameles.connectors.standard_input import StandardInput
from ameles.core.noise import Shape
from ameles.engine.engine import Engine
from ameles.engine.sealed import sealed_state as sealed
from ameles.engine.sealed.stream_vault import packed
from ameles.noise import Zero
from ameles.noise.arrays import IntArray
from ameles.noise.coin import count_of
from ameles.plan.plan import read_plan_text
from ameles.store import open_store

MARK = 0x4E4F4953 << 32
KEPT: list[object] = []  # what a keeping program has: it is there for certain


class Marks(Zero):
    """Draws of one mark each, numbered."""

    drawn = 0

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        count = count_of(size)
        first = self.drawn + 1
        self.drawn += count
        marks = MARK + np.arange(first, first + count, dtype=np.int64)
        if "keeping" in sys.argv:
            KEPT.append(marks.copy())
        return marks.reshape(size)


def main(folder: Path, steps: int) -> None:
    plan = read_plan_text((folder / "plan.toml").read_text(encoding="utf-8"), base=folder)
    noise = Marks()
    with closing(open_store(str(folder / "s.db"))) as store:
        source = StandardInput("csv", plan.kinds)
        with Engine(plan, store, noise=noise).session() as session:
            pieces = source.incoming()
            for _ in range(steps):
                piece = next(pieces)
                if "keeping" in sys.argv:
                    KEPT.append(piece)
                session.take(source.reading([piece]), 0)
                del piece
                session.take(source.reading([]), session.stream.released + 1)
                sys.stdout.write(f"{noise.drawn}\n")
                sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGSTOP)


def kept(snapshots: Iterable[bytes]) -> bytes:
    state = packed(snapshots)
    KEPT.append(bytearray(state))  # a copy, which nobody wipes
    return state


PATCHED: dict[str, list[Any]] = {
    "careless": [
        patch.object(sealed, "overwrite_freed_memory"),
        patch.object(KeptConnection, "close"),
    ],
    "keeping": [patch.object(sealed, "packed", kept)],
}


if __name__ == "__main__":
    with ExitStack() as patches:
        for how in sys.argv[3:]:
            for one in PATCHED[how]:
                patches.enter_context(one)
        main(Path(sys.argv[1]), int(sys.argv[2]))
