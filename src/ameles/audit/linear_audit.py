"""The worst neighbours under one view of a linear mechanism, in the currency of its claim.

The matrices are read, the cheapest shifts found, and the proof replayed.  If memory outside of the
snapshot tells neighbours apart, everything is read again with that memory as what is seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction

from ameles.accounting.concentrated import zcdp_epsilon, zcdp_rho
from ameles.audit.finding import Amount
from ameles.audit.hiding import Hiding, shiftable_draws
from ameles.audit.instant import View
from ameles.audit.neighbours import Worst, worst_neighbours
from ameles.audit.observation import Effects, Matrices, NotLinear, Observer, matrices_of
from ameles.audit.replay import KeepsMore, MemoryObserver, replay
from ameles.audit.shift import ConcentratedPrice, Price, PurePrice
from ameles.audit.wide_reading import wide_effects
from ameles.core.loss import Approx, Concentrated, Loss

KEPT = "memory outside of the snapshot tells neighbours apart"


@dataclass(frozen=True)
class Look:
    """The worst neighbours under one view, in the currency of the claim."""

    view: View
    worst: Worst
    lower: Amount
    upper: Amount


def look(
    observer: Observer,
    likely: Effects | None,
    played: range,
    known: dict[Hashable, Worst],
    tick: Callable[[], None],
) -> Look:
    """The loss that an observer sees; ``known`` has what other views have solved already.

    ``likely`` are effects that are probably those of this observer; ``played`` are steps whose
    shifts are replayed besides the worst.
    """
    matrices = matrices_of(observer, likely or wide_effects(observer))
    try:
        return _solved(observer, matrices, played, known, tick)
    except KeepsMore:
        deep = MemoryObserver(observer, deep=True)
    try:
        return _solved(deep, matrices_of(deep), range(0), {}, tick)
    except (KeepsMore, NotLinear):
        raise NotLinear(KEPT) from None


def _solved(
    observer: Observer,
    matrices: Matrices,
    played: range,
    known: dict[Hashable, Worst],
    tick: Callable[[], None],
) -> Look:
    guarantee = observer.recipe.guarantee
    price = _price(guarantee.loss, matrices)
    problem = matrices.problem
    if problem not in known:
        known[problem] = worst_neighbours(
            Hiding(matrices, price),
            contribution=guarantee.contribution,
            contributions=observer.contributions,
            keys=observer.keys,
            tick=tick,
        )
    worst = known[problem]
    replay(observer, shiftable_draws(matrices, price), worst, played)
    concentrated = isinstance(price, ConcentratedPrice)
    lower, upper = in_currency(guarantee.loss, worst.lower, worst.upper, concentrated=concentrated)
    return Look(observer.view, worst, lower, upper)


def _price(loss: Loss, matrices: Matrices) -> Price:
    gaussian = any(law == "gaussian" for law, _ in matrices.laws)
    if isinstance(loss, Concentrated) or (isinstance(loss, Approx) and loss.delta and gaussian):
        return ConcentratedPrice(matrices.laws)
    return PurePrice(matrices.laws)


def in_currency(
    loss: Loss, lower: Amount, upper: Amount, *, concentrated: bool
) -> tuple[Amount, Amount]:
    """The bounds as the claim has them; with a delta, only an infinite loss refutes it."""
    if not (isinstance(loss, Approx) and loss.delta):
        return lower, upper
    if concentrated and isinstance(upper, Fraction):
        # converting there and back rounds up twice, so the claim itself is tried first
        enough = upper <= zcdp_rho(epsilon=loss.epsilon, delta=loss.delta)
        upper = loss.epsilon if enough else zcdp_epsilon(rho=upper, delta=loss.delta)
    return (math.inf if lower == math.inf else Fraction(0)), upper
