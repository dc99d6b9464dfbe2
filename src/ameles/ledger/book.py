"""What a ledger keeps: its cap, its entries and renewals, and the named budgets below it.

>>> from ameles import EVENT, Ledger, Neighbours, Pure, SimpleTwoCounter
>>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
>>> run = people.start(SimpleTwoCounter(epsilon="0.25"), on="flu", why="weekly report")
>>> [(entry.on, str(entry.paid)) for entry in people.entries]
[('flu', 'epsilon 0.25')]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ameles.accounting.filter import in_currency, left_of
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Neighbours, Unit
from ameles.core.loss import Loss
from ameles.ledger.amounts import any_of
from ameles.ledger.arguments import check_loss, check_recipes, check_text
from ameles.ledger.budget import Budget, Child
from ameles.ledger.cap_terms import CapTerms
from ameles.ledger.children import Children
from ameles.ledger.entry import BudgetRecord, Entry, Renewal
from ameles.ledger.replay import replayed, told
from ameles.ledger.spendable import Quote, Spendable
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


class LedgerBook(Budget):
    """The book of one population, read only; ``Ledger`` also sells.

    A store overrides the methods that record, in order to keep new rows.
    """

    def __init__(
        self,
        population: str,
        cap: Loss,
        terms: CapTerms,
        entries: Iterable[Entry],
        renewals: Iterable[Renewal],
        budgets: Iterable[BudgetRecord],
    ) -> None:
        check_loss(cap, "cap")
        self._entries, self._renewals = list(entries), list(renewals)
        opened = replayed(cap, self._entries, self._renewals)
        super().__init__(population, opened.spent)
        self._cap = opened.cap
        self._terms = terms
        self._children = Children(self)
        self._children.restore(budgets, self._entries)

    @property
    def parent(self) -> None:
        """None: no budget is above the population's."""
        return None

    @property
    def children(self) -> tuple[Child, ...]:
        """The named budgets below the cap, in the order of their opening, each after its parent."""
        return tuple(self._children)

    def budget(self, name: str) -> Budget:
        """The budget of this name: a child, at any depth, or the population's own.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> study = people.child("study a", cap=Pure("0.5"))
        >>> print(people.budget("study a").left)
        epsilon 0.5
        """
        return self._children.find(name)

    @property
    def cap(self) -> Loss:
        """The most that may ever be spent, with all renewals."""
        return self._cap

    @property
    def left(self) -> Loss:
        """What is left: the cap minus everything that was ever spent, exactly."""
        return left_of(self._cap, spent=self._spent)

    @property
    def unit(self) -> Unit:
        """Whose loss is counted."""
        return self._terms.unit

    @property
    def neighbours(self) -> Neighbours:
        """Which inputs are neighbours, for every loss in this ledger."""
        return self._terms.neighbours

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every debit since the ledger was opened."""
        return tuple(self._entries)

    @property
    def renewals(self) -> tuple[Renewal, ...]:
        """Every addition to the cap since the ledger was opened."""
        return tuple(self._renewals)

    def prices(self, recipes: Mapping[str, AnyMechanism]) -> dict[str, Loss]:
        """What each recipe would cost here, in the population's currency; nothing is bought.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure, SimpleTwoCounter
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> prices = people.prices({"fever": SimpleTwoCounter(epsilon="0.25")})
        >>> print(prices["fever"])
        epsilon 0.25
        """
        check_recipes(recipes)
        return {
            name: self._terms.price(recipe.guarantee, self._cap) for name, recipe in recipes.items()
        }

    def history(self, budget: Spendable) -> str:
        """What a budget was spent on, in one line: the latest entry, and how many there were before
        it.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure, SimpleTwoCounter
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> run = people.start(SimpleTwoCounter(epsilon="0.25"), on="flu", why="weekly report")
        >>> people.history(people).startswith("'flu' was started with epsilon 0.25 on")
        True
        """
        entries = self._entries
        return told(entries if budget is self else self._children.under(budget, entries))

    def _quotes_above(self, asked: Loss, total: Loss, on: str | None) -> list[Quote]:
        return []

    def _renewal(self, added_cap: Loss, why: str, at: datetime) -> Renewal:
        """A checked addition to a cap, in the population's currency."""
        check_loss(added_cap, "added_cap")
        check_text(why, "why")
        more = in_currency(added_cap, self._cap)
        if not any_of(more):
            raise BadInput("A renewal must add something to the cap.")
        return Renewal(at=at, why=why, added=more)

    def _record(self, entry: Entry) -> None:
        """Keeps an entry for ever, before it counts; a store overrides this."""

    def _record_renewal(self, renewal: Renewal) -> None:
        """Keeps a renewal for ever, before it counts; a store overrides this."""

    def _record_budget(self, record: BudgetRecord, parent: Budget) -> None:
        """Keeps a named budget for ever, before it is used; a store overrides this."""

    def _record_budget_renewal(self, child: Child, renewal: Renewal) -> None:
        """Keeps a renewal of a named budget for ever, before it counts; a store overrides this."""
