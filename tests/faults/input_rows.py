"""Rows of standard input that any sum identifies, and how to wait until a row is safe.

Each row weighs another power of ``BASE``, so a released sum tells which rows it counts.  A row is
safe once the store or the vault has kept it, which is long before its step is released; no kill may
lose it from then on.  Nothing here depends on the speed of the machine.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import sqlite3
import struct
import termios
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial

from ameles.engine.gathering.pending import Pending
from tests.faults.removable_noise import MILLION
from tests.faults.shim import Clock
from tests.faults.victims import Victim
from tests.faults.worlds import DAY, START, World

BASE = 4  # a row weighs a power of it: one that is counted twice is a digit 2
ROWS = 10
OPENING = 4  # changes of a vault's key before any row, when it is made or opened, at the most
_NOWHERE = b"{no row\n"  # a line that counts nowhere


class InputRows:
    """The standard input of a world: what was written, and what must be counted.

    ``limit`` is how many seconds to wait for an engine that may never keep a row.  Without one
    there is no hurry: a program that lives goes on, however busy the machine is.
    """

    def __init__(self, world: World, pipe: int, limit: float | None = None) -> None:
        self.world = world
        self.reader: Victim | None = None  # who reads the rows now
        self.safe: set[int] = set()
        self._pipe = pipe
        self._limit = limit
        self._doubtful = 0  # rows since the last one that is safe

    def write(self, row: int) -> None:
        """One more row."""
        line = json.dumps({"n": BASE**row, "region": "north"}) + "\n"
        os.write(self._pipe, line.encode())
        self._doubtful += 1

    def keep(self, row: int) -> None:
        """Waits until a row that was just written is kept, though no step is released."""
        if self.world.kind == "sealed":
            # Rows are folded in their order, and each line makes a new state.  So this row is in it
            # after as many changes as rows may still be waiting, and those of an opening.
            for _ in range(self._doubtful + OPENING):
                before = self._sealed()
                os.write(self._pipe, _NOWHERE)
                self._wait(partial(self._sealed_since, before))
        else:
            self._wait(lambda: row in self._pending())
        self._safe(row)

    def release(self, row: int, clock: Clock, day: int) -> int:
        """Waits until a row is kept, then until two more steps are released; gives the day."""
        self.keep(row)
        for _ in range(2):
            day += 1
            clock.set(START.timestamp() + (day - 1) * DAY + 3600)
            self._wait(partial(self._released, day - 1))
        return day

    def wrong(self) -> list[str]:
        """What is wrong with the sums in the end."""
        stored = self.world.stored().items()
        digits = _digits(sum(value % MILLION for cell, value in stored if cell[0] == "daily"))
        problems = []
        if any(digit > 1 for digit in digits):
            problems.append("I3: a row of standard input was counted twice")
        if any(digits[row] != 1 for row in self.safe):
            problems.append("I3: a row that was kept is lost")
        return problems

    def _safe(self, row: int) -> None:
        self.safe.add(row)
        self._doubtful = 0

    def _pending(self) -> set[int]:
        """The rows in what the store keeps for steps that are open."""
        with closing(sqlite3.connect(f"{self._store}?mode=ro", uri=True, timeout=600)) as bare:
            secrets = bare.execute("SELECT secret FROM pending").fetchall()
        daily = [Pending.from_bytes(secret).totals["daily"].amounts.sum() for (secret,) in secrets]
        return {row for row, digit in enumerate(_digits(sum(daily))) if digit}

    @property
    def _store(self) -> str:
        return (self.world.place / "s.db").as_uri()

    def _sealed(self) -> str:
        """The key of the state in the vault, which is another one whenever a state is kept."""
        files = sorted((self.world.folder / "keys").rglob("*"))
        content = b"".join(file.read_bytes() for file in files if file.is_file())
        return hashlib.sha256(content).hexdigest()

    def _sealed_since(self, before: str) -> bool:
        return self._sealed() != before

    def _released(self, step: int) -> bool:
        return self.world.released() >= step

    def _wait(self, happened: Callable[[], bool]) -> None:
        since = time.monotonic()
        while True:
            try:
                if happened():
                    return
            except (sqlite3.DatabaseError, FileNotFoundError):
                pass  # it is only now being made
            if self._limit is not None and time.monotonic() - since > self._limit:
                raise TimeoutError("A row that was read is not kept.")
            if self.reader is not None and not self.reader.alive:
                code, words = self.reader.ended(), self.reader.words
                raise ChildProcessError(f"The program ended by itself, with {code}: {words}")
            time.sleep(0.002)


def unread(pipe: int) -> int:
    """How many bytes nobody has read."""
    (size,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))
    return int(size)


def _digits(total: float) -> list[int]:
    return [int(total) // BASE**row % BASE for row in range(ROWS)]
