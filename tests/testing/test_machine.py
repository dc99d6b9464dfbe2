"""Any order of runs, follows, kills, appends, rotations and late events, beside a model of a line.

Without noise a stream is simple: an event counts in its own step, or in the first that was open
when it was read; so the whole store can be computed from what happened, whoever was killed.
"""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ameles.testing import Clock, Victims, Witness, World, missing_compiler
from ameles.testing.worlds import DAY, REGIONS, START, Cell, event

HORIZON = 5
SERVERS: list[Victims] = []


class Stream(RuleBasedStateMachine):
    """One stream, and what it should have published."""

    @initialize()
    def begin(self) -> None:
        self.base = Path(tempfile.mkdtemp())
        self.world = World(
            self.base / "w",
            SERVERS[0],
            source="events.csv*",
            horizon=HORIZON,
            noise="zero",
            sinks=False,
        )
        self.clock = Clock(self.base / "clock")
        self.clock.set(START.timestamp() + 3600)
        self.witness = Witness(self.world)
        self.day = 1
        self.released = 0
        self.written = 0
        self.unread: list[tuple[int, str]] = []
        self.counted: list[tuple[int, str]] = []

    @rule(days=st.lists(st.integers(1, HORIZON), min_size=1, max_size=4), south=st.booleans())
    def append(self, days: list[int], south: bool) -> None:
        for day in days:
            self.written += 1
            region = REGIONS[south]
            self.world.append([event(day, self.written, region, self.written)])
            self.unread.append((day, region))

    @rule()
    def rotate(self) -> None:
        self.world.rotate()

    @rule(days=st.integers(0, 2))
    def wait(self, days: int) -> None:
        self.day += days
        self.clock.set(START.timestamp() + (self.day - 1) * DAY + 3600)

    @rule(kills=st.lists(st.floats(0, 0.12), max_size=2))
    def run(self, kills: list[float]) -> None:
        job = self.world.replay(self.day - 1)
        for after in kills:
            victim = SERVERS[0].start(job)
            time.sleep(after)
            victim.kill()
        assert SERVERS[0].run(job).ended() == 0
        self.read(reads=self.released < HORIZON)

    @rule(kills=st.lists(st.floats(0, 0.12), max_size=2))
    def follow(self, kills: list[float]) -> None:
        job = self.world.follow(self.clock)
        for after in kills:
            victim = SERVERS[0].start(job)
            time.sleep(after)
            victim.kill()
        due = min(HORIZON, self.day - 1)
        victim = SERVERS[0].start(job)
        if due > self.released:
            self.world.wait_for(due)
        victim.send(signal.SIGTERM)
        assert victim.ended() in (0, -signal.SIGTERM)  # before it listens, it just ends
        self.read(reads=due > self.released)  # it reads when a step ends

    def read(self, *, reads: bool) -> None:
        """The model: what was unread is counted, and what is due is closed."""
        if reads:
            self.counted += [(max(day, self.released + 1), region) for day, region in self.unread]
            self.unread = []
        self.released = max(self.released, min(HORIZON, self.day - 1))

    @invariant()
    def as_the_model(self) -> None:
        if not hasattr(self, "world"):
            return
        self.witness.look()
        expected: dict[Cell, int] = {}
        for step in range(1, self.released + 1):
            expected["daily", "", step] = sum(at == step for at, _ in self.counted)
            for region in REGIONS:
                found = sum(at <= step and where == region for at, where in self.counted)
                expected["visits", region, step] = found
        assert self.world.stored() == expected
        assert self.witness.wrong == []

    def teardown(self) -> None:
        if hasattr(self, "base"):
            shutil.rmtree(self.base)


def test_any_order() -> None:
    if missing_compiler():
        pytest.skip(missing_compiler())
    with Victims() as victims:
        SERVERS[:] = [victims]
        Stream.TestCase.settings = settings(
            max_examples=8,
            stateful_step_count=8,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        Stream.TestCase("runTest").runTest()
