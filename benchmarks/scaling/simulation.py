"""A month of a stream on a number of cores, minute by minute or hour by hour, from measured costs.

What it assumes:

- a run costs what it costs here, times the number of events, keys, steps and users (``Rates``);
- the work of reading and bounding divides among cores, except for ``OVERHEAD`` of it, which tasks
  on several machines spend on scheduling and shuffling; drawing noise and storing the releases does
  not divide: one process does it, for one stream;
- events follow the day: ``SWING`` above the mean in the evening and below it in the night, and each
  step varies by a lognormal factor with a deviation of ``VARIES`` in the logarithm;
- once a month, at the worst hour, nothing runs for an hour, and everything is read afterwards;
- the network, the disks and the broker keep up, and a core is as fast as the one measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

DAY = 86_400.0
DAYS = 30
SWING = 0.6
VARIES = 0.2
OVERHEAD = 0.3
OUTAGE = 3_600.0  # seconds
MOST_CORES = 1 << 16


@dataclass(frozen=True)
class Rates:
    """Seconds of a core for one more of each, and bytes that stay."""

    event: float
    bounded_event: float
    release: float
    step: float
    user_bytes: float
    release_bytes: float


@dataclass(frozen=True)
class Deployment:
    """A stream in the world."""

    name: str
    events: float  # a second, on average
    users: float
    keys: int
    every: float  # seconds

    @property
    def steps(self) -> int:
        """The steps of the month."""
        return round(DAYS * DAY / self.every)


@dataclass(frozen=True)
class Outcome:
    """What a month looked like with a number of cores."""

    cores: int
    typical: float  # seconds from the end of a step to its release, in the middle
    late: float  # the same for the slowest step in a hundred
    recovery: float  # seconds until the backlog of the outage was gone
    serial: float  # seconds of one process that a step needs for its releases


def arrivals(stream: Deployment, seed: int = 1) -> Iterator[float]:
    """The events of each step."""
    draws = np.random.default_rng(seed).normal(0, VARIES, stream.steps)
    for step, draw in enumerate(draws):
        hour = 2 * math.pi * (step + 0.5) * stream.every / DAY
        daily = 1 - SWING * math.cos(hour)
        yield stream.events * stream.every * daily * math.exp(draw - VARIES**2 / 2)


def simulate(stream: Deployment, rates: Rates, cores: int) -> Outcome:
    """The month, with the outage in the middle of its fifteenth evening."""
    each = (rates.bounded_event if stream.users else rates.event) * (1 + OVERHEAD * (cores > 1))
    serial = rates.step + stream.keys * rates.release
    free_at = 0.0  # when the work before is done
    begins = 14.5 * DAY
    ends = begins + OUTAGE
    delays, recovered = [], 0.0
    for step, count in enumerate(arrivals(stream)):
        over = (step + 1) * stream.every
        start = max(over, free_at)
        if begins <= start < ends:
            start = ends
        free_at = start + each * count / cores + serial
        delays.append(free_at - over)
        if over > begins and free_at <= over + stream.every and not recovered:
            recovered = max(0.0, free_at - ends) or stream.every
    delays.sort()
    return Outcome(
        cores,
        delays[len(delays) // 2],
        delays[int(0.99 * len(delays))],
        recovered or math.inf,
        serial,
    )


def needed(stream: Deployment, rates: Rates) -> Outcome | None:
    """The fewest cores (a power of two) with which 99 of 100 steps are released before the next one
    ends, and the outage is made up for within six hours; None if no number is enough."""
    cores = 1
    while cores <= MOST_CORES:
        outcome = simulate(stream, rates, cores)
        if outcome.late <= stream.every and outcome.recovery <= 6 * 3600:
            return outcome
        cores *= 2
    return None
