"""Any order of runs, follows, crashes, appends, rotations, late events, jumps of the clock and old
backups, beside a model of a line.

What noise hides can be taken off here, and then a stream is simple: an event counts in its own
step, or in the first that was open when it was read; so the whole store can be computed from what
happened, whoever was killed.
"""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.errors import FlakyFailure
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from tests.faults import Clock, Fault, Job, Victim, Victims, Witness, World
from tests.faults.crashes import MODES
from tests.faults.removable_noise import MILLION
from tests.faults.worlds import DAY, REGIONS, START, Cell, event

HORIZON = 5
# A run of a few steps makes some hundred changes, and one of none a dozen.
CRASHES = st.lists(
    st.builds(Fault, at=st.integers(1, 120), mode=st.sampled_from(MODES)), max_size=2
)


DAYS = st.integers(-1, 2)
EVENTS = st.lists(st.tuples(st.integers(1, HORIZON), st.sampled_from(REGIONS)), max_size=3)


class Stream(RuleBasedStateMachine):
    """One stream, and what it should have published."""

    victims: ClassVar[Victims]
    broken: ClassVar[str] = ""

    @initialize()
    def begin(self) -> None:
        self.base = Path(tempfile.mkdtemp())
        self.world = World(
            self.base / "w",
            self.victims,
            source="events.csv*",
            horizon=HORIZON,
            sinks=("out.csv",),
            broken=self.broken,
        )
        self.clock = Clock(self.base / "clock")
        self.witness = Witness(self.world)
        self.day = 1
        self.released = 0
        self.written = 0
        self.unread: list[tuple[int, str]] = []
        self.counted: list[tuple[int, str]] = []
        self.pass_by(0, [])

    @rule()
    def rotate(self) -> None:
        self.world.rotate()

    @rule(days=DAYS, events=EVENTS, crashes=CRASHES)
    def run(self, days: int, events: list[tuple[int, str]], crashes: list[Fault]) -> None:
        self.pass_by(days, events)
        job = self.world.replay(self.day - 1)
        for crash in crashes:
            assert self.victims.run(job, crash).ended() in (0, -signal.SIGKILL)
            self.witness.look()
        assert self.victims.run(job).ended() == 0
        self.read(reads=self.released < HORIZON)

    @rule(days=DAYS, events=EVENTS, crashes=CRASHES, stop=st.booleans(), second=st.booleans())
    def follow(
        self,
        days: int,
        events: list[tuple[int, str]],
        crashes: list[Fault],
        stop: bool,
        second: bool,
    ) -> None:
        self.pass_by(days, events)
        job = self.world.follow(self.clock)
        due = min(HORIZON, self.day - 1)
        for crash in crashes:
            self.until(self.victims.start(job, crash), due).kill()
            self.witness.look()
        before = self.world.shows(due)  # a victim that crashed may have released it
        victim = self.victims.start(job)
        if stop:
            victim.send(signal.SIGSTOP)
            time.sleep(0.01)
            victim.send(signal.SIGCONT)
        if due > self.released:
            self.world.wait_for(due)
            if second and due < HORIZON and not before:  # so this victim did, and holds the stream
                self.refused(self.world.replay(), "is run by another process")
        victim.send(signal.SIGTERM)
        assert victim.ended() in (0, -signal.SIGTERM)  # before it listens, it just ends
        self.read(reads=due > self.released)  # it reads when a step ends

    def pass_by(self, days: int, events: list[tuple[int, str]]) -> None:
        """The clock goes on, or back by a day, and events come, of any day."""
        self.day = max(1, self.day + days)
        self.clock.set(START.timestamp() + (self.day - 1) * DAY + 3600)
        for day, region in events:
            self.written += 1
            self.world.append([event(day, self.written, region, self.written)])
        self.unread += events

    def until(self, victim: Victim, due: int) -> Victim:
        """Waits until what is due is released, or it has died; or for a moment."""
        for _ in range(1000):
            if not victim.alive or (due > self.released and self.world.shows(due)):
                break
            if due <= self.released:
                time.sleep(0.02)
                break
            time.sleep(0.005)
        return victim

    @rule(days=st.integers(1, 2), events=EVENTS)
    def restore(self, days: int, events: list[tuple[int, str]]) -> None:
        """A backup of before the last steps comes, is refused, and goes again."""
        self.run(0, [], [])
        before = self.released
        self.copied(self.world.place, self.base / "backup")
        self.run(days, events, [])
        if self.released > before:
            self.copied(self.world.place, self.base / "newest")
            self.copied(self.base / "backup", self.world.place)
            self.refused(self.world.replay(), "older than what it published")
            self.copied(self.base / "newest", self.world.place)

    @staticmethod
    def copied(source: Path, target: Path) -> None:
        target.mkdir(exist_ok=True)
        for path in target.glob("s.db*"):
            path.unlink()
        for path in source.glob("s.db*"):
            shutil.copy(path, target)

    def refused(self, job: Job, why: str) -> None:
        other = self.victims.run(job)
        assert other.ended() == 4
        assert why in other.words

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
        expected: dict[Cell, int] = {}
        for step in range(1, self.released + 1):
            expected["daily", "", step] = sum(at == step for at, _ in self.counted)
            for region in REGIONS:
                visits = sum(at <= step and where == region for at, where in self.counted)
                expected["visits", region, step] = visits
        stored = {cell: value % MILLION for cell, value in self.world.stored().items()}
        assert stored == expected
        assert self.witness.look().wrong == []

    def teardown(self) -> None:
        if hasattr(self, "base"):
            shutil.rmtree(self.base)


Search = Callable[[str, int], None]


@pytest.fixture
def search(victims: Victims) -> Iterator[Search]:
    """Tries so many orders on an engine with a mistake."""
    Stream.victims = victims

    def tried(broken: str, examples: int) -> None:
        Stream.broken = broken
        run_state_machine_as_test(
            Stream,
            settings=settings(
                max_examples=examples,
                stateful_step_count=8,
                deadline=None,
                database=None,
                report_multiple_bugs=False,
                derandomize=bool(broken),
                phases=[Phase.generate] if broken else list(Phase),
                suppress_health_check=list(HealthCheck),
            ),
        )

    yield tried
    Stream.broken = ""


def test_any_order(search: Search) -> None:
    search("", 8)


@pytest.mark.parametrize(
    "broken",
    ["lost position", "late lost", "noise at publish", "publish before commit", "no fence"],
)
def test_it_finds_a_broken_engine(broken: str, search: Search) -> None:
    # A fault that depends on timing may not show again: then it was found all the same.
    with pytest.raises((AssertionError, TimeoutError, FlakyFailure)):
        search(broken, 30)
