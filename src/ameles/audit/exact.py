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
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from fractions import Fraction

from ameles.audit import solver
from ameles.audit.coins import HOW as HOW_COINS
from ameles.audit.coins import coin_bounds
from ameles.audit.encoded import HOW, encoded_bounds
from ameles.audit.encoded_parts import Encoded, encodes
from ameles.audit.finding import Finding, Pair, Verdict
from ameles.audit.instant import Instant, View, views_of
from ameles.audit.linear_audit import in_currency, look
from ameles.audit.neighbours import Worst, reach_of
from ameles.audit.observation import NotLinear, Observer
from ameles.audit.shared_reading import SharedReading
from ameles.audit.sight import Left, aside, in_sight
from ameles.audit.trials import COMPUTED, UNSEEN, Caught, trials_of
from ameles.core.exceptions import BadInput, HorizonReached
from ameles.core.guarantee import Intrusions, Norm
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
    with in_sight() as left:
        try:
            finding = _audited(recipe, steps, views, aside(tick))
        except Left:
            finding = _unknown(recipe, steps or recipe.guarantee.horizon or 1, "")
    if left:
        how = f"its code leaves what an audit sees: {left[0]}"
        return replace(
            finding, how=how, worst=None, lower=Fraction(0), upper=math.inf, linear=False
        )
    if finding.verdict is Verdict.CERTIFIED:
        return replace(finding, covers=_covers(recipe, finding.steps))
    return finding


def _covers(recipe: AnyMechanism, count: int) -> tuple[str, ...]:
    """What a certificate for so many steps, T, is about."""
    promise, width = recipe.guarantee, getattr(recipe, "width", None)
    steps = "all steps of a run with the horizon T, and no other horizon"
    if promise.horizon is None:
        steps = "the first T steps of a run without end, and no later ones"
    elif count < promise.horizon:
        steps = f"the first T of {promise.horizon} steps, and no later ones"
    keys = "one number, and no vector" if width is None else f"a vector of {width} keys"
    return steps, keys, f"neighbours that differ in {promise.contribution}"


def _audited(
    recipe: AnyMechanism,
    steps: int | None,
    views: Iterable[View] | None,
    tick: Callable[[], None],
) -> Finding:
    """The same, while nothing leaves sight."""
    count, stepping, note = _length(recipe, steps)
    plain = _plain(recipe)
    width = getattr(recipe, "width", None)
    keys = width or 1
    if encodes(recipe) and views is None and not note:
        plain = recipe  # it has its own way to audit vectors
        finding = _encoded_finding(recipe, count, tick)
    elif plain.guarantee != recipe.guarantee:
        return _unknown(recipe, count, f"its guarantee for {keys} keys is not that for one")
    elif isinstance(plain, CounterRecipe) and plain.bits:
        finding = _coin_finding(plain, count, keys, note)
    else:
        finding = _linear_finding(plain, count, views, keys, stepping, note, tick)
    if finding.verdict is not Verdict.CERTIFIED or note:
        return finding
    return _tried(finding, plain, width)


def _plain(recipe: AnyMechanism) -> AnyMechanism:
    """The counter of one key; the trials go through all keys."""
    if isinstance(recipe, CounterRecipe):
        return recipe if recipe.width is None else replace(recipe, width=None)
    width = getattr(recipe, "width", None)
    if width is not None:
        raise BadInput(
            f"The audit takes one number or a counter. Got a vector of width {width} instead.",
            why="how a unit may change a vector differs from mechanism to mechanism",
            tip="the same recipe with width=None",
        )
    return recipe


def _tried(finding: Finding, recipe: AnyMechanism, width: int | None) -> Finding:
    """The finding after the trials, which can only make it worse."""
    trials = trials_of(recipe, finding.steps, width)
    computed = [COMPUTED]
    if finding.intrusions is not Intrusions.NONE:
        computed.append("all memory that the run reaches")
    finding = replace(finding, tried=(*computed, *trials.tried), unseen=(*trials.unseen, *UNSEEN))
    caught = trials.caught
    if caught is None:
        return finding
    worse = replace(finding, how=caught.what, worst=None)
    try:
        return _solved(worse, caught)
    except Exception:  # not linear, or the way that was caught refuses impulses
        return replace(worse, lower=Fraction(0), upper=math.inf, linear=False)


def _solved(finding: Finding, caught: Caught) -> Finding:
    """The loss of the way that was caught: it may refute the claim, and never certifies it."""
    if caught.observer is None:
        raise NotLinear(caught.what)
    seen = look(caught.observer, None, range(0), {}, lambda: None)
    if seen.lower <= finding.limit:
        raise NotLinear(caught.what)
    changes = [(place, by) for place, by in enumerate(seen.worst.changes) if by]
    keys = caught.keys
    pair = Pair(changes=tuple((place // keys + 1, by) for place, by in changes))
    how = f"{caught.what}; {seen.worst.how}"
    return replace(finding, lower=seen.lower, upper=seen.upper, worst=pair, how=how)


def _linear_finding(
    recipe: AnyMechanism,
    count: int,
    views: Iterable[View] | None,
    keys: int,
    stepping: bool,
    note: str,
    tick: Callable[[], None],
) -> Finding:
    promise = recipe.guarantee
    wanted = list(views) if views is not None else views_of(promise, recipe.start(Zero()), count)
    apart = -(-count * len(wanted) // MOST_PLAYED)
    try:
        shared = SharedReading(recipe, count, [] if stepping else wanted)
        known: dict[Hashable, Worst] = {}
        observers = [Observer(recipe, count, view, stepping=stepping) for view in wanted]
        for observer in observers:
            observer.keys = keys
        findings = [
            look(
                observer,
                shared.of(view),
                range(number % apart, count, apart),
                known,
                tick,
            )
            for number, (view, observer) in enumerate(zip(wanted, observers, strict=True))
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
    # what several steps of one key cost is there already, and roundings forbid another bound
    claim = replace(promise.contribution, bound=1)
    reach = reach_of(claim, recipe.columns, concentrated=True)
    if promise.contribution.norm is Norm.SQUARED:
        reach = replace(
            reach,
            lower=Fraction(0),
            upper=math.inf,
            how="roundings and squared bounds are not priced",
        )
    how = f"{HOW}; {reach.how}" if reach.how else HOW
    bounds = replace(bounds, lower=bounds.lower * reach.lower, upper=bounds.upper * reach.upper)
    lower, upper = in_currency(promise.loss, bounds.lower, bounds.upper, concentrated=True)
    return Finding(
        mechanism=type(recipe).__name__,
        steps=count,
        claimed=promise.loss,
        lower=lower,
        upper=upper,
        worst=Pair(changes=bounds.changes),
        how=how,
        intrusions=promise.intrusions,
        horizon=promise.horizon,
    )


def _coin_finding(recipe: CounterRecipe, count: int, keys: int, note: str) -> Finding:
    """The loss of a counter of bits, whose coins are not linear."""
    promise = recipe.guarantee
    try:
        bounds = coin_bounds(recipe, count)
    except NotLinear as seen:
        return _unknown(recipe, count, str(seen))
    reach = reach_of(promise.contribution, keys, concentrated=False)
    how = f"{HOW_COINS}; {reach.how}" if reach.how else HOW_COINS
    return Finding(
        mechanism=type(recipe).__name__,
        steps=count,
        claimed=promise.loss,
        lower=bounds.lower * reach.lower,
        upper=bounds.upper * reach.upper if bounds.upper else bounds.upper,
        worst=Pair(
            changes=tuple((step, 1) for step in bounds.steps),
            seen=tuple(Instant(step) for step in range(count + 1)),
        ),
        how=note + how,
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
