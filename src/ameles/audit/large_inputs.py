"""Inputs far above the others: large counts must have the same noise as small ones.

With noise z, inputs K x must move what is seen by K times what inputs x move it without noise, for
large K of both signs, modulo 2^64.  For runs whose state may be seized, this holds for all states
too.  So a mechanism that changes its noise once the count passes a size is seen, up to the largest
K; the report names it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ameles.audit.instant import Instant, Parted, View
from ameles.audit.observation import Observer, Seen
from ameles.audit.patterns import PATTERNS
from ameles.audit.ways import script
from ameles.core.guarantee import Intrusions
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.noise import Zero

SIZES = (10_000_019, (1 << 31) + 11, (1 << 46) + 15)
FACTORS = tuple(sign * size for size in SIZES for sign in (1, -1))


def large_inputs_agree(recipe: AnyMechanism, steps: int) -> bool:
    """Whether large inputs move what is seen as small ones do."""
    observers = [Observer(recipe, steps)]
    if not observers[0].encoded:
        observers.append(Observer(recipe, steps, stepping=True))
    if recipe.guarantee.intrusions is not Intrusions.NONE:
        observers = [Observer(recipe, steps, _every_instant(recipe, steps))]
    return all(_agrees(observer) for observer in observers)


def _agrees(observer: Observer) -> bool:
    steps = observer.steps
    inputs, nothing = PATTERNS[0].inputs(steps), [0] * steps
    still = observer.see((), nothing)
    moved = _differences(observer.see((), inputs), still)
    draws = script(observer.laws or [], 9)
    noisy = observer.see(draws, nothing)
    for factor in FACTORS:
        seen = observer.see(draws, [factor * x for x in inputs])
        expected = [factor * effect for effect in moved]
        pairs = zip(_differences(seen, noisy), expected, strict=True)
        if any((one - other) % (1 << 64) for one, other in pairs):
            return False
    return True


def _differences(seen: Sequence[Seen], before: Sequence[Seen]) -> list[Seen]:
    return [now - then for now, then in zip(seen, before, strict=True)]


def _every_instant(recipe: AnyMechanism, steps: int) -> View:
    run = recipe.start(Zero())
    instants = [Instant(t) for t in range(steps + 1)]
    if isinstance(run, Parted):
        instants += [Instant(t, added=True) for t in range(steps)]
    return tuple(sorted(instants, key=lambda instant: instant.place))
