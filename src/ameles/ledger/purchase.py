"""A purchase, before it has a number and a time in the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ameles.core.loss import Loss
from ameles.ledger.entry import Entry
from ameles.ledger.spendable import Spendable
from ameles.mechanisms.mechanism import AnyMechanism


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """A run that was started and is to be paid for by a budget."""

    budget: Spendable
    asked: Loss
    paid: Loss
    recipe: AnyMechanism
    run: str
    on: str
    why: str

    def entry(self, number: int, at: datetime) -> Entry:
        """Its entry in the ledger, under the nearest budget that entries can name."""
        return Entry(
            number=number,
            at=at,
            on=self.on,
            why=self.why,
            by=self.budget.payer.name,
            asked=self.asked,
            paid=self.paid,
            recipe=self.recipe.to_json(),
            guarantee=self.recipe.guarantee,
            run=self.run,
        )
