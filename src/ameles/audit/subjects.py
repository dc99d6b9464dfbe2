"""Mechanisms of the catalogue by name, with the parameters for their audits.

A mechanism gets epsilon, the horizon and, if it takes one, a delta of 1e-6.  If it also takes rho,
both are audited, with rho = epsilon^2 / 2.  A mechanism without a horizon stays without one.  A
mechanism that takes intrusions is audited for each kind of them, with and without a horizon.

>>> subjects(["SimpleTwoCounter"], epsilon="1/2", horizon=8)
[SimpleTwoCounter(unit='event', width=None, contributions=1, bound=1,
 epsilon=Fraction(1, 2), horizon=None)]
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Set
from fractions import Fraction
from typing import Any

from ameles.core.exceptions import BadInput
from ameles.core.parameters import Exact, exact
from ameles.mechanisms.catalogue import COUNTERS
from ameles.mechanisms.counters.recipe import CounterRecipe

DELTA = Fraction(1, 10**6)


def names() -> list[str]:
    """The mechanisms that can be asked for."""
    return [kind.__name__ for kind in COUNTERS]


def subjects(
    wanted: Iterable[str] = (), *, epsilon: Exact = 1, horizon: int
) -> list[CounterRecipe]:
    """Recipes of the mechanisms with these names, or of all, in the catalogue's order."""
    asked = set(wanted)
    if unknown := sorted(asked - set(names())):
        raise BadInput(
            f"There is no mechanism called {', '.join(unknown)}.",
            tip=f"one of {', '.join(names())}",
        )
    recipes: list[CounterRecipe] = []
    for kind in COUNTERS:
        if not asked or kind.__name__ in asked:
            recipes += variants(kind, epsilon=exact(epsilon, "epsilon"), horizon=horizon)
    return recipes


def variants(kind: type[CounterRecipe], *, epsilon: Fraction, horizon: int) -> list[CounterRecipe]:
    """A mechanism in each currency that it takes, against each kind of intrusion."""
    parameters = inspect.signature(kind).parameters
    needed = {name for name, each in parameters.items() if each.default is each.empty}
    known: dict[str, Any] = {"horizon": horizon, "intervals": dyadic(horizon)}
    given = {name: value for name, value in known.items() if name in needed}
    if missing := sorted(needed - given.keys() - {"epsilon", "delta", "rho"}):
        raise BadInput(
            f"{kind.__name__} needs {', '.join(missing)}, which cannot be made up here.",
            tip="ameles.audit.exact_loss with a recipe of your own",
        )
    choices = (
        {**given, **protection, **currency}
        for protection in _protections(parameters.keys(), horizon)
        if needed.isdisjoint(name for name, value in protection.items() if value is None)
        for currency in _currencies(parameters.keys(), epsilon)
    )
    return [kind(**chosen) for chosen in choices]


def _currencies(parameters: Set[str], epsilon: Fraction) -> list[dict[str, Any]]:
    currencies: list[dict[str, Any]] = [{"epsilon": epsilon, "delta": DELTA}]
    if "delta" not in parameters:
        currencies = [{"epsilon": epsilon}]
    currencies.append({"rho": epsilon**2 / 2})
    return [currency for currency in currencies if currency.keys() <= parameters]


def _protections(parameters: Set[str], horizon: int) -> list[dict[str, Any]]:
    if "intrusions" not in parameters:
        return [{}]
    return [
        {"intrusions": intrusions, "horizon": end}
        for intrusions in ("one", "announced")
        for end in (horizon, None)
    ]


def dyadic(horizon: int) -> tuple[tuple[int, int], ...]:
    """The intervals of the binary counter: what a declared collection may look like.

    >>> dyadic(4)
    ((1, 1), (2, 2), (3, 3), (4, 4), (1, 2), (3, 4), (1, 4))
    """
    sizes = [1 << level for level in range(horizon.bit_length())]
    return tuple(
        (start + 1, start + size) for size in sizes for start in range(0, horizon - size + 1, size)
    )
