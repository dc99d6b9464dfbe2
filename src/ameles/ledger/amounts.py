"""Sums of losses of one currency, exactly, and how messages write them.

>>> from ameles.core.loss import Pure
>>> added(Pure("0.1"), Pure("0.2")) == Pure("0.3")
True
"""

from __future__ import annotations

from ameles.core.loss import Loss
from ameles.core.parameters import shown


def added(total: Loss, more: Loss) -> Loss:
    """The exact sum of two losses of one currency."""
    return type(total)(**{name: value + vars(more)[name] for name, value in vars(total).items()})


def beyond(total: Loss, before: Loss) -> Loss:
    """How much a total grew, exactly."""
    return type(total)(**{name: value - vars(before)[name] for name, value in vars(total).items()})


def any_of(loss: Loss) -> bool:
    """Whether this loss is above zero."""
    return any(vars(loss).values())


def bare(loss: Loss) -> str:
    """A loss without the name of its only amount, for use after a loss that has the name."""
    amounts = list(vars(loss).values())
    return shown(amounts[0]) if len(amounts) == 1 else str(loss)


def as_plan_keys(loss: Loss) -> str:
    """A loss as the keys of a plan; empty if it is nothing, or cannot be shown exactly.

    A rounded amount would be bad advice: it may be too large.

    >>> from ameles.core.loss import Pure
    >>> as_plan_keys(Pure("0.25")), as_plan_keys(Pure(0))
    ('epsilon = 0.25 in the plan', '')
    """
    amounts = {name: shown(value) for name, value in vars(loss).items()}
    exact = any_of(loss) and not any("about" in text for text in amounts.values())
    keys = ", ".join(f"{name} = {text}" for name, text in amounts.items())
    return f"{keys} in the plan" if exact else ""
