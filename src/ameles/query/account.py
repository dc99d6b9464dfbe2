"""Accounts: who pays for questions, and where answers are kept.

The order makes it safe.  First the debit is written, with the question.  Then the answer is
computed, while nothing is locked but this one question.  Then the answer is stored under the debit,
once: the first stored answer wins.  Then it is shown.  If the process dies in between, the debit
stands, and the same question is computed again without another debit.  If it could not be
computed, the question is closed, and asking it again is paid for again.

A question is answered from the store at no cost if the owner gave the data a public ``version`` and
asks about the same version again.  Ameles does not examine the data to find that out: this would
reveal whether a row has changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ameles.core.exceptions import BudgetExceeded
from ameles.core.guarantee import Neighbours, Unit
from ameles.core.loss import Loss
from ameles.ledger import Budget, Entry
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.run import Run
from ameles.query.answer import Answer
from ameles.query.ending import AnswerRow

Compute = Callable[[Run[Any, Any]], tuple[AnswerRow, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidQuestion:
    """A question, and the mechanism that must be bought to answer it."""

    question: str  # canonical JSON of the question: public
    version: str | None  # the owner's label of the data
    recipe: AnyMechanism
    asked: str  # the method that was called
    key_names: tuple[str, ...]
    value_name: str
    on: str  # the table
    why: str
    interval_of: str = ""
    interval_if: str = ""

    def answer(
        self, rows: tuple[AnswerRow, ...], entry: Entry, population: str, *, repeated: bool = False
    ) -> Answer:
        """The answer that is stored and shown."""
        return Answer(
            asked=self.asked,
            key_names=self.key_names,
            value_name=self.value_name,
            rows=rows,
            population=population,
            entry=entry.number,
            paid=str(entry.paid),
            price="" if entry.paid == entry.asked else str(entry.asked),
            repeated=repeated,
            interval_of=self.interval_of,
            interval_if=self.interval_if,
        )


class Account(ABC):
    """Pays for questions about one population."""

    @property
    @abstractmethod
    def population(self) -> str:
        """Whose budget it is."""

    @property
    @abstractmethod
    def unit(self) -> Unit:
        """Whose loss is counted."""

    @property
    @abstractmethod
    def neighbours(self) -> Neighbours:
        """Which inputs are neighbours."""

    @property
    @abstractmethod
    def left(self) -> Loss | None:
        """What may still be spent; None if only budgets above it limit that."""

    @property
    @abstractmethod
    def of_part(self) -> bool:
        """Whether it pays for a part of a partition, and so for the rows of that part alone."""

    @abstractmethod
    def price(self, recipe: AnyMechanism) -> Loss:
        """What a recipe would cost here.  Nothing is bought."""

    @abstractmethod
    def charge(self, recipe: AnyMechanism) -> Loss:
        """What the population would pay for a recipe now.  Nothing is bought.

        It is less than the price in a part of a partition, if other parts have paid as much.
        """

    @abstractmethod
    def check_fits(self, recipes: Sequence[AnyMechanism], *, on: str) -> None:
        """Raises if these recipes together do not fit.  Nothing is bought."""

    @abstractmethod
    def stored(self, purchase: PaidQuestion) -> bool:
        """Whether ``ask`` would give a stored answer, at no cost."""

    @abstractmethod
    def ask(self, purchase: PaidQuestion, compute: Compute) -> Answer:
        """The answer: bought and computed now, or stored before."""

    @abstractmethod
    def parts(self, names: list[str], *, touching: int) -> dict[str, Account]:
        """An account for each part of the data; one unit is in at most ``touching`` parts."""


def numbered(recipes: Sequence[AnyMechanism]) -> dict[str, AnyMechanism]:
    """Recipes with names, as ledgers take them."""
    return {f"question-{place}": recipe for place, recipe in enumerate(recipes, start=1)}


def charged(budget: Budget, price: Loss) -> Loss:
    """What the population would pay for a price at one of its budgets: all of it, if too much."""
    try:
        return budget.shares({"question": price})["question"]
    except BudgetExceeded:
        return price


class LedgerAccount(Account):
    """A budget in memory: its answers are kept as long as it is."""

    def __init__(self, budget: Budget, *, of_part: bool = False) -> None:
        self._budget = budget
        self._of_part = of_part
        self._answers: dict[tuple[str, str], Answer] = {}

    @property
    def population(self) -> str:
        return self._budget.ledger.name

    @property
    def unit(self) -> Unit:
        return self._budget.ledger.unit

    @property
    def neighbours(self) -> Neighbours:
        return self._budget.ledger.neighbours

    @property
    def left(self) -> Loss | None:
        return self._budget.left

    @property
    def of_part(self) -> bool:
        return self._of_part

    def price(self, recipe: AnyMechanism) -> Loss:
        return self._budget.ledger.prices({"question": recipe})["question"]

    def charge(self, recipe: AnyMechanism) -> Loss:
        return charged(self._budget, self.price(recipe))

    def check_fits(self, recipes: Sequence[AnyMechanism], *, on: str) -> None:
        self._budget.check_fits(numbered(recipes), on=on)

    def stored(self, purchase: PaidQuestion) -> bool:
        version = purchase.version
        return version is not None and (purchase.question, version) in self._answers

    def ask(self, purchase: PaidQuestion, compute: Compute) -> Answer:
        if purchase.version is not None:
            stored = self._answers.get((purchase.question, purchase.version))
            if stored is not None:
                return replace(stored, repeated=True)
        run = self._budget.start(purchase.recipe, on=purchase.on, why=purchase.why)
        entry = next(one for one in self._budget.ledger.entries[::-1] if one.run == run.id)
        answer = purchase.answer(compute(run), entry, self.population)
        if purchase.version is not None:
            answer = self._answers.setdefault((purchase.question, purchase.version), answer)
        return answer

    def parts(self, names: list[str], *, touching: int) -> dict[str, Account]:
        budgets = self._budget.partition(names, of=self.unit, touching=touching)
        return {name: LedgerAccount(budget, of_part=True) for name, budget in budgets.items()}
