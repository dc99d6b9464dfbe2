"""Budgets: a tree in which what is spent below is also spent above, by three rules.

These are the budget agents of PINQ (catalogue 44).  A spend is first quoted all the way
up; only if every cap on the way allows it does any total change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from ameles.accounting import group
from ameles.accounting.filter import admit, in_currency, left_of, nothing_of
from ameles.core.exceptions import BadInput, BudgetExceeded
from ameles.core.guarantee import Neighbours, Unit
from ameles.core.loss import Loss
from ameles.core.parameters import refuse, shown, whole
from ameles.core.unique import Unique
from ameles.ledger.arguments import check_loss, check_text, check_unit
from ameles.mechanisms.mechanism import Mechanism, RunT

if TYPE_CHECKING:
    from ameles.ledger.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Quote:
    """What one budget would have spent in all, and what it would pay for this."""

    budget: Budget
    total: Loss
    paid: Loss


class Budget(Unique, ABC):
    """Something to spend from: a population's ledger, or a child of one."""

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
    def spent(self) -> Loss:
        """The lifetime sum of what was spent here."""
        return self._spent

    @property
    def left(self) -> Loss | None:
        """The cap less what was spent, if there is a cap here."""
        return None if self.cap is None else left_of(self.cap, spent=self._spent)

    def start(self, recipe: Mechanism[RunT], *, on: str, why: str) -> RunT:
        """Starts a run of this recipe and pays for it: debits its guarantee, here and above.

        ``on`` names the stream or table, ``why`` the purpose: both stay in the ledger.

        >>> from ameles import EVENT, Ledger, Pure, SimpleTwoCounter
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> run = people.start(SimpleTwoCounter(epsilon="0.25"), on="flu", why="weekly report")
        >>> print(people.left)
        epsilon 0.75
        """
        return self.ledger.buy(recipe, budget=self, on=on, why=why)

    def child(self, name: str, *, cap: Loss | None = None) -> Budget:
        """A part of this budget, with a cap of its own or without.

        >>> from ameles import EVENT, Ledger, Pure, SimpleTwoCounter
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> team = people.child("team", cap=Pure("0.5"))
        >>> run = team.start(SimpleTwoCounter(epsilon="0.25"), on="flu", why="weekly report")
        >>> print(team.left, "|", people.left)
        epsilon 0.25 | epsilon 0.75
        """
        return Child(self, name, factor=1, cap=cap)

    def scaled(self, factor: int) -> Budget:
        """The budget for data in which one row became up to ``factor`` rows.

        >>> from ameles import EVENT, Ledger, Pure, SimpleTwoCounter
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> run = people.scaled(3).start(SimpleTwoCounter(epsilon="0.25"), on="flu", why="words")
        >>> print(people.left)
        epsilon 0.25
        """
        factor = whole(factor, "factor", low=1, high=1 << 40)
        return Child(self, f"{self.name} x {factor}", factor=factor, cap=None)

    def partition(self, parts: Iterable[str], *, of: Unit, touching: int = 1) -> dict[str, Budget]:
        """A budget for each part of the data, where no unit is in more than ``touching`` parts.

        The parts must be public and divide the protected units: parts of events are no
        parts of users.  The population pays for the most expensive part only, or for the
        ``touching`` most expensive ones.

        >>> from ameles import EVENT, Ledger, Pure, SimpleTwoCounter
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
        partition = Partition(self, whole(touching, "touching", low=1, high=1 << 40))
        return {name: partition.part(name) for name in names}

    def quote(self, asked: Loss, *, on: str) -> list[Quote]:
        """The totals after this spend, here and above, the root last; raises if it does not fit."""
        if self.cap is None:
            total = added(self._spent, asked)
        else:
            try:
                total = admit(asked, cap=self.cap, spent=self._spent)
            except BudgetExceeded as refusal:
                fits = f"a loss of at most {refusal.left}" if any_of(refusal.left) else ""
                raise self._refusal(refusal, needs=f"'{on}'", fits=fits) from None
        return [Quote(self, total, asked), *self._quotes_above(asked, total, on)]

    def settle(self, total: Loss) -> None:
        """Takes over a quoted total."""
        self._spent = total

    @abstractmethod
    def _quotes_above(self, asked: Loss, total: Loss, on: str) -> list[Quote]:
        """The quotes of the budgets that this one passes its spends on to."""

    def _refusal(self, refusal: BudgetExceeded, *, needs: str, fits: str) -> BudgetExceeded:
        """The refusal as a sentence about this budget; ``fits`` is what it would allow."""
        kind = "population" if self.ledger is self else "budget"
        cap = "" if self.cap is None else _bare(self.cap)
        renewal = f"a renewal by the owner of {kind} '{self.name}'"
        return BudgetExceeded(
            f"{needs} needs {refusal.asked}; {kind} '{self.name}' has {_bare(refusal.left)} left "
            f"of {cap}",
            spent=refusal.spent,
            asked=refusal.asked,
            left=refusal.left,
            blocked_by=f"{kind} '{self.name}', by its {refusal.blocked_by}",
            why=self.ledger.history(self) or f"its cap is {self.cap}",
            tip=f"{fits}, or {renewal}" if fits else renewal,
        )


class Child(Budget):
    """A budget whose spends are its parent's, times a factor by group privacy."""

    def __init__(self, parent: Budget, name: str, *, factor: int, cap: Loss | None) -> None:
        nothing = nothing_of(parent.spent)
        if cap is not None:
            check_loss(cap, "cap")
        super().__init__(name, nothing)
        self._cap = None if cap is None else in_currency(cap, nothing)
        self._parent = parent
        self._factor = factor

    @property
    def cap(self) -> Loss | None:
        """Its own cap, if it was given one."""
        return self._cap

    @property
    def ledger(self) -> Ledger:
        """The ledger of the population."""
        return self._parent.ledger

    def _quotes_above(self, asked: Loss, total: Loss, on: str) -> list[Quote]:
        return self._parent.quote(group(asked, size=self._factor), on=on)


class Partition:
    """Parts of the units: the parent pays for the costliest parts, as many as one unit is in, and
    for twice as many if neighbours may replace a unit by another."""

    def __init__(self, parent: Budget, touching: int) -> None:
        self.parent = parent
        self._parts: list[PartBudget] = []
        replaced = (Neighbours.REPLACE, Neighbours.USER_SUBSTITUTION)
        self._touched = touching * (2 if parent.ledger.neighbours in replaced else 1)

    def part(self, name: str) -> PartBudget:
        """A new part, of which nothing is spent."""
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

    def __init__(self, partition: Partition, name: str) -> None:
        super().__init__(name, nothing_of(partition.parent.spent))
        self._partition = partition

    @property
    def cap(self) -> None:
        """None: the parent's cap limits all parts."""
        return None

    @property
    def ledger(self) -> Ledger:
        """The ledger of the population."""
        return self._partition.parent.ledger

    def _quotes_above(self, asked: Loss, total: Loss, on: str) -> list[Quote]:
        return self._partition.parent.quote(self._partition.increase(self, total), on=on)


def added(total: Loss, more: Loss) -> Loss:
    """The exact sum of two losses of one currency."""
    return type(total)(**{name: value + vars(more)[name] for name, value in vars(total).items()})


def any_of(loss: Loss) -> bool:
    """Whether this is a loss at all."""
    return any(vars(loss).values())


def as_plan_keys(loss: Loss) -> str:
    """A loss as the keys of a plan; empty if it is nothing, or cannot be shown exactly.

    A rounded amount would be no advice: it may be too much.

    >>> from ameles.core.loss import Pure
    >>> as_plan_keys(Pure("0.25")), as_plan_keys(Pure(0))
    ('epsilon = 0.25 in the plan', '')
    """
    amounts = {name: shown(value) for name, value in vars(loss).items()}
    exact = any_of(loss) and not any("about" in text for text in amounts.values())
    keys = ", ".join(f"{name} = {text}" for name, text in amounts.items())
    return f"{keys} in the plan" if exact else ""


def _bare(loss: Loss) -> str:
    """A loss without the name of its only amount, after a loss that has said it."""
    amounts = list(vars(loss).values())
    return shown(amounts[0]) if len(amounts) == 1 else str(loss)
