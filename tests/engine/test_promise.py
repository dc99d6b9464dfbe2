"""What a crash may take of standard input: a second of it, or what had piled up, at most 64 MiB.

Time is a number here, which passes while the engine waits or counts; no machine is too slow for it.
Kills of a real process are in ``tests/faults``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.connectors.standard_input import StandardInput
from ameles.engine.following import arrivals, counting
from ameles.engine.following.arrivals import Arrivals, Came, Ended
from ameles.plan.clock import Clock
from ameles.plan.durations import Duration

CLOCK = Clock(start=datetime(2026, 1, 1, tzinfo=UTC), every=Duration.read("1d"), zone="UTC")
PROMISED = 1.0  # seconds


class Nothing(StandardInput):
    """The script below says what is read."""

    def __init__(self) -> None:
        super().__init__("jsonl", {"n": "integer"})

    def incoming(self) -> Iterator[bytes]:
        return iter(())

    def reading(self, blocks: list[bytes]) -> Any:
        return b"".join(blocks)


@dataclass
class Script:
    """A queue of what happens at which time, and a session that counts for ``costs`` seconds."""

    happens: list[tuple[float, Came[bytes] | Ended | None]]
    costs: float
    time: float = 0.0
    handed: dict[bytes, float] = field(default_factory=dict)
    counted: dict[bytes, float] = field(default_factory=dict)
    largest: int = 0

    def put(self, arrival: object) -> None:
        """What the real threads find is left out."""

    def get(self, timeout: float) -> Came[bytes] | Ended | None:
        assert timeout > 0
        at, arrival = self.happens[0]
        if at > self.time + timeout:
            self.time += timeout
            raise Empty
        self.happens.pop(0)
        self.time = max(self.time, at)
        if isinstance(arrival, Came) and arrival.block:
            self.handed[arrival.block] = self.time
        return arrival

    def take(self, reading: bytes, target: int, *, arrived: int | None = None) -> None:
        self.largest = max(self.largest, len(reading))
        for line in reading.splitlines(keepends=True):
            assert line not in self.counted, "once"
            self.counted[line] = self.time
        self.time += self.costs


def run(script: Script, *, timed: bool) -> None:
    stop = threading.Event()
    stop.set()
    source = Nothing()
    came = Arrivals(
        CLOCK, source, stop, released=0, horizon=None, elapsed=lambda: script.time, now=lambda: 0
    )
    vars(came)["_queue"] = script
    plan = SimpleNamespace(clock=CLOCK, stream=SimpleNamespace(time="at" if timed else None))
    session: Any = SimpleNamespace(
        plan=plan,
        stream=SimpleNamespace(released=0),
        take=script.take,
        publish=lambda: None,
    )
    counting.Counting(session, source, came, lambda step: None).run()


GAPS = st.lists(st.sampled_from([0.0, 0.01, 0.4, 0.5, 0.9, 0.99, 1.0, 1.01, 3.0]), max_size=30)
DAYS = st.lists(st.integers(0, 29), max_size=3)


@settings(deadline=None)
@given(gaps=GAPS, ends=DAYS, costs=st.sampled_from([0.0, 0.3, 2.5]), timed=st.booleans())
def test_rows_are_counted_within_a_second(
    gaps: list[float], ends: list[int], costs: float, timed: bool
) -> None:
    """After they were handed out: before that they had piled up behind what was being counted."""
    happens: list[tuple[float, Came[bytes] | Ended | None]] = []
    at, day = 0.0, 0
    for number, gap in enumerate(gaps):
        at += gap
        if number in ends:
            day += 1
            happens.append((at, Ended(day, None)))
        happens.append((at, Came(CLOCK.start_of(day + 1), b"%d\n" % number)))
    happens.append((at + 10, None))
    script = Script(happens, costs)
    run(script, timed=timed)
    assert script.counted.keys() == {b"%d\n" % number for number in range(len(gaps))}
    waited = [script.counted[row] - script.handed[row] for row in script.counted]
    assert max(waited, default=0.0) <= PROMISED + 1e-9


def test_rows_that_never_cease_are_counted_within_a_second() -> None:
    """There is never a moment without any."""
    rows = [(n / 10, Came(CLOCK.first, b"%d\n" % n)) for n in range(100)]
    script = Script([*rows, (99.0, None)], 0.0)
    run(script, timed=True)
    assert max(script.counted[row] - script.handed[row] for row in script.counted) <= PROMISED


def test_many_rows_are_counted_at_once_but_not_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "AT_ONCE", 8)
    rows = [(0.0, Came(CLOCK.first, b"%d\n" % n)) for n in range(10)]
    script = Script([*rows, (99.0, None)], 0.0)
    run(script, timed=True)
    assert script.largest == 8


class Noted(Script):
    """Also which step rows were counted in."""

    def take(self, reading: bytes, target: int, *, arrived: int | None = None) -> None:
        self.steps = {**getattr(self, "steps", {}), reading: arrived}
        super().take(reading, target, arrived=arrived)


def test_rows_that_arrive_in_two_steps_are_counted_apart() -> None:
    """Those without a time of their own: also if the second step has come and was not yet said."""
    rows = [(0.0, Came(CLOCK.start_of(step), b"%d\n" % n)) for n, step in enumerate([1, 1, 2])]
    script = Noted([*rows, (99.0, None)], 0.0)
    run(script, timed=False)
    assert script.steps == {b"0\n1\n": 1, b"2\n": 2}


def test_the_docs_say_so() -> None:
    assert arrivals.QUIET == PROMISED
    assert arrivals.BACKLOG == 64 << 20
    docs = Path(__file__).parents[2] / "docs" / "operating.md"
    promise = "after a second or 4 MiB, whichever comes first"
    said = docs.read_text(encoding="utf-8")
    assert promise in said
    assert "more waits, at most 64 MiB" in said


def test_rows_are_counted_together_for_as_long_as_they_may_wait() -> None:
    rows = [(at, Came(CLOCK.first, b"%d\n" % n)) for n, at in enumerate((0.0, 0.5, 1.25, 1.75))]
    script = Script([*rows, (99.0, None)], 0.0)
    run(script, timed=True)
    assert list(script.counted.values()) == [1.0, 1.0, 2.25, 2.25]
