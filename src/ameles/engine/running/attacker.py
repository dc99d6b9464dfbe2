"""What an attacker can learn from everything that is published, as tables from prior to posterior.

Each table is about a number of units, and holds except with some chance; a pure loss has no such
exception.  The tables follow from a loss and a unit, which are public, and from no data.

The attacker may know all other units and all of Ameles, but not whether one unit is in the data, or
what it says.  Content is two units: one that says this is removed, and one that says that is added.

>>> from ameles.core.loss import Pure
>>> (table,) = tables(Pure(1), 1)
>>> table["high"][PRIORS.index(Fraction(1, 2))]
0.731059
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any

from ameles.accounting import group, odds_gained, posteriors
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Unit
from ameles.core.loss import Loss, loss_to_dict
from ameles.plan.sections import PrivacySection

_RARE = (Fraction(1, 1000), Fraction(1, 500), Fraction(1, 200))
PRIORS = (
    Fraction(0),
    *_RARE,
    *(Fraction(percent, 100) for percent in range(1, 100)),
    *(1 - one for one in reversed(_RARE)),
    Fraction(1),
)
CHANCES = (Fraction(1, 10**3), Fraction(1, 10**6), Fraction(1, 10**9))
MILLIONTH = 10**6  # posteriors are rounded up to a millionth
MANY = (2, 5, 10)

# Of each unit: its presence, its content, the presence of several; and what it means.
SEIZED_EVENT = "seized event"
_SUBJECTS = {
    "event": (
        "whether one event is in the data",
        "what one event says",
        "whether a person with {} events is in the data",
        "One event is protected, not one person: whoever has many events is protected less.",
    ),
    SEIZED_EVENT: (
        "whether one event counted in what is published",
        "what one event says",
        "whether {} events of one person counted",
        "One event is protected, not one person: whoever has many events is protected less. "
        "How many events arrived, and when, is not protected.",
    ),
    "user": (
        "whether one user is in the data",
        "what the events of one user say",
        "whether a group of {} users, all or none, is in the data",
        "One user is protected, with all events together.",
    ),
    "user-window": (
        "whether one user came within one window of time",
        "what the events of one user within one window of time say",
        "whether one user came, who may have come in {} windows of time",
        "One user is protected within one window of time; over several windows the loss adds up.",
    ),
}


def attacker(
    privacy: PrivacySection, spent: Loss | None = None, unit: Unit | None = None
) -> dict[str, Any]:
    """The tables of a stream with these terms.

    ``spent`` is what its population has paid so far, for the population's own ``unit``.
    """
    seized = privacy.unit == "event" and privacy.intrusions != "none"
    losses = [_learned("stream", privacy.loss, SEIZED_EVENT if seized else privacy.unit)]
    if spent is not None and unit is not None:
        losses.append(_learned("population", spent, unit.kind))
    return {"priors": [float(prior) for prior in PRIORS], "losses": losses}


def _learned(of: str, loss: Loss, kind: str) -> dict[str, Any]:
    presence, content, several, note = _SUBJECTS[kind]
    subjects = [
        {"about": "presence", "text": presence, "units": 1},
        {"about": "content", "text": content, "units": 2},
        *({"about": "presence", "text": several.format(n), "units": n} for n in MANY),
    ]
    return {
        "of": of,
        "loss": loss_to_dict(loss),
        "words": str(loss),
        "note": note,
        "subjects": subjects,
        "tables": [table for units in (1, *MANY) for table in tables(loss, units)],
    }


@lru_cache(maxsize=256)
def tables(loss: Loss, units: int) -> tuple[dict[str, Any], ...]:
    """What may be learned about some units: one table, or one for each chance of an exception."""
    try:
        together = group(loss, size=units)
    except BadInput:  # delta grows beyond 1: about so many units nothing is promised
        return tuple(_table(units, chance, None) for chance in CHANCES)
    always = odds_gained(together)
    if always is not None:
        return (_table(units, None, always),)
    return tuple(_table(units, chance, odds_gained(together, chance=chance)) for chance in CHANCES)


def _table(units: int, chance: Fraction | None, gained: Fraction | None) -> dict[str, Any]:
    most = posteriors(PRIORS, gained=gained)
    high = [Fraction(ceil(one * MILLIONTH), MILLIONTH) for one in most]
    return {
        "units": units,
        "chance": None if chance is None else float(chance),
        "promised": gained is not None,
        "high": [float(one) for one in high],
        # by symmetry: absence can be learned as well as presence
        "low": [float(1 - one) for one in reversed(high)],
    }
