"""The state of a budget: spent, left, the rate of spending, and when it would be used up.

The lifetime sum counts everything since the opening: a renewal raises the cap and forgets nothing.
A continual plan is debited as a whole at its launch, so a rate here is that of launches and
queries, and "used up" means: if they continued at this rate.  One launch does not make a rate:
there is none before the first entry is as old as the window.

>>> from ameles.core.guarantee import EVENT, Neighbours
>>> from ameles.core.loss import Pure
>>> from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
>>> march = datetime(2026, 3, 1, tzinfo=UTC)
>>> clock = [march]
>>> visitors = Ledger("visitors", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE,
...                   clock=lambda: clock[-1])
>>> run = visitors.start(SimpleTwoCounter(epsilon=0.5), on="flu", why="weekly dashboard")
>>> clock.append(march + timedelta(days=15))
>>> run = visitors.start(SimpleTwoCounter(epsilon=0.25), on="colds", why="weekly dashboard")
>>> now = report(visitors, now=march + timedelta(days=20), window=timedelta(days=10))
>>> print(now.left, "|", now.per_day, "a day |", now.used_up)
epsilon 0.25 | epsilon 0.025 a day | 2026-03-31 00:00:00+00:00
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import reduce

from ameles.accounting.filter import nothing_of
from ameles.core.exceptions import BadInput
from ameles.core.loss import Loss
from ameles.ledger.amounts import added
from ameles.ledger.ledger import Ledger

MONTH = timedelta(days=30)
_MICROSECOND = timedelta(microseconds=1)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetReport:
    """A budget at one moment; every loss is exact and in the population's currency."""

    population: str
    at: datetime
    cap: Loss  # with all renewals
    renewed: Loss  # what renewals have added to it
    spent: Loss  # the lifetime sum, whatever was renewed
    left: Loss
    window: timedelta
    recent: Loss  # spent within the window
    per_day: Loss | None  # recent, spread over the window; None before a window has passed
    used_up: datetime | None  # at this rate; None if that never happens

    @property
    def retired(self) -> bool:
        """Whether nothing can be bought any more: epsilon, or rho, is used up."""
        return not next(iter(vars(self.left).values()))


def report(ledger: Ledger, *, now: datetime, window: timedelta = MONTH) -> BudgetReport:
    """Where a ledger stands now, with its rate over the last ``window``."""
    if window <= timedelta(0):
        raise BadInput("The window of a rate must have a length.", tip="timedelta(days=30)")
    nothing = nothing_of(ledger.cap)
    within = [entry.paid for entry in ledger.entries if now - window < entry.at <= now]
    recent = reduce(added, within, nothing)
    days = Fraction(window // _MICROSECOND, _DAY // _MICROSECOND)
    per_day = None
    if ledger.entries and now - ledger.entries[0].at >= window:
        per_day = type(recent)(**{name: amount / days for name, amount in vars(recent).items()})
    return BudgetReport(
        population=ledger.name,
        at=now.astimezone(UTC),
        cap=ledger.cap,
        renewed=reduce(added, (renewal.added for renewal in ledger.renewals), nothing),
        spent=ledger.spent,
        left=ledger.left,
        window=window,
        recent=recent,
        per_day=per_day,
        used_up=_used_up(ledger.left, per_day, now.astimezone(UTC)),
    )


def rate_of(standing: BudgetReport) -> str:
    """How fast the budget is spent, in words.

    A stream is paid for when it is launched, so the first days after a launch give no rate.
    """
    days = f"the last {standing.window.days} days"
    if standing.retired:
        return f"In {days} {standing.recent} was spent. The cap is used up: nothing more can start."
    if not any(vars(standing.recent).values()):
        return f"In {days} nothing was spent."
    if standing.used_up is None:
        more = standing.per_day is not None and all(vars(standing.left).values())
        lasts = "; at this rate the cap lasts beyond the year 9999" if more else ""
        return f"In {days} {standing.recent} was spent{lasts}."
    return f"In {days} {standing.recent} was spent; at this rate the cap lasts until " + (
        f"{standing.used_up:%Y-%m-%d}."
    )


def _used_up(left: Loss, per_day: Loss | None, now: datetime) -> datetime | None:
    """When the first of the amounts ends at this rate, if that is a date at all."""
    if per_day is None:
        return None
    rates = vars(per_day)
    days = [amount / rates[name] for name, amount in vars(left).items() if rates[name] > 0]
    if not days or not min(days):
        return None  # nothing is being spent, or nothing is left to end
    try:
        return now + timedelta(microseconds=int(min(days) * (_DAY // _MICROSECOND)))
    except OverflowError:
        return None
