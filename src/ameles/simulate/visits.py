"""A season of visits, in blocks; each block is computed from the seed and its own number.

Visit i of N happens where the expected visits reach (i + u) / N of their sum, with uniform u.  So
visits are in the order of time, there are exactly N of them, and no block depends on another.  A
visitor is a number; what is fixed about them (region, age, the name of the device) is a function
of that number, so nothing has to be remembered, however many there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ameles.core.parameters import refuse, whole
from ameles.simulate.draws import Floats, Words, along, bell, high, low, scattered, words
from ameles.simulate.flaws import DAMAGES, Flaws, fallen, some
from ameles.simulate.wave import REGIONS, expected, shares

BLOCK = 1 << 17
ABROAD = len(REGIONS)  # the region of an undeclared key
FEVER = 38.0

_EACH = 3  # visits of a visitor, on average
_AGES = np.array([0.0, 5, 15, 25, 45, 65, 80, 100])
_AGES_UP_TO = np.array([0.0, 0.06, 0.17, 0.29, 0.60, 0.86, 0.96, 1.0])  # part of the visitors
_CHILD = 15
_OTHER_ILLNESS = 0.06  # share of those without influenza who have a fever anyway


@dataclass(frozen=True, slots=True, kw_only=True)
class Visits:
    """Some visits in the order in which the site wrote them down, one array a column.

    Missing values are masked, so a column with flaws is one of numpy's masked arrays.
    """

    reported_at: NDArray[np.datetime64]  # whole seconds, in UTC
    device: NDArray[np.uint32]
    region: NDArray[np.uint8]  # a place in REGIONS; one past its end: abroad
    age: NDArray[np.uint8]
    fever: NDArray[np.bool_]  # a temperature of 38 degrees or more
    cough: NDArray[np.bool_]
    temperature: NDArray[np.float64]  # in degrees Celsius, with one decimal
    damage: NDArray[np.uint8]  # how the line in a file is broken; 0: it is not

    def __len__(self) -> int:
        return len(self.reported_at)


@dataclass(frozen=True, kw_only=True)
class Season:
    """The parameters of a season; iterating over it gives its visits, block by block."""

    days: int
    visitors: int  # people who may come; some never do, and a few come very often
    events: int  # before some are duplicated
    start: date
    seed: int
    flaws: Flaws

    def __iter__(self) -> Iterator[Visits]:
        for number in range(-(-self.events // BLOCK)):
            yield self.block(number)

    def block(self, number: int) -> Visits:
        """The visits with the numbers from BLOCK * number on."""
        first = BLOCK * number
        rows = min(BLOCK, self.events - first)
        when_where, who_what, heat = words(self.seed, "visits", number, rows=rows, each=3)
        hour, seconds = self._times(first, low(when_where))
        kind = self._kinds(hour, high(when_where))
        place = kind // 2
        visitor = self._visitors(place, low(who_what))
        age = self._ages(visitor)
        what = high(who_what)
        influenza = kind % 2 == 1
        feverish = influenza | (what < _OTHER_ILLNESS)
        centre = np.where(feverish, 387 + 3 * (age < _CHILD), 367)
        tenths = np.rint(centre + np.where(feverish, 7.0, 3.5) * bell(heat))
        visits = Visits(
            reported_at=np.datetime64(self.start, "s") + seconds,
            device=_names(visitor, self.seed),
            region=place.astype(np.uint8),
            age=age,
            fever=tenths >= 10 * FEVER,
            # The upper bits of the draw chose the illness; the lower ones are still free.
            cough=(what * 2.0**16) % 1 < np.where(influenza, 0.8, 0.2),
            temperature=tenths / 10,
            damage=np.zeros(rows, dtype=np.uint8),
        )
        return self._flawed(visits, number) if self.flaws.any else visits

    @cached_property
    def _expected(self) -> Floats:
        """For each hour the expected visits of each kind and of the kinds before it."""
        return np.cumsum(expected(self.days, self.start, self.seed), axis=1)

    @cached_property
    def _hours(self) -> Floats:
        """The expected visits up to the start of each hour, and in all."""
        return np.concatenate([[0.0], np.cumsum(self._expected[:, -1])])

    def _times(self, first: int, jitter: Floats) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """The hour of each visit, and its second since the start."""
        order = first + np.arange(len(jitter))
        reached = (order + jitter) / self.events * self._hours[-1]
        hour = np.searchsorted(self._hours, reached, side="right") - 1
        hour = np.minimum(hour, len(self._hours) - 2)
        past = (reached - self._hours[hour]) / self._expected[hour, -1]
        second = np.clip(np.floor(past * 3600), 0, 3599).astype(np.int64)
        return hour, (3600 * hour + second).astype("timedelta64[s]")

    def _kinds(self, hour: NDArray[np.intp], drawn: Floats) -> NDArray[np.int64]:
        """North and well: 0, north and ill: 1, south and well: 2, ..."""
        reached = drawn * self._expected[hour, -1]
        kind = np.zeros(len(hour), dtype=np.int64)
        for up_to in self._expected[:, :-1].T:
            kind += reached >= up_to[hour]
        return kind

    def _visitors(self, place: NDArray[np.int64], drawn: Floats) -> Words:
        """A visitor of that region: the square makes the first of them come very often.

        Of n visitors, number k comes in proportion to 1 / sqrt(k): most come once or twice, and
        the number of visits has a tail like 1 / v^2.
        """
        homes = np.rint(np.concatenate([[0.0], shares()]) * self.visitors)
        # Where there are fewer visitors than regions, a region without any borrows one.
        size = np.maximum(homes[1:] - homes[:-1], 1.0)
        number: Floats = homes[:-1][place] + np.floor(size[place] * drawn * drawn)
        return np.minimum(number, self.visitors - 1).astype(np.uint64)

    def _ages(self, visitor: Words) -> NDArray[np.uint8]:
        part = high(scattered(visitor, 2 * self.seed))
        return along(part, _AGES_UP_TO, _AGES).astype(np.uint8)

    def _flawed(self, visits: Visits, number: int) -> Visits:
        """The same visits, with flaws."""
        flaws = self.flaws
        drawn = words(self.seed, "flaws", number, rows=len(visits), each=5)
        late, again, broken, missing, abroad = drawn
        back = (3600 + np.floor(high(late) * 71 * 3600)).astype("timedelta64[s]")
        earlier = np.maximum(visits.reported_at - back, np.datetime64(self.start, "s"))
        absent = np.where(fallen(missing, flaws.missing), some(missing, 4), -1)
        changed = {
            "reported_at": np.where(fallen(late, flaws.late), earlier, visits.reported_at),
            "device": np.ma.masked_array(visits.device, absent == 0),
            "region": np.ma.masked_array(
                np.where(fallen(abroad, flaws.undeclared), ABROAD, visits.region), absent == 1
            ).astype(np.uint8),
            "age": np.ma.masked_array(visits.age, absent == 2),
            "temperature": np.ma.masked_array(visits.temperature, absent == 3),
            "damage": np.where(
                fallen(broken, flaws.unparsable), 1 + some(broken, DAMAGES), 0
            ).astype(np.uint8),
        }
        times = 1 + fallen(again, flaws.duplicated)
        columns = {field.name: getattr(visits, field.name) for field in fields(visits)} | changed
        return Visits(**{name: column.repeat(times) for name, column in columns.items()})


def season(
    *,
    days: int = 182,
    visitors: int | None = None,
    events: int | None = None,
    start: str | date = "2025-10-01",
    seed: int = 0,
    flaws: float | Flaws = 0.0,
) -> Season:
    """A season from what a person writes.

    If only one of ``visitors`` and ``events`` is given, there are three visits for each visitor.
    ``flaws`` says which share of the visits has each kind of flaw.
    """
    if isinstance(start, str):
        try:
            start = date.fromisoformat(start)
        except ValueError:
            raise refuse("start", "a date, such as '2025-10-01'", start) from None
    if not 1970 <= start.year <= 9900:
        raise refuse("start", "a date from the year 1970 to 9900", start.isoformat())
    days = whole(days, "days", low=1, high=3660)
    if visitors is None and events is None:
        events = 100_000
    if visitors is None:
        events = whole(events or 0, "events", low=1, high=10**12)
        visitors = max(1, min(events // _EACH, 2**31))
    visitors = whole(visitors, "visitors", low=1, high=2**31)
    events = whole(_EACH * visitors if events is None else events, "events", low=1, high=10**12)
    seed = whole(seed, "seed", low=0, high=2**62)
    if not isinstance(flaws, Flaws):
        flaws = Flaws.all(flaws)
    return Season(days=days, visitors=visitors, events=events, start=start, seed=seed, flaws=flaws)


def _names(visitor: Words, seed: int) -> NDArray[np.uint32]:
    """The name of a device: a unique number of 32 bits, in no particular order.

    Each step can be undone, so no two visitors have the same name.
    """
    name = (visitor + np.uint64(seed & 0xFFFFFFFF)).astype(np.uint32)
    name = (name ^ (name >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    name = (name ^ (name >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return name ^ (name >> np.uint32(16))
