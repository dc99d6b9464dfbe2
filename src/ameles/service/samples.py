"""Releases by time, from the stores of a service: what is current at each of many moments.

A release is current from the end of its step until the next released step ends.  The last one stays
current until the next is overdue by more than ``LOOKBACK``; then it is stale, and there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ameles.plan.clock import Clock, microseconds
from ameles.service.published import Shown
from ameles.service.views import Column

LOOKBACK = 300_000_000  # microseconds; as Prometheus has it for series that fall silent
DENSE = 4  # if every fourth step of a range is asked for, all of it is read at once


class StoreSamples:
    """The releases of some plans by time; a ``Sampled``."""

    def __init__(
        self, shown: Sequence[Shown], now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._shown = {one.plan.stream.name: one for one in shown}
        self._now = now

    def now(self) -> int:
        """The present, in milliseconds since 1970."""
        return microseconds(self._now()) // 1000

    def current_steps(self, name: str, times: Sequence[int]) -> NDArray[np.int64]:
        """For each time the step whose releases are current then; 0 if there is none."""
        plan, released = self._shown[name].plan, self._released(name)
        us = np.array(times, dtype=np.int64) * 1000
        steps = _ended(plan.clock, us)
        if released:
            stale = plan.clock.end_of(released + 1) + plan.stream.grace_us + LOOKBACK
            steps[(steps > released) & (us >= stale)] = 0
        return np.minimum(steps, released)

    def steps_between(self, name: str, start: int, end: int) -> tuple[int, int] | None:
        """The first and the last step that are current at some moment between two times."""
        plan, released = self._shown[name].plan, self._released(name)
        last = min(plan.clock.ended(end * 1000), released)
        stale = plan.clock.end_of(released + 1) + plan.stream.grace_us + LOOKBACK
        if not last or end < start or start * 1000 >= stale:
            return None
        return min(max(1, plan.clock.ended(start * 1000)), last), last

    def _released(self, name: str) -> int:
        with self._shown[name].store.reading() as transaction:
            stream = transaction.stream(name)
        return 0 if stream is None else stream.released

    def step_ends(self, name: str, steps: Sequence[int]) -> NDArray[np.float64]:
        """When these steps end, in seconds since 1970."""
        clock = self._shown[name].plan.clock
        return np.array([clock.end_of(int(step)) for step in steps], dtype=np.float64) / 1e6

    def table(
        self, name: str, release: str, column: Column, steps: Sequence[int], keys: tuple[int, int]
    ) -> NDArray[Any]:
        """One column of a release: a row for each step, a column for each key."""
        wanted = np.array(steps, dtype=np.int64)
        parts = []
        with self._shown[name].store.reading() as transaction:
            stream = transaction.stream(name)
            if stream is None:
                raise KeyError(name)
            numbers = [one.number for one in transaction.series(stream) if one.release == release]
            # other series may be between those of keys that were discovered later
            chosen = np.array(numbers[keys[0] : keys[1] + 1]) - numbers[keys[0]]
            series = numbers[keys[0]], numbers[keys[1]]
            for some in _runs(wanted):
                first, last = int(some[0]), int(some[-1])
                whole = transaction.release_table(stream, column, (first, last), series)
                parts.append(whole[some - first][:, chosen])
        return np.concatenate(parts)


def _runs(steps: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Steps in ranges, each of which is worth reading as a whole."""
    far = np.flatnonzero(np.diff(steps) > DENSE) + 1
    return [steps[first:last] for first, last in pairwise([0, *far.tolist(), len(steps)])]


def _ended(clock: Clock, us: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many steps have ended by each instant."""
    if clock.every.calendar:
        return np.array([clock.ended(at) for at in us.tolist()], dtype=np.int64)
    steps = (us - clock.first) // clock.every.microseconds
    return np.clip(steps, 0, clock.latest)
