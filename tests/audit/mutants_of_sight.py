"""Broken counters that take their data out of sight: to another process, to a file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from ameles.audit import Enumerated, enumerated_loss
from ameles.core.noise import Noise
from ameles.mechanisms.counters.summed import PlainRun
from ameles.mechanisms.mechanism import AnyMechanism
from tests.audit.mutants_of_values import Looking


class _Forking(PlainRun):
    def step(self, x: Any) -> int:
        if not os.fork():
            os._exit(0)
        return super().step(x)


class ForksInAStep(Looking):
    """A child with the exact count is born in each step."""

    kind = _Forking


class _Hiding(PlainRun):
    def step(self, x: Any) -> int:
        with suppress(BaseException):
            subprocess.run([sys.executable, "-c", ""], check=False)
        return super().step(x)


class StartsAProgram(Looking):
    """Starts a program, and hides every error."""

    kind = _Hiding


class _Writing(PlainRun):
    def step(self, x: Any) -> int:
        with Path(gettempdir(), "ameles-mutant").open("w", encoding="ascii") as file:
            file.write("x")
        return super().step(x)


class WritesAFile(Looking):
    """Writes a file in each step."""

    kind = _Writing


FOUR: dict[str, Any] = {"epsilon": 1, "horizon": 4}

# What the audit finds not linear, and what it says.
NOT_LINEAR: dict[str, tuple[AnyMechanism, str]] = {
    "a fork in a step": (ForksInAStep(**FOUR), "os.fork"),
    "a program that is started in a step": (StartsAProgram(**FOUR), "subprocess.Popen"),
    "a file that is written in a step": (WritesAFile(**FOUR), "sees: open"),
}


def far_out(truth: int, limit: int) -> Callable[[Noise], int]:
    """A count with noise, wrapped, and without noise where that is above a limit."""

    def program(noise: Noise) -> int:
        drawn = int(noise.laplace(Fraction(1), 1)[0])
        return (truth if drawn > limit else truth + drawn) % 5

    return program


def beyond(limit: int) -> Callable[[], Enumerated]:
    """The audit of such a count and its neighbour."""
    return lambda: enumerated_loss(far_out(0, limit), far_out(1, limit), epsilon=1, modulus=5)
