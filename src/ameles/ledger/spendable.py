"""Totals, quotes and refusals of one budget in a tree of budgets.

A spend is first quoted all the way up; only if every cap on the way allows it does any total
change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING

from ameles.accounting.filter import admit, left_of, nothing_of
from ameles.core.exceptions import BudgetExceeded
from ameles.core.loss import Loss
from ameles.core.unique import Unique
from ameles.ledger.amounts import added, any_of, as_plan_keys, bare, beyond
from ameles.ledger.arguments import check_text

if TYPE_CHECKING:
    from ameles.ledger.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Quote:
    """The total of one budget after a spend, and what it would pay for the spend."""

    budget: Spendable
    total: Loss
    paid: Loss


class Spendable(Unique, ABC):
    """Something to spend from, in a tree: its cap, its total, and quotes for what is asked."""

    noun = "budget"
    elsewhere = "open a ledger in this process; a store keeps one for several processes"

    def __init__(self, name: str, spent: Loss) -> None:
        super().__init__()
        check_text(name, "name")
        self.name = name
        self._spent = spent

    def __repr__(self) -> str:
        cap = "no cap of its own" if self.cap is None else f"cap {self.cap}"
        return f"<{type(self).__name__} {self.name!r}: {cap}, spent {self._spent}>"

    @property
    @abstractmethod
    def ledger(self) -> Ledger:
        """The ledger of the population, at the root."""

    @property
    @abstractmethod
    def cap(self) -> Loss | None:
        """The most that may be spent here; None: only the budgets above limit it."""

    @property
    @abstractmethod
    def parent(self) -> Spendable | None:
        """The budget right above; None for the ledger of the population."""

    @property
    def payer(self) -> Spendable:
        """The nearest budget, here or above, that entries can name: a child, or the ledger."""
        return self

    @property
    def spent(self) -> Loss:
        """The lifetime sum of what was spent here."""
        return self._spent

    @property
    def left(self) -> Loss | None:
        """The cap minus what was spent, if there is a cap here."""
        return None if self.cap is None else left_of(self.cap, spent=self._spent)

    def quote(self, asked: Loss, *, on: str | None) -> list[Quote]:
        """The totals after this spend, here and above, the root last; raises if it does not fit.

        ``on`` is what the refusal names; None: a whole plan.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> study = people.child("study")
        >>> [(quote.budget.name, str(quote.total)) for quote in study.quote(Pure("0.25"), on="flu")]
        [('study', 'epsilon 0.25'), ('people', 'epsilon 0.25')]
        """
        if self.cap is None:
            total = added(self._spent, asked)
        else:
            try:
                total = admit(asked, cap=self.cap, spent=self._spent)
            except BudgetExceeded as refusal:
                raise self._refusal(refusal, on) from None
        return [Quote(self, total, asked), *self._quotes_above(asked, total, on)]

    def shares(self, prices: Mapping[str, Loss]) -> dict[str, Loss]:
        """What the population pays for each part of a plan, one after the other.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> shares = people.shares({"fever": Pure("0.25"), "cough": Pure("0.5")})
        >>> [str(share) for share in shares.values()]
        ['epsilon 0.25', 'epsilon 0.5']
        """
        shares, before = {}, self.ledger.spent
        asked = nothing_of(before)
        for name, price in prices.items():
            asked = added(asked, price)
            total = self.quote(asked, on=None)[-1].total
            shares[name], before = beyond(total, before), total
        return shares

    def settle(self, total: Loss) -> None:
        """Makes a quoted total the budget's total.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> people.settle(people.quote(Pure("0.25"), on="flu")[0].total)
        >>> print(people.left)
        epsilon 0.75
        """
        self._spent = total

    def upwards(self) -> Iterator[Spendable]:
        """This budget and those above it, the ledger of the population last.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> [budget.name for budget in people.child("study").upwards()]
        ['study', 'people']
        """
        budget: Spendable | None = self
        while budget is not None:
            yield budget
            budget = budget.parent

    @abstractmethod
    def _quotes_above(self, asked: Loss, total: Loss, on: str | None) -> list[Quote]:
        """The quotes of the budgets that this one passes its spends on to."""

    def _fits_above(self, asked: Loss) -> bool:
        """Whether all budgets above could pay, so that a larger cap here would help."""
        try:
            self._quotes_above(asked, added(self._spent, asked), None)
        except BudgetExceeded:
            return False
        return True

    def _refusal(self, refusal: BudgetExceeded, on: str | None) -> BudgetExceeded:
        """The refusal as a sentence about this budget, with what it would allow."""
        root, left = self.ledger, refusal.left
        needs = "this plan" if on is None else f"'{on}'"
        cap = "" if self.cap is None else bare(self.cap)
        kind = "population" if root is self else "budget"
        more = f"a renewal by the owner of population '{root.name}'"
        if root is not self:
            more = f"another budget of population '{root.name}'"
            if self._fits_above(refusal.asked):
                renew = f"ameles budget renew {quote(self.name)} --epsilon NUMBER --why TEXT"
                more = f"a larger cap ({renew}), or {more}"
        if on is None:
            fits = as_plan_keys(left)
        else:
            fits = f"a loss of at most {left}" if any_of(left) else ""
        return BudgetExceeded(
            f"{needs} needs {refusal.asked}; {kind} '{self.name}' has {bare(left)} left of {cap}",
            spent=refusal.spent,
            asked=refusal.asked,
            left=left,
            blocked_by=f"{kind} '{self.name}', by its {refusal.blocked_by}",
            why=root.history(self) or f"its cap is {self.cap}",
            tip=f"{fits}, or {more}" if fits else more,
        )
