"""Guarantees of every kind."""

from __future__ import annotations

import itertools

from ameles.core.guarantee import (
    EVENT,
    USER,
    Contribution,
    Guarantee,
    Intrusions,
    Neighbours,
    Norm,
    user_window,
)
from ameles.core.loss import Approx, Concentrated, Loss, Pure

GUARANTEE = Guarantee(
    loss=Approx("0.1", "1e-6"),
    unit=user_window(30),
    neighbours=Neighbours.USER_PRESENCE,
    contribution=Contribution(steps=5, bound=2, norm=Norm.L2),
    horizon=365,
    intrusions=Intrusions.ONE,
)
LOSSES: list[Loss] = [Pure("1/3"), Approx(1, "1e-9"), Concentrated("0.005")]
EVERY = [
    Guarantee(
        loss=loss,
        unit=unit,
        neighbours=neighbours,
        contribution=Contribution(steps=steps, bound=3, norm=norm),
        horizon=horizon,
        intrusions=intrusions,
    )
    for loss, unit, neighbours, steps, norm, horizon, intrusions in itertools.product(
        LOSSES,
        [EVENT, USER, user_window(7)],
        Neighbours,
        [1, 4],
        Norm,
        [None, 1, 365],
        Intrusions,
    )
]


def event(neighbours: Neighbours, intrusions: Intrusions = Intrusions.NONE) -> Guarantee:
    return Guarantee(
        loss=Pure(1),
        unit=EVENT,
        neighbours=neighbours,
        contribution=Contribution(steps=1, bound=1, norm=Norm.L1),
        horizon=365,
        intrusions=intrusions,
    )
