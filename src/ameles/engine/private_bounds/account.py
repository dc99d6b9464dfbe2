"""Who pays for chosen bounds: the population of the plan, or the budget that the plan names.

If this is the first payment of a population, it is opened with the plan's cap, as a launch would.
Then the cap must suffice for the plan itself, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from ameles.core.exceptions import BudgetExceeded
from ameles.core.noise import Noise
from ameles.engine.running.launch import check_price, open_population
from ameles.engine.running.window_phase import check_window
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.plan.plan import Plan
from ameles.query.store_account import StoreAccount
from ameles.store import Store, exists, open_store


@contextmanager
def plan_account(
    plan: Plan, url: str, recipe: AnyMechanism, *, noise: Noise | None = None
) -> Iterator[StoreAccount]:
    """The account that pays for ``recipe``; refuses before a store is made in vain."""
    if not exists(url):
        _check_cap(plan, recipe)
    with closing(open_store(url)) as store:
        _open(store, plan, recipe)
        yield StoreAccount(
            store,
            plan.privacy.population,
            budget=plan.privacy.budget,
            unit=plan.unit,
            noise=noise,
        )


def _open(store: Store, plan: Plan, recipe: AnyMechanism) -> None:
    """Opens the population, unless another plan has opened it."""
    population = plan.privacy.population
    with store.writing() as transaction:
        phase = check_window(transaction, plan)
        if transaction.population(population) is None:
            _check_cap(plan, recipe)
            open_population(transaction, plan)
        if phase is not None:
            transaction.set_phase(population, phase)


def _check_cap(plan: Plan, recipe: AnyMechanism) -> None:
    """Refuses a cap that does not suffice for the bounds and the plan."""
    try:
        check_price(plan, {"bounds": recipe})
    except BudgetExceeded as refusal:
        raise BudgetExceeded(
            f"The plan would open population '{plan.privacy.population}' with a cap that does not "
            "suffice for its bounds and for itself.",
            spent=refusal.spent,
            asked=refusal.asked,
            left=refusal.left,
            blocked_by=refusal.blocked_by,
            why="choosing bounds costs epsilon, too, and a cap is fixed when it is opened",
            tip="a cap in [privacy] that is larger by --epsilon, or a smaller epsilon in the plan",
        ) from None
