"""Budgets: a tree in which every spend below is also a spend above, by three rules.

These are the budget agents of PINQ (catalogue 44): a child's spends add up, a scaled budget
multiplies them, and a partition costs as much as its most expensive part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from ameles.accounting import group
from ameles.accounting.filter import in_currency, nothing_of
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Neighbours, Unit
from ameles.core.loss import Loss
from ameles.core.parameters import refuse, whole
from ameles.ledger.amounts import added
from ameles.ledger.arguments import check_loss, check_text, check_unit
from ameles.ledger.entry import Renewal
from ameles.ledger.spendable import Quote, Spendable
from ameles.mechanisms.mechanism import AnyMechanism, Mechanism, RunT

if TYPE_CHECKING:
    from ameles.ledger.ledger import Ledger


class Budget(Spendable):
    """Something to spend from: a population's ledger, or a child of one."""

    def start(self, recipe: Mechanism[RunT], *, on: str, why: str) -> RunT:
        """Starts a run of this recipe and pays for it: debits its guarantee, here and above.

        ``on`` names the stream or table, ``why`` the purpose: both stay in the ledger.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure, SimpleTwoCounter
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> run = people.start(SimpleTwoCounter(epsilon="0.25"), on="flu", why="weekly report")
        >>> print(people.left)
        epsilon 0.75
        """
        return self.ledger.buy(recipe, budget=self, on=on, why=why)

    def launch(
        self, recipes: Mapping[str, Mechanism[RunT]], *, on: str, why: str
    ) -> dict[str, RunT]:
        """Buys all runs of a plan, or none: the total is checked before any of them starts.

        Each has an entry of its own, on ``on/name``.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure, SimpleTwoCounter
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> recipes = {name: SimpleTwoCounter(epsilon="0.25") for name in ("fever", "cough")}
        >>> runs = people.launch(recipes, on="flu", why="weekly report")
        >>> [entry.on for entry in people.entries]
        ['flu/fever', 'flu/cough']
        """
        return self.ledger.buy_plan(recipes, budget=self, on=on, why=why)

    def check_fits(self, recipes: Mapping[str, AnyMechanism], *, on: str | None = None) -> None:
        """Raises if these recipes together cost more than is left; nothing is bought.

        ``on`` is what the refusal names; None: a whole plan.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure, SimpleTwoCounter
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> people.check_fits({"fever": SimpleTwoCounter(epsilon="0.25")})
        """
        self.ledger.check_plan(recipes, budget=self, on=on)

    def child(self, name: str, *, cap: Loss | None = None) -> Budget:
        """A part of this budget, for example for a study, with or without a cap of its own.

        Its name is unique among all budgets of the population; ``ledger.budget(name)`` finds it.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure, SimpleTwoCounter
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> team = people.child("team", cap=Pure("0.5"))
        >>> run = team.start(SimpleTwoCounter(epsilon="0.25"), on="flu", why="weekly report")
        >>> print(team.left, "|", people.left)
        epsilon 0.25 | epsilon 0.75
        """
        return self.ledger.open_child(self, name, cap=cap)

    def scaled(self, factor: int) -> Budget:
        """The budget for data in which one row became up to ``factor`` rows.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure, SimpleTwoCounter
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> run = people.scaled(3).start(SimpleTwoCounter(epsilon="0.25"), on="flu", why="words")
        >>> print(people.left)
        epsilon 0.25
        """
        factor = whole(factor, "factor", low=1, high=1 << 40)
        return Scaled(self, factor)

    def partition(self, parts: Iterable[str], *, of: Unit, touching: int = 1) -> dict[str, Budget]:
        """A budget for each part of the data, where no unit is in more than ``touching`` parts.

        The parts must be public and divide the protected units: parts of events are not
        parts of users.  The population pays for the most expensive part only, or for the
        ``touching`` most expensive ones.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure, SimpleTwoCounter
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> for part in people.partition(["north", "south"], of=EVENT).values():
        ...     run = part.start(SimpleTwoCounter(epsilon="0.25"), on="flu", why="weekly report")
        >>> print(people.left)
        epsilon 0.75
        """
        if not isinstance(parts, Iterable):
            raise refuse("parts", "names", parts)
        names = list(parts)
        for name in names:
            check_text(name, "parts")
        check_unit(of, "of")
        if len(set(names)) != len(names) or not names:
            raise BadInput("The parts of a partition must be named, and each only once.")
        unit = self.ledger.unit
        if of != unit:
            raise BadInput(
                f"The parts must partition the protected unit, {unit}. "
                f"Got a partition of {of} instead.",
                why=f"the data of {unit} may then be in several parts, and their losses add up",
                tip="child(...) for each part",
            )
        partition = PartitionBudget(self, whole(touching, "touching", low=1, high=1 << 40))
        return {name: partition.part(name) for name in names}


class Child(Budget):
    """A budget with a name, whose spends are also its parent's; with or without a cap of its
    own."""

    def __init__(self, parent: Budget, name: str, *, cap: Loss | None) -> None:
        nothing = nothing_of(parent.spent)
        if cap is not None:
            check_loss(cap, "cap")
        super().__init__(name, nothing)
        self._cap = None if cap is None else in_currency(cap, nothing)
        self._parent = parent
        self._renewals: list[Renewal] = []

    @property
    def cap(self) -> Loss | None:
        """Its own cap with all renewals, if it was given one."""
        return self._cap

    @property
    def renewals(self) -> tuple[Renewal, ...]:
        """Every addition to its cap since it was opened."""
        return tuple(self._renewals)

    def raise_cap(self, renewal: Renewal) -> None:
        """Adds a renewal that was recorded to the cap of its own."""
        if self._cap is None:
            raise BadInput(
                f"The budget '{self.name}' has no cap of its own.",
                why="only the budgets above limit it",
                tip=f"a renewal of population '{self.ledger.name}'",
            )
        self._cap = added(self._cap, renewal.added)
        self._renewals.append(renewal)

    @property
    def parent(self) -> Budget:
        """The budget that it is a part of."""
        return self._parent

    @property
    def ledger(self) -> Ledger:
        """The ledger of the population."""
        return self._parent.ledger

    def _quotes_above(self, asked: Loss, total: Loss, on: str | None) -> list[Quote]:
        return self._parent.quote(asked, on=on)


class Scaled(Budget):
    """A budget whose spends are its parent's, times a factor by group privacy."""

    def __init__(self, parent: Budget, factor: int) -> None:
        super().__init__(f"{parent.name} x {factor}", nothing_of(parent.spent))
        self._parent = parent
        self._factor = factor

    @property
    def cap(self) -> None:
        """None: the budgets above limit it."""
        return None

    @property
    def parent(self) -> Budget:
        """The budget that pays, times the factor."""
        return self._parent

    @property
    def payer(self) -> Spendable:
        """The nearest budget above that entries can name."""
        return self._parent.payer

    @property
    def ledger(self) -> Ledger:
        """The ledger of the population."""
        return self._parent.ledger

    def _quotes_above(self, asked: Loss, total: Loss, on: str | None) -> list[Quote]:
        return self._parent.quote(group(asked, size=self._factor), on=on)


class PartitionBudget:
    """Parts of the units: the parent pays for the most expensive parts, as many as one unit is in,
    and for twice as many if neighbours may replace a unit by another."""

    def __init__(self, parent: Budget, touching: int) -> None:
        self.parent = parent
        self._parts: list[PartBudget] = []
        replaced = (Neighbours.REPLACE, Neighbours.USER_SUBSTITUTION)
        self._touched = touching * (2 if parent.ledger.neighbours in replaced else 1)

    def part(self, name: str) -> PartBudget:
        """A new part, from which nothing is spent yet."""
        part = PartBudget(self, name)
        self._parts.append(part)
        return part

    def increase(self, part: PartBudget, total: Loss) -> Loss:
        """How much more the parent pays if this part's total becomes ``total``."""
        totals = [total if other is part else other.spent for other in self._parts]
        before, after = self._worst([other.spent for other in self._parts]), self._worst(totals)
        return type(total)(**{name: after[name] - before[name] for name in after})

    def _worst(self, totals: list[Loss]) -> dict[str, Fraction]:
        return {
            name: sum(
                sorted((vars(total)[name] for total in totals), reverse=True)[: self._touched]
            )
            for name in vars(totals[0])
        }


class PartBudget(Budget):
    """One part of a partition."""

    def __init__(self, partition: PartitionBudget, name: str) -> None:
        super().__init__(name, nothing_of(partition.parent.spent))
        self._partition = partition

    @property
    def cap(self) -> None:
        """None: the parent's cap limits all parts."""
        return None

    @property
    def parent(self) -> Budget:
        """The budget that was partitioned."""
        return self._partition.parent

    @property
    def payer(self) -> Spendable:
        """The nearest budget above that entries can name."""
        return self.parent.payer

    @property
    def ledger(self) -> Ledger:
        """The ledger of the population."""
        return self.parent.ledger

    def _quotes_above(self, asked: Loss, total: Loss, on: str | None) -> list[Quote]:
        return self._partition.parent.quote(self._partition.increase(self, total), on=on)
