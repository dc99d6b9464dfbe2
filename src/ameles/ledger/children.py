"""The named budgets below a population's cap: per study, per analyst; each name is used once.

Every entry names the budget that was asked, so the totals of all budgets can be added up again
from the entries: what was paid counts at that budget and at every budget above it.

>>> from ameles.core.guarantee import EVENT, Neighbours
>>> from ameles.core.loss import Pure
>>> from ameles.ledger import Ledger
>>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
>>> study = people.child("study", cap=Pure("0.5"))
>>> people.budget("study") is study
True
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ameles.core.exceptions import BadInput
from ameles.core.loss import Loss, currency
from ameles.ledger.amounts import added
from ameles.ledger.arguments import check_text
from ameles.ledger.budget import Budget, Child
from ameles.ledger.entry import BudgetRecord, Entry
from ameles.ledger.replay import impossible
from ameles.ledger.spendable import Spendable


class Children:
    """The budgets of one ledger, by name; the ledger itself has the population's name."""

    def __init__(self, root: Budget) -> None:
        self._root = root
        self._named: dict[str, Child] = {}

    def __iter__(self) -> Iterator[Child]:
        return iter(self._named.values())

    def find(self, name: str) -> Budget:
        """The budget of this name."""
        check_text(name, "name")
        if name == self._root.name:
            return self._root
        child = self._named.get(name)
        if child is None:
            known = ", ".join(f"'{known}'" for known in self._named)
            raise BadInput(
                f"Population '{self._root.name}' has no budget '{name}'.",
                why=f"its budgets are {known}" if known else "no budget below it was opened",
                tip=f'child("{name}", cap=...), by the owner of the population',
            )
        return child

    def renewable(self, name: str) -> Child:
        """The child of this name, which has a cap of its own."""
        child = self.find(name)
        if not isinstance(child, Child) or child.cap is None:
            raise BadInput(
                f"The budget '{name}' has no cap of its own."
                if isinstance(child, Child)
                else f"'{name}' is the population itself.",
                why="a renewal of a budget adds to a cap that is its own",
                tip="renew(...) of the ledger, which adds to the cap of the population",
            )
        return child

    def new(self, parent: Budget, name: str, cap: Loss | None, entries: Iterable[Entry]) -> Child:
        """A child that is not in the tree yet; refused if its name was used before."""
        child = Child(parent, name, cap=cap)
        # Old entries may name parts of a partition; they would count at a child of that name.
        used = {self._root.name, *self._named, *(entry.by for entry in entries)}
        if not name or name in used:
            raise BadInput(
                f"The name '{name}' was used for a budget of population '{self._root.name}' before."
                if name
                else "A budget must have a name.",
                why="entries name the budget that paid",
                tip="another name",
            )
        return child

    def add(self, child: Child) -> None:
        """Takes a child into the tree."""
        self._named[child.name] = child

    def restore(self, records: Iterable[BudgetRecord], entries: Iterable[Entry]) -> None:
        """The children of a ledger's past, each with what its entries add up to."""
        for record in records:
            parent = self._root if record.parent is None else self._named.get(record.parent)
            if parent is None or record.name in (self._root.name, *self._named):
                raise impossible("its budgets are not a tree")
            amounts = [one.added for one in record.renewals]
            amounts += [] if record.cap is None else [record.cap]
            if any(currency(amount) != currency(self._root.spent) for amount in amounts):
                raise impossible("the cap of a budget is in another currency than the population's")
            if record.cap is None and record.renewals:
                raise impossible("a budget without a cap of its own was renewed")
            child = Child(parent, record.name, cap=record.cap)
            for renewal in record.renewals:
                child.raise_cap(renewal)
            self.add(child)
        for entry in entries:
            for budget in self._below_root(entry.by):
                budget.settle(added(budget.spent, entry.paid))
        if any(_over(child) for child in self):
            raise impossible("more was spent than the cap of a budget allows")

    def under(self, budget: Spendable, entries: Iterable[Entry]) -> list[Entry]:
        """The entries that a budget, or one below it, paid for."""
        names = {child.name for child in self if any(one is budget for one in child.upwards())}
        return [entry for entry in entries if entry.by in names]

    def _below_root(self, name: str) -> list[Spendable]:
        """The budget of this name and those above it, without the root."""
        child = self._named.get(name)
        return [] if child is None else [one for one in child.upwards() if one is not self._root]


def _over(child: Child) -> bool:
    cap, spent = child.cap, vars(child.spent)
    return cap is not None and any(spent[name] > limit for name, limit in vars(cap).items())
