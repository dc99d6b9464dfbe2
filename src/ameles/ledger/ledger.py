"""The ledger: runs are bought, exactly, under the cap of the people they are about.

A ledger belongs to one population and has one unit, one neighbouring relation and one
currency, fixed when it is opened.  ``start`` reads the guarantee from the recipe, debits it
and gives the run; the noise source never leaves it.  Nothing is refunded.  A renewal adds to
the cap, for all to see, and never forgets what was spent.

A ledger in memory ends with its process.  A store restores one from its past ``entries`` and
``renewals``, and overrides ``_record``, ``_record_renewal``, ``_record_budget`` and
``_record_budget_renewal`` to keep what is new; the rules are the same.

>>> from datetime import datetime
>>> from ameles.core.guarantee import EVENT
>>> from ameles.core.loss import Pure
>>> from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
>>> visitors = Ledger("visitors", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE,
...                   clock=lambda: datetime(2026, 3, 1, tzinfo=UTC))
>>> run = visitors.start(SimpleTwoCounter(epsilon=0.8), on="flu", why="weekly dashboard")
>>> print(visitors.left)
epsilon 0.2
>>> visitors.start(SimpleTwoCounter(epsilon=0.5), on="cough", why="weekly dashboard")
Traceback (most recent call last):
ameles.core.exceptions.BudgetExceeded: error[budget]: 'cough' needs epsilon 0.5; population
'visitors' has 0.2 left of 1
  why: 'flu' was started with epsilon 0.8 on 2026-03-01 (weekly dashboard)
  try: a loss of at most epsilon 0.2, or a renewal by the owner of population 'visitors'
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import reduce

from ameles.core.exceptions import BadInput, StoreRefused
from ameles.core.guarantee import Guarantee, Intrusions, Neighbours, Unit
from ameles.core.loss import Loss
from ameles.core.noise import Noise
from ameles.ledger.amounts import added
from ameles.ledger.arguments import (
    check_purpose,
    check_recipe,
    check_recipes,
    check_snapshot,
)
from ameles.ledger.book import LedgerBook, Purchase
from ameles.ledger.budget import Budget
from ameles.ledger.cap_terms import CapTerms
from ameles.ledger.entry import BudgetRecord, Entry, Renewal
from ameles.ledger.run_progress import RunProgress, check_newest
from ameles.ledger.spendable import Quote
from ameles.mechanisms.mechanism import AnyMechanism, Mechanism, RunT
from ameles.mechanisms.run import live_runs
from ameles.mechanisms.snapshot import run_id
from ameles.noise import System


def _now() -> datetime:
    return datetime.now(UTC)


class Ledger(LedgerBook):
    """The budget of one population: runs are started here, and each is paid for.

    ``cap`` is the most that all runs together may lose; its type, such as ``Pure``, is the
    currency.  ``unit`` and ``neighbours`` say whose loss is counted.  ``start`` debits the
    guarantee of a recipe and returns the run; what does not fit is refused.  Several threads may
    use one ledger.

    ``contributions`` is the owner's promise of how many events one unit may have, for
    mechanisms that protect single events under a cap for users.  ``noise`` replaces the
    operating system's in tests; such a ledger is marked by ``genuine``.  ``cap`` is the one at the
    opening; ``entries``, ``renewals``, the named ``budgets`` below the cap and the step that each
    run has ``reached`` are the past.
    """

    def __init__(
        self,
        population: str,
        *,
        cap: Loss,
        unit: Unit,
        neighbours: Neighbours,
        contributions: int | None = None,
        noise: Noise | None = None,
        clock: Callable[[], datetime] = _now,
        entries: Iterable[Entry] = (),
        renewals: Iterable[Renewal] = (),
        budgets: Iterable[BudgetRecord] = (),
        reached: Mapping[str, int] | None = None,
    ) -> None:
        terms = CapTerms(unit=unit, neighbours=neighbours, contributions=contributions)
        super().__init__(population, cap, terms, entries, renewals, budgets)
        self._noise = noise
        self._clock = clock
        self._lock = threading.Lock()
        self._runs = RunProgress(reached or {})

    @property
    def ledger(self) -> Ledger:
        """The ledger itself: it is the root of its budgets."""
        return self

    @property
    def genuine(self) -> bool:
        """Whether every run's noise is the operating system's."""
        return self._noise is None or self._noise.genuine

    def open_child(self, parent: Budget, name: str, *, cap: Loss | None) -> Budget:
        """Opens a named budget below ``parent``, which is this ledger or a budget of it.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> study = people.open_child(people, "study", cap=Pure("0.5"))
        >>> print(study.left)
        epsilon 0.5
        """
        self.check_process()
        with self._lock:
            child = self._children.new(parent, name, cap, self._entries)
            above = None if parent is self else parent.name
            record = BudgetRecord(name=name, parent=above, cap=child.cap, opened=self._clock())
            self._record_budget(record, parent)
            self._children.add(child)
        return child

    def renew(self, added_cap: Loss, *, why: str) -> None:
        """Adds to the cap.  The renewal stays in the ledger, with its reason.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> people.renew(Pure("0.5"), why="the board agreed to a second year")
        >>> print(people.cap)
        epsilon 1.5
        """
        self.check_process()
        with self._lock:
            renewal = self._renewal(added_cap, why, self._clock())
            cap = added(self._cap, renewal.added)
            self._record_renewal(renewal)
            self._renewals.append(renewal)
            self._cap = cap

    def renew_budget(self, name: str, added_cap: Loss, *, why: str) -> None:
        """Adds to the cap of a named budget; the caps above it stay, and still hold.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> study = people.child("study", cap=Pure("0.25"))
        >>> people.renew_budget("study", Pure("0.5"), why="a second wave of interviews")
        >>> print(study.cap)
        epsilon 0.75
        """
        self.check_process()
        with self._lock:
            child = self._children.renewable(name)
            renewal = self._renewal(added_cap, why, self._clock())
            self._record_budget_renewal(child, renewal)
            child.raise_cap(renewal)

    def check_plan(
        self, recipes: Mapping[str, AnyMechanism], *, budget: Budget, on: str | None = None
    ) -> None:
        """Raises if ``budget`` cannot pay for all of these recipes; nothing is bought.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure, SimpleTwoCounter
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> study = people.child("study", cap=Pure("0.5"))
        >>> people.check_plan({"fever": SimpleTwoCounter(epsilon="0.25")}, budget=study)
        """
        with self._lock:
            budget.quote(reduce(added, self.prices(recipes).values()), on=on)

    def buy(self, recipe: Mechanism[RunT], *, budget: Budget, on: str, why: str) -> RunT:
        """Starts a run that ``budget``, this ledger or one below it, pays for.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure, SimpleTwoCounter
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> recipe, study = SimpleTwoCounter(epsilon="0.25"), people.child("study")
        >>> run = people.buy(recipe, budget=study, on="flu", why="weekly report")
        >>> print(study.spent)
        epsilon 0.25
        """
        self.check_process()
        check_recipe(recipe)
        check_purpose(on, why)
        return self._sell({on: recipe}, budget=budget, on=on, why=why)[on]

    def buy_plan(
        self, recipes: Mapping[str, Mechanism[RunT]], *, budget: Budget, on: str, why: str
    ) -> dict[str, RunT]:
        """Starts all runs of a plan, or none; ``budget``, this ledger or one below it, pays.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure, SimpleTwoCounter
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> recipes = {name: SimpleTwoCounter(epsilon="0.25") for name in ("fever", "cough")}
        >>> runs = people.buy_plan(recipes, budget=people, on="flu", why="weekly report")
        >>> sorted(runs), str(people.left)
        (['cough', 'fever'], 'epsilon 0.5')
        """
        self.check_process()
        check_recipes(recipes)
        check_purpose(on, why)
        if not recipes:
            raise BadInput("A plan must have something to release.")
        parts = {f"{on}/{name}": recipe for name, recipe in recipes.items()}
        return dict(
            zip(recipes, self._sell(parts, budget=budget, on=None, why=why).values(), strict=True)
        )

    def _sell(
        self, recipes: Mapping[str, Mechanism[RunT]], *, budget: Budget, on: str | None, why: str
    ) -> dict[str, RunT]:
        """Starts a run for each name and pays for all, or for none."""
        with self._lock:
            prices = self.prices(recipes)
            quotes = budget.quote(reduce(added, prices.values()), on=on)
            paid = budget.shares(prices)
            # A run that has not been handed out has revealed nothing: a recipe that
            # cannot start costs nothing, and no run leaves before it is paid.
            runs = {
                name: recipe.start(self._noise_for(recipe.guarantee))
                for name, recipe in recipes.items()
            }
            parts = [
                Purchase(
                    budget=budget,
                    asked=prices[name],
                    paid=paid[name],
                    recipe=recipes[name],
                    run=run.id,
                    on=name,
                    why=why,
                )
                for name, run in runs.items()
            ]
            self._keep(parts, quotes)
            for run in runs.values():
                self._runs.watch(run)
        return runs

    def resume(self, recipe: Mechanism[RunT], snapshot: bytes) -> RunT:
        """Resumes a run that was bought here, once from each snapshot.

        A second resumption would draw other noise for steps that may have been published.  The
        same is true of the run that the snapshot was taken of, so that one is spent.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure, SimpleTwoCounter
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> recipe = SimpleTwoCounter(epsilon="0.25")
        >>> run = people.start(recipe, on="flu", why="weekly report")
        >>> released = run.step(3)
        >>> resumed = people.resume(recipe, run.snapshot())
        >>> resumed.t, str(people.left)
        (1, 'epsilon 0.75')
        """
        self.check_process()
        check_recipe(recipe)
        check_snapshot(snapshot)
        run, step = run_id(snapshot)
        with self._lock:
            bought = next((entry for entry in self._entries if entry.run == run), None)
            if bought is None or bought.recipe != recipe.to_json():
                raise StoreRefused(
                    "This snapshot is of no run that was bought here with this recipe.",
                    tip="the ledger and the recipe that the run was started with",
                )
            earlier = live_runs(run)
            with self._runs.still(run, earlier):
                self._check_newest(run, snapshot, step)
                self._runs.check_once(run, step)
                resumed = recipe.resume(snapshot, self._noise_for(recipe.guarantee))
                self._runs.resume(resumed, step)
                for one in earlier:
                    one.spend()
        return resumed

    def _check_newest(self, run: str, snapshot: bytes, step: int) -> None:
        """Refuses a snapshot from before the last released step; a store overrides this."""
        check_newest(step, self._runs.reached(run))

    def _keep(self, parts: list[Purchase], quotes: list[Quote]) -> None:
        """One purchase: consecutive numbers, and one time."""
        first, at = len(self._entries) + 1, self._clock()
        entries = [part.entry(first + place, at) for place, part in enumerate(parts)]
        for entry in entries:
            self._record(entry)
        self._entries += entries
        for quote in quotes:
            quote.budget.settle(quote.total)

    def _noise_for(self, guarantee: Guarantee) -> Noise:
        if self._noise is not None:
            return self._noise
        return System() if guarantee.intrusions is Intrusions.NONE else System.direct()
