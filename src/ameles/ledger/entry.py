"""Ledger entries: what was paid, for what, why and when; never changed, never removed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ameles.core.guarantee import Guarantee
from ameles.core.loss import Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A debit: one mechanism started on one stream or table."""

    number: int  # from 1, in the order of spending
    at: datetime
    on: str
    why: str
    by: str  # the population or its named budget that was asked
    asked: Loss  # in the currency, unit and relation of the population
    paid: Loss  # by the population: more after a scaling, less in a partition
    recipe: str  # versioned JSON
    guarantee: Guarantee
    run: str

    @property
    def stream(self) -> str:
        """The stream or table: of "flu/fever" it is "flu"."""
        return self.on.partition("/")[0]

    def __str__(self) -> str:
        return f"'{self.on}' was started with {self.asked} on {self.at:%Y-%m-%d} ({self.why})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """An addition to the cap of a population or a budget: explicit, permanent, and counted into
    the lifetime sum."""

    at: datetime
    why: str
    added: Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRecord:
    """A named budget below the cap of a population, such as that of a study."""

    name: str
    parent: str | None  # the budget that it is a part of; None: the population itself
    cap: Loss | None  # of its own, at the opening; None: only the budgets above limit it
    opened: datetime
    renewals: tuple[Renewal, ...] = ()
