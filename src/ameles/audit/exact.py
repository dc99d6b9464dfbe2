"""The exact privacy loss of a linear mechanism, computed from its real code.

Impulses on the tape and in the data give the matrices; the cheapest shift of the noise that
hides a change gives the loss of that change (catalogue 0.6); the worst neighbours give the
loss of the mechanism.  Every bound is proved in whole numbers and fractions, whatever the
solvers say.  Finally the proof is replayed: with shifted noise the code must show, number by
number, what it shows on the neighbour.

>>> from ameles.mechanisms.counters.simple_one import SimpleOneCounter
>>> print(exact_loss(SimpleOneCounter(epsilon=1, horizon=8)))
SimpleOneCounter, 8 steps: claimed 1, exact 1, certified; worst: step 1 by 1
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ameles.accounting.concentrated import zcdp_epsilon, zcdp_rho
from ameles.audit import solver
from ameles.audit.coins import HOW as HOW_COINS
from ameles.audit.coins import coin_bounds
from ameles.audit.encoded import HOW, encoded_bounds
from ameles.audit.encoded_parts import Encoded, encodes
from ameles.audit.finding import Amount, Finding, Pair
from ameles.audit.hiding import Hiding, shiftable_draws
from ameles.audit.instant import Instant, View, views_of
from ameles.audit.neighbours import Worst, worst_neighbours
from ameles.audit.observation import (
    Effects,
    Matrices,
    NotLinear,
    Observer,
    matrices_of,
)
from ameles.audit.patterns import PATTERNS
from ameles.audit.shared_reading import SharedReading
from ameles.audit.shift import ConcentratedPrice, Price, PurePrice
from ameles.audit.wide_reading import wide_effects
from ameles.core.exceptions import BadInput, HorizonReached
from ameles.core.loss import Approx, Concentrated, Loss
from ameles.core.parameters import whole
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.noise import Zero

MOST_STEPS = 1 << 12
# The proof is replayed for the worst steps of every view and for about this many others, evenly
# spread over the views and their steps.
MOST_PLAYED = 16


def exact_loss(
    recipe: AnyMechanism,
    *,
    steps: int | None = None,
    views: Iterable[View] | None = None,
    tick: Callable[[], None] = lambda: None,
) -> Finding:
    """The loss of a recipe over ``steps`` steps, by default up to its horizon.

    ``views`` says at which instants states are seen, each view on its own; by default what
    the guarantee covers, see ``views_of``.  ``tick`` is called from time to time, to show progress.
    """
    solver.require()
    promise = recipe.guarantee
    count, stepping, note = _length(recipe, steps)
    if encodes(recipe) and views is None and not note:
        return _encoded_finding(recipe, count, tick)
    _refuse_vectors(recipe)
    if isinstance(recipe, CounterRecipe) and recipe.bits:
        return _coin_finding(recipe, count, note)
    wanted = list(views) if views is not None else views_of(promise, recipe.start(Zero()), count)
    apart = -(-count * len(wanted) // MOST_PLAYED)
    try:
        shared = SharedReading(recipe, count, [] if stepping else wanted)
        known: dict[Hashable, Worst] = {}
        findings = [
            _look(
                Observer(recipe, count, view, stepping=stepping),
                shared.of(view),
                range(number % apart, count, apart),
                known,
                tick,
            )
            for number, view in enumerate(wanted)
        ]
    except NotLinear as seen:
        return _unknown(recipe, count, str(seen))
    lower = max(one.lower for one in findings)
    upper = max(one.upper for one in findings)
    # the view that proves the larger loss; if none is proved, the one with the largest bound
    worst = max(findings, key=lambda one: (one.upper, one.lower))
    changes = tuple((step, by) for step, by in enumerate(worst.worst.changes, start=1) if by)
    return Finding(
        mechanism=type(recipe).__name__,
        steps=count,
        claimed=promise.loss,
        lower=lower,
        upper=upper,
        worst=Pair(changes=changes, seen=worst.view),
        how=note + worst.worst.how,
        intrusions=promise.intrusions,
        horizon=promise.horizon,
    )


def _encoded_finding(recipe: Encoded, count: int, tick: Callable[[], None]) -> Finding:
    """The loss of an encoded counter, whose roundings are not linear."""
    promise = recipe.guarantee
    try:
        bounds = encoded_bounds(recipe, count, tick)
    except NotLinear as seen:
        return _unknown(recipe, count, str(seen))
    lower, upper = _in_currency(promise.loss, bounds.lower, bounds.upper, concentrated=True)
    return Finding(
        mechanism=type(recipe).__name__,
        steps=count,
        claimed=promise.loss,
        lower=lower,
        upper=upper,
        worst=Pair(changes=bounds.changes),
        how=HOW,
        intrusions=promise.intrusions,
        horizon=promise.horizon,
    )


def _coin_finding(recipe: CounterRecipe, count: int, note: str) -> Finding:
    """The loss of a counter of bits, whose coins are not linear."""
    promise = recipe.guarantee
    try:
        bounds = coin_bounds(recipe, count)
    except NotLinear as seen:
        return _unknown(recipe, count, str(seen))
    return Finding(
        mechanism=type(recipe).__name__,
        steps=count,
        claimed=promise.loss,
        lower=bounds.lower,
        upper=bounds.upper,
        worst=Pair(
            changes=tuple((step, 1) for step in bounds.steps),
            seen=tuple(Instant(step) for step in range(count + 1)),
        ),
        how=note + HOW_COINS,
        intrusions=promise.intrusions,
        horizon=promise.horizon,
    )


def _unknown(recipe: AnyMechanism, count: int, why: str) -> Finding:
    promise = recipe.guarantee
    return Finding(
        mechanism=type(recipe).__name__,
        steps=count,
        claimed=promise.loss,
        lower=Fraction(0),
        upper=math.inf,
        worst=None,
        how=why,
        linear=False,
        intrusions=promise.intrusions,
        horizon=promise.horizon,
    )


def _refuse_vectors(recipe: AnyMechanism) -> None:
    width = getattr(recipe, "width", None)
    if width is not None:
        raise BadInput(
            f"The audit takes a plain counter. Got one of width {width} instead.",
            why="a vector of counters is the same counter for each key",
            tip="the same recipe with width=None",
        )


def _length(recipe: AnyMechanism, steps: int | None) -> tuple[int, bool, str]:
    """How many steps to audit, whether one by one, and a note if the run continues past its
    horizon."""
    horizon = recipe.guarantee.horizon
    if steps is None and horizon is None:
        raise BadInput(
            "A mechanism without a horizon is audited up to a number of steps.", tip="steps=16"
        )
    count = whole(steps if steps is not None else horizon or 1, "steps", low=1, high=MOST_STEPS)
    if horizon is None or count < horizon:
        return count, False, ""
    # A mechanism calibrated for a horizon must end there.  If it does not, its later outputs count.
    beyond = count if count > horizon else 2 * horizon
    for stepping in (False, True):
        if _runs(recipe, beyond, stepping=stepping):
            return beyond, stepping, f"it runs past its horizon of {horizon}; "
    if count > horizon:
        raise HorizonReached(
            f"This mechanism ends after {horizon} steps and cannot be audited for {count}.",
            tip=f"steps={horizon}",
        )
    return count, False, ""


def _runs(recipe: AnyMechanism, steps: int, *, stepping: bool) -> bool:
    """Whether a run takes this many steps."""
    run = recipe.start(Zero())
    width = getattr(recipe, "width", None)
    nothing = 0 if width is None else [0] * width
    try:
        if stepping:
            for _ in range(steps):
                run.step(nothing)
        else:
            run.feed([nothing] * steps)
    except Exception:  # refused or broken: it ends here
        return False
    return True


@dataclass(frozen=True)
class _Seen:
    """The worst neighbours under one view, in the currency of the claim."""

    view: View
    worst: Worst
    lower: Amount
    upper: Amount


def _look(
    observer: Observer,
    likely: Effects | None,
    played: range,
    known: dict[Hashable, Worst],
    tick: Callable[[], None],
) -> _Seen:
    matrices = matrices_of(observer, likely or wide_effects(observer))
    guarantee = observer.recipe.guarantee
    price = _price(guarantee.loss, matrices)
    contribution = guarantee.contribution
    problem = matrices.problem
    if problem not in known:
        known[problem] = worst_neighbours(
            Hiding(matrices, price),
            contributions=contribution.steps,
            bound=contribution.bound,
            tick=tick,
        )
    worst = known[problem]
    _play(observer, shiftable_draws(matrices, price), worst, played)
    concentrated = isinstance(price, ConcentratedPrice)
    lower, upper = _in_currency(guarantee.loss, worst.lower, worst.upper, concentrated=concentrated)
    return _Seen(observer.view, worst, lower, upper)


def _price(loss: Loss, matrices: Matrices) -> Price:
    gaussian = any(law == "gaussian" for law, _ in matrices.laws)
    if isinstance(loss, Concentrated) or (isinstance(loss, Approx) and loss.delta and gaussian):
        return ConcentratedPrice(matrices.laws)
    return PurePrice(matrices.laws)


def _in_currency(
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


def _play(observer: Observer, draws: Sequence[int], worst: Worst, played: range) -> None:
    """The proof on the real code: shifted noise shows what the neighbour would show."""
    watchers = [observer]
    if observer.encoded:  # then what is decoded must agree too
        watchers.append(Observer(observer.recipe, observer.steps, decoded=True))
    for step, single in enumerate(worst.singles):
        if single.shift is None or (step not in played and not worst.changes[step]):
            continue
        pattern = PATTERNS[step % 3]
        noise = pattern.draws(observer.laws or [])
        inputs = pattern.inputs(observer.steps)
        shifted = list(noise)
        for place, e in zip(draws, single.shift, strict=True):
            shifted[place] += e
        neighbour = [x + (s == step) for s, x in enumerate(inputs)]
        for watcher in watchers:
            if watcher.see(shifted, inputs) != watcher.see(noise, neighbour):
                raise NotLinear("shifted noise does not show what the neighbour shows")
