"""Lives of a plan from a source to a sink on servers, with faults: every event counts once, every
release is published once, and both are what they would be without a fault.

The program runs in processes of its own, with removable noise: a released value modulo a million is
the true count.  The benchmarks live many lives, the tests a few.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from ameles.core.exceptions import AmelesError
from ameles.engine.engine import Engine
from ameles.engine.running import remote_delivery
from ameles.plan.plan import read_plan
from ameles.store import open_store
from tests import warm_processes
from tests.engine.worlds import COUNT, World, day
from tests.faults.choices import Choices
from tests.faults.removable_noise import MILLION, RemovableNoise

REGIONS = ("north", "south")
RELEASES = COUNT + COUNT.replace('"visits"', '"daily"') + 'over = "step"\n'
PATIENCE = 600.0  # seconds
Running: TypeAlias = subprocess.Popen[Any]
# Does something to a life while the program runs; says whether it came in time.
LifeFault: TypeAlias = Callable[[Any, Running, Choices], bool]


@dataclass
class Faults:
    """How many there were, and what was violated."""

    number: int = 0
    wrong: list[str] = field(default_factory=list)


class SourceLife(ABC):
    """One stream from its first step to its last."""

    def __init__(
        self, folder: Path, source: str, sink: str, *, steps: int = 8, stream: str = ""
    ) -> None:
        self.steps = steps
        self.span = 1.0  # seconds in which a run is mostly done; each life finds its own
        self.folder = folder
        self.world = World(
            folder, RELEASES, horizon=steps, stream=stream, rest=f"[[sink]]\n{sink}\n"
        )
        (folder / "plan.toml").write_text(self.world.text.replace("events.csv", source))
        self.truth: dict[tuple[int, str], int] = {}

    @abstractmethod
    def write(self, at: str, region: str, number: int) -> None:
        """Adds events, of which none is lost once this returns."""

    @abstractmethod
    def published(self) -> list[tuple[tuple[Any, ...], Any]]:
        """What a reader of the sink sees, in its order: release, key and step, and the value."""

    def live(
        self,
        fault: LifeFault,
        choices: Choices,
        faults: Faults,
    ) -> None:
        """All steps, each started again until it is released and published."""
        for step in range(1, self.steps + 1):
            for region in REGIONS:
                self.truth[step, region] = number = 1 + choices.below(200)
                self.write(f"{day(step, 10):%Y-%m-%dT%H:%M:%SZ}", region, number)
            since = time.monotonic()
            while True:
                with self.process(step) as running:
                    faults.number += fault(self, running, choices)
                    if running.wait(PATIENCE) == 0:
                        break
                if time.monotonic() - since > PATIENCE:
                    faults.wrong.append(f"step {step} does not end")
                    return
        faults.wrong += self.violations()

    @contextmanager
    def process(self, step: int) -> Iterator[subprocess.Popen[Any]]:
        """A process that releases all steps up to this one."""
        code = f"from tests.source_faults import victim; victim({str(self.folder)!r}, {step})"
        nowhere = subprocess.DEVNULL
        with warm_processes.start("-c", code, stdout=nowhere, stderr=nowhere) as running:
            try:
                yield running
            finally:
                running.kill()

    def violations(self) -> Iterator[str]:
        """What is not as it would be without a fault."""
        stored = {(one.release, one.key, one.step): one.value for one in self.world.releases()}
        totals = dict.fromkeys(REGIONS, 0)
        for step in range(1, self.steps + 1):
            for region in REGIONS:
                totals[region] += self.truth[step, region]
                true = {"daily": self.truth[step, region], "visits": totals[region]}
                for release, expected in true.items():
                    value = stored.get((release, region, step))
                    if value is None or int(value) % MILLION != expected:
                        yield f"{release} {region} {step} is not what was written"
        sent = self.published()
        if [key for key, _ in sent] != sorted((key for key, _ in sent), key=lambda key: key[2]):
            yield "the sink is not in order"
        if len(sent) != len({key for key, _ in sent}):
            yield "the sink has a release twice"
        if dict(sent) != stored:
            yield "the sink differs from the store"


def mostly(fault: LifeFault) -> LifeFault:
    """Leaves every third run alone, so that a life is short."""
    runs = count(1)
    return lambda life, running, choices: bool(next(runs) % 3) and fault(life, running, choices)


def victim(folder: str, step: int) -> None:
    """The program: releases all steps up to one, or says why not."""
    remote_delivery.FIRST = 0.05
    plan = read_plan(Path(folder) / "plan.toml")
    try:
        with open_store(str(Path(folder) / "s.db")) as store:
            Engine(plan, store, noise=RemovableNoise()).run(day(step + 1, 0))
    except AmelesError as problem:
        sys.exit(str(problem))


def kill_ameles(life: SourceLife, running: Running, choices: Choices) -> bool:
    """Kill -9 of the program at some moment, mostly before it is done."""
    choices.sleep(life.span)
    running.kill()
    killed = running.wait(PATIENCE) == -signal.SIGKILL
    life.span *= 1.05 if killed else 0.8
    return killed
