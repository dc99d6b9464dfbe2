"""Chooses the counter for a release, by its error over the span of the release.

The total of a window is the difference of two running counts, and the best counter for differences
is not the best for running counts: for a single step it is noise on the step itself.  The choice
depends only on public parameters.

>>> step = chosen(Span(window=1, horizon=365), epsilon=Fraction(1), width=2)
>>> type(step).__name__, round(step.error.std(1), 3)
('SimpleTwoCounter', 1.357)
>>> type(chosen(Span(window=None, horizon=365), epsilon=Fraction(1), width=2)).__name__
'HatsCounter'
>>> type(chosen(Span(window=24, horizon=365), epsilon=Fraction(1), width=2)).__name__
'HatsWindowCounter'
>>> seized = chosen(Span(window=1, horizon=365), epsilon=1, width=2, intrusions=Intrusions.ONE)
>>> type(seized).__name__, round(seized.error.std(1), 3)
('PanPrivateTreeCounter', 1.919)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, Intrusions
from ameles.measures.laws import law_of
from ameles.mechanisms.counters.choose import REFERENCE, compare
from ameles.mechanisms.counters.deviations import points, stds_of
from ameles.mechanisms.counters.gaussian.steps import GaussianStepsCounter
from ameles.mechanisms.counters.hats.window import HatsWindowCounter
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.pan_private.tree_counter import LARGEST_ARITY, PanPrivateTreeCounter

# Windows are compared at this many steps, spread evenly.
PLACES = 128
# From this many cells on, the memory of a counter matters, too.
WIDE = 1 << 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The span of a release: the last ``window`` steps of a stream, or all so far."""

    window: int | None
    horizon: int | None

    @property
    def spread(self) -> list[int]:
        """Steps at which errors are compared."""
        steps = points(self.horizon or REFERENCE)
        return steps[:: -(-len(steps) // PLACES)]


@lru_cache(maxsize=512)  # the choice of a counter and the shares of releases ask for the same
def mean_variance(recipe: CounterRecipe, span: Span) -> float:
    """The mean variance of one cell's noise, over a spread of steps."""
    if span.window is None:
        deviations = stds_of(recipe.error, span.spread)
    else:
        deviations = [law_of(recipe, span.window, t).std for t in span.spread]
    return math.fsum(each**2 for each in deviations) / len(deviations)


def chosen(
    span: Span,
    *,
    epsilon: Fraction,
    delta: Fraction = Fraction(0),
    width: int,
    contributions: int = 1,
    bound: int = 1,
    unit: str = EVENT.tag,
    intrusions: Intrusions = Intrusions.NONE,
) -> CounterRecipe:
    """The counter with the smallest mean variance over this span.

    ``intrusions`` says how often its state may be seized.
    """
    meant: dict[str, Any] = {"width": width, "bound": bound, "unit": unit}
    if delta:
        return _best(span, epsilon, delta, contributions, intrusions, **meant)
    # For every counter, Laplace noise grows with bound / epsilon, so the best counter does not
    # depend on it; rounding to whole numbers matters only if the noise is less than one event.
    ratio = max(epsilon / bound, Fraction(1))
    wide = {"width": width} if width >= WIDE else {}
    best = _best(span, ratio, delta, contributions, intrusions, **wide)
    try:
        return replace(best, **{"epsilon": epsilon, **meant})
    except BadInput:  # so much noise does not fit into 64 bits with the weights of this counter
        return _best(span, epsilon, delta, contributions, intrusions, **meant)


@lru_cache(maxsize=256)
def _best(
    span: Span,
    epsilon: Fraction,
    delta: Fraction,
    contributions: int,
    intrusions: Intrusions,
    **shared: Any,
) -> CounterRecipe:
    """Cached, because it takes seconds for long streams."""
    recipes: list[CounterRecipe]
    given = {"epsilon": epsilon, "contributions": contributions, **shared}
    wanted = {"delta": delta, "horizon": span.horizon, "intrusions": intrusions, **given}
    if intrusions in (Intrusions.ONE, Intrusions.ANNOUNCED):
        others = (row.recipe for row in compare(**wanted))
        # otherwise every batch of events would draw a noise, and a step may have many batches
        recipes = [_single_level(span, intrusions, **given)]
        recipes += [recipe for recipe in others if not isinstance(recipe, SimpleTwoCounter)]
        return min(recipes, key=lambda recipe: mean_variance(recipe, span))
    if span.window is None:
        return compare(**wanted)[0].recipe
    recipes = [SimpleTwoCounter(horizon=span.horizon, **given)]
    if span.window > 1:  # for a single step, noise on the step itself is best
        recipes += [row.recipe for row in compare(**wanted)]
        if intrusions is Intrusions.NONE:
            recipes.append(HatsWindowCounter(window=span.window, horizon=span.horizon, **given))
    if delta and intrusions is Intrusions.NONE:
        recipes.append(GaussianStepsCounter(delta=delta, horizon=span.horizon, **given))
    return min(recipes, key=lambda recipe: mean_variance(recipe, span))


def _single_level(span: Span, intrusions: Intrusions, **given: Any) -> PanPrivateTreeCounter:
    """Two noises per step, when it opens and when it is published, however many batches it has.

    One noise would not be enough: an intruder who saw the open step would see the rest of it
    exactly in its release.
    """
    arity = LARGEST_ARITY if span.horizon is None else max(2, span.horizon)
    return PanPrivateTreeCounter(horizon=span.horizon, arity=arity, intrusions=intrusions, **given)
