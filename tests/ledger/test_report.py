"""Reports: exact rates, and an end where there is one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, Intrusions, Neighbours
from ameles.core.loss import Approx, Loss, Pure
from ameles.ledger import Ledger
from ameles.ledger.report import report
from tests.ledger.populations import Promise, costing, promise

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)


class Days:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = MARCH

    def __call__(self) -> datetime:
        return self.now


def ledger_with(clock: Days, cap: Loss) -> Ledger:
    return Ledger("visitors", cap=cap, unit=EVENT, neighbours=Neighbours.ADD_REMOVE, clock=clock)


def test_the_rate_is_exact_and_forgets_what_is_older_than_the_window() -> None:
    clock = Days()
    ledger = ledger_with(clock, Pure(1))
    for amount in ("1/3", "1/7", "1/10"):
        ledger.start(costing(amount), on="x", why="y")
        clock.now += 10 * DAY
    told = report(ledger, now=MARCH + 25 * DAY, window=20 * DAY)
    # at day 0, 10 and 20: the first is older than 20 days
    assert told.recent == Pure("17/70")
    assert told.per_day == Pure("17/1400")
    assert told.spent == Pure("121/210")
    assert told.left == Pure("89/210")
    days = timedelta(microseconds=int(86400_000_000 * 89 * 1400 / (210 * 17)))
    assert told.used_up is not None
    assert abs(told.used_up - (MARCH + 25 * DAY + days)) < timedelta(seconds=1)
    assert not told.retired


def test_the_edges_of_the_window() -> None:
    clock = Days()
    ledger = ledger_with(clock, Pure(1))
    ledger.start(costing("1/2"), on="x", why="y")
    assert report(ledger, now=MARCH, window=DAY).recent == Pure("1/2")
    assert report(ledger, now=MARCH + DAY, window=DAY).recent == Pure(0)
    assert report(ledger, now=MARCH - DAY, window=DAY).recent == Pure(0)


def test_renewals_raise_the_cap_and_the_lifetime_sum_stays() -> None:
    clock = Days()
    ledger = ledger_with(clock, Pure(1))
    ledger.start(costing("1/2"), on="x", why="y")
    clock.now += 30 * DAY
    ledger.start(costing("1/2"), on="x", why="y")
    used = report(ledger, now=clock.now)
    assert used.retired
    assert used.used_up is None
    ledger.renew(Pure("1/4"), why="consent")
    ledger.renew(Pure("1/4"), why="consent")
    told = report(ledger, now=clock.now)
    assert (told.cap, told.renewed, told.spent) == (Pure("3/2"), Pure("1/2"), Pure(1))
    assert told.used_up == clock.now + 30 * DAY
    assert not told.retired


def test_there_is_no_rate_before_the_first_entry_is_as_old_as_the_window() -> None:
    clock = Days()
    ledger = ledger_with(clock, Pure(1))
    assert report(ledger, now=MARCH).per_day is None
    ledger.start(costing("1/4"), on="x", why="y")
    clock.now += 10 * DAY
    ledger.start(costing("1/4"), on="x", why="y")
    early = report(ledger, now=MARCH + 30 * DAY - timedelta(microseconds=1))
    assert (early.recent, early.per_day, early.used_up) == (Pure("1/2"), None, None)
    told = report(ledger, now=MARCH + 30 * DAY)
    assert (told.recent, told.per_day) == (Pure("1/4"), Pure("1/120"))
    assert told.used_up == MARCH + 90 * DAY


def test_the_first_amount_that_ends_is_the_end() -> None:
    clock = Days()
    ledger = ledger_with(clock, Approx(1, "1e-6"))
    ledger.start(costing("1/10"), on="x", why="y")
    clock.now = later = MARCH + DAY
    ledger.start(
        Promise(promise(Approx("1/10", "5e-7"), intrusions=Intrusions.EVERY)), on="x", why="y"
    )
    assert report(ledger, now=later, window=DAY).used_up == later + DAY
    # without delta, pure losses still fit
    ledger.start(
        Promise(promise(Approx("1/10", "5e-7"), intrusions=Intrusions.EVERY)), on="x", why="y"
    )
    assert not report(ledger, now=later, window=DAY).retired


def test_an_end_beyond_all_calendars_is_none() -> None:
    clock = Days()
    ledger = ledger_with(clock, Pure(1000))
    ledger.start(costing("1e-9"), on="x", why="y")
    clock.now += 30 * DAY
    ledger.start(costing("1e-9"), on="x", why="y")
    told = report(ledger, now=clock.now)
    assert told.per_day is not None
    assert told.used_up is None
    assert report(ledger_with(clock, Pure(1)), now=MARCH).used_up is None


def test_a_rate_needs_a_window() -> None:
    with pytest.raises(BadInput, match="must have a length"):
        report(ledger_with(Days(), Pure(1)), now=MARCH, window=timedelta(0))
