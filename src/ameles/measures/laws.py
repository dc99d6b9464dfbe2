"""The law of the noise of a release: one counter's noise, and more after intrusions and restarts.

An announced intrusion adds noise to all later counts.  A total after a restart is the last total
before it, which is public, plus the count of the new epoch.  A window that reaches across a restart
is the sum of the parts from each epoch.  The noises of the parts are independent sums of Laplace
variables, so the noise of the whole is such a sum too.

A counter that draws a noise for every batch of events counts its noises; the law is then that of
the counted number.

The counter of an epoch has taken as many steps as the stream; those before the epoch were empty and
published nothing.  So its noise at step t has the usual law at step t.
"""

from __future__ import annotations

from ameles.measures.expected import expected
from ameles.mechanisms.counters.gaussian.error import GaussianSum
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.laplace.mixture import LaplaceMixture, LaplacePart
from ameles.mechanisms.local.response_counter import CoinsLaw


def law_of(
    recipe: CounterRecipe,
    window: int | None,
    t: int,
    *,
    announced: int = 0,
    ended: tuple[int, ...] = (),
    noises: int | None = None,
) -> LaplaceMixture | GaussianSum:
    """The law of one cell's noise over the span that ends with step t.

    ``ended`` has the last released step of each epoch whose state was lost.  ``noises`` is the
    number of noises in the span, if they were counted.
    """
    if noises is not None:
        scale = expected(recipe, SimpleTwoCounter).scale
        return LaplaceMixture((LaplacePart(scale, 1.0, noises),))
    error = recipe.error_after(announced)
    laws = [_additive(error.between(*part)) for part in parts_of(ended, window, t)]
    if len(laws) == 1:
        return laws[0]
    # a state that may be lost has Laplace noise only
    together = [expected(law, LaplaceMixture) for law in laws]
    return LaplaceMixture(
        tuple(part for law in together for part in law.parts),
        bounding=any(law.bounding for law in together),
    )


def _additive(law: LaplaceMixture | GaussianSum | CoinsLaw) -> LaplaceMixture | GaussianSum:
    """A law of noise that is added, whatever the counts are: plans use no other counters."""
    return law if isinstance(law, GaussianSum) else expected(law, LaplaceMixture)


def parts_of(ended: tuple[int, ...], window: int | None, t: int) -> list[tuple[int, int]]:
    """The parts of the span that ends with step t, as (before, until) in one epoch's counter each.

    >>> parts_of((5, 8), None, 12)
    [(0, 5), (0, 8), (0, 12)]
    >>> parts_of((5, 8), 3, 12), parts_of((5, 8), 4, 12), parts_of((5, 8), 9, 12)
    ([(9, 12)], [(0, 12)], [(3, 5), (0, 8), (0, 12)])
    """
    before = 0 if window is None else max(t - window, 0)
    # an epoch that has released nothing is part of no total
    edges = [*sorted({step for step in ended if 0 < step < t}), t]
    starts = [0, *edges[:-1]]
    return [
        (before if start < before else 0, edge)
        for start, edge in zip(starts, edges, strict=True)
        if edge > before
    ]
