"""A pan-private stream from standard input that stops itself after some steps, to be looked at.

Its noise is made of numbers that are like no others.  With ``careless`` it holds on to its
connection and does not have freed memory overwritten.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import numpy as np

from ameles.connectors.standard_input import StandardInput
from ameles.core.mechanism import Shape
from ameles.engine.engine import Engine
from ameles.engine.sealed import session as sealed
from ameles.engine.sealed.session import SealedSession
from ameles.noise import Zero
from ameles.noise.arrays import IntArray
from ameles.noise.coin import count_of
from ameles.plan.plan import read_plan_text
from ameles.store import open_store

MARK = 0x4E4F4953 << 32


class Marks(Zero):
    """Draws of one mark each, numbered."""

    drawn = 0

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        count = count_of(size)
        first = self.drawn + 1
        self.drawn += count
        marks = MARK + np.arange(first, first + count, dtype=np.int64)
        return marks.reshape(size)


def main(folder: Path, steps: int) -> None:
    plan = read_plan_text((folder / "plan.toml").read_text(encoding="utf-8"), base=folder)
    noise = Marks()
    with closing(open_store(str(folder / "s.db"))) as store:
        source = StandardInput("csv", plan.stream.columns)
        with Engine(plan, store, noise=noise).session() as session:
            pieces = source.pieces()
            for _ in range(steps):
                session.take(source.reading([next(pieces)]), 0)
                session.take(source.reading([]), session.stream.released + 1)
                sys.stdout.write(f"{noise.drawn}\n")
                sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGSTOP)


if __name__ == "__main__":
    if "careless" in sys.argv:
        with (
            patch.object(sealed, "overwrite_freed_memory"),
            patch.object(SealedSession, "_disconnect"),
        ):
            main(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        main(Path(sys.argv[1]), int(sys.argv[2]))
