"""The noise of ranks: how far the number of events below an edge may be from a share of all.

If j of n bins are below an edge, the excess over a share q of all events is (1 - q) times the count
below minus q times the count above.  Its noise is a sum of independent copies of one counter's
noise: j copies of weight 1 - q and n - j copies of weight q.  The bounds used here grow when a copy
is replaced by one of larger weight.  So a bound at some j also holds for every j on the side with
the smaller weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ameles.measures.laws import law_of
from ameles.mechanisms.counters.gaussian.error import GaussianSum
from ameles.mechanisms.counters.laplace_error import LaplaceError
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.laplace.mixture import Copies, LaplaceMixture, quantiles

# Bounds are computed for this many edges, and hold for those in between.
PLACES = 16


def excess_bounds(
    recipe: CounterRecipe,
    window: int | None,
    steps: Sequence[int],
    *,
    bins: int,
    share: float,
    beta: float,
    announced: int = 0,
    ended: tuple[int, ...] = (),
    noises: int | None = None,
) -> NDArray[np.float64]:
    """The bound that the noise of the excess exceeds with probability at most beta, at each inner
    edge.

    One row per step, one column per edge, with 1, 2, ..., bins - 1 bins below it.  ``announced``,
    ``ended`` and ``noises`` are as in ``law_of``.
    """
    edges = np.arange(1, bins)
    if not len(edges):
        return np.empty((len(steps), 0))
    places = np.unique(np.linspace(1, bins - 1, PLACES).round().astype(np.int64))
    if share <= 0.5:  # then more bins below mean larger weights: the next place, from above
        nearest = np.searchsorted(places, edges, side="left")
    else:
        nearest = np.searchsorted(places, edges, side="right") - 1
    copies = [_copies(j, bins - j, share) for j in places.tolist()]
    error = recipe.error_after(announced)
    if noises is None and not ended and isinstance(error, LaplaceError):
        after = np.array(steps, dtype=np.int64)
        before = np.zeros_like(after) if window is None else np.maximum(after - window, 0)
        at_places = error.copies_bounds(before, after, copies, beta)
    else:
        laws = [
            law_of(recipe, window, t, announced=announced, ended=ended, noises=noises)
            for t in steps
        ]
        different = {law: row for row, law in enumerate(dict.fromkeys(laws))}
        rows = [different[law] for law in laws]
        at_places = _bounds(list(different), copies, beta)[rows]
    rounded = _rounding(recipe) * (1 if window is None else 2)
    slack = rounded * ((1 - share) * edges + share * (bins - edges))
    bounds: NDArray[np.float64] = at_places[:, nearest] + slack
    return bounds


def _copies(below: int, above: int, share: float) -> Copies:
    """The weights of the counts in an excess: so many have 1 - share, and so many share."""
    if share == 0.5:
        return ((0.5, below + above),)
    return (1 - share, below), (share, above)


def _rounding(recipe: CounterRecipe) -> float:
    """How much rounding to whole counts can change one release."""
    error = recipe.error
    return 0.5 if isinstance(error, LaplaceError) and error.rounding else 0.0


def _bounds(
    laws: list[LaplaceMixture | GaussianSum], copies: list[Copies], beta: float
) -> NDArray[np.float64]:
    """The bound for each law and each choice of copies."""
    bounds = np.empty((len(laws), len(copies)))
    weighted: list[LaplaceMixture] = []
    mixed: list[int] = []
    for row, law in enumerate(laws):
        if isinstance(law, LaplaceMixture):
            weighted += [law.copies(some) for some in copies]
            mixed.append(row)
            continue
        # Sub-Gaussian whatever the weights; each copy may be off by its slack.
        for column, some in enumerate(copies):
            squares = sum(weight**2 * number for weight, number in some)
            off = law.slack * sum(weight * number for weight, number in some)
            bounds[row, column] = math.sqrt(2 * math.log(2 / beta) * law.variance * squares) + off
    if weighted:
        bounds[mixed] = quantiles(weighted, beta).reshape(len(mixed), len(copies))
    return bounds
