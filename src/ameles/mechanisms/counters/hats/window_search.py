"""The shape of hats that suits a window, by its mean variance.

If k cells of a level make one of the level above, the squares of its nodes' weights at the two ends
of a window add up to about 2 E, E = 0.109 k + 0.08, and those of the top level to the number of its
knots in the window.  Shares in proportion to the cube roots of these sums are best.  Radices with a
small variance by this model are tried, each with the sums that its own weights have.

>>> best_window_shape(24).radices, best_window_shape(1440).radices
((12,), (18, 18))
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ameles.mechanisms.counters.hats.repeated import RepeatedShape
from ameles.mechanisms.counters.hats.search import energy
from ameles.mechanisms.counters.hats.shape import PARTS
from ameles.mechanisms.counters.hats.window_error import energies

Floats = NDArray[np.float64]

LOWER = (8, 10, 12, 14, 16, 18, 20, 22, 24, 28)
TOP = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 36)
MOST_LEVELS = 8
# The top level has at most this many cells in a window, or the window this many in one of them.
MOST_CELLS = 8
# How many shapes are tried, at how many places of the stream.
TRIED = 8
PLACES = 199


@lru_cache(maxsize=256)
def best_window_shape(window: int) -> RepeatedShape:
    """The shape with the smallest mean variance over windows of this many steps."""
    modelled = sorted(
        _candidates(window), key=lambda radices: _variance(_modelled(radices, window))
    )
    fitted = [_fitted(radices, window) for radices in modelled[:TRIED]]
    return min(fitted, key=lambda pair: pair[0])[1]


def _candidates(window: int) -> Iterator[tuple[int, ...]]:
    """Equal radices below the top, another one for the top."""
    if window <= 2:
        yield TOP[:1]
    for depth in range(MOST_LEVELS):
        for k in LOWER if depth else LOWER[:1]:
            for top in TOP:
                if window <= MOST_CELLS * k**depth * top <= 10 * window:
                    yield (*(k for _ in range(depth)), top)


def _modelled(radices: tuple[int, ...], window: int) -> Floats:
    return np.array([*(2 * energy(k) for k in radices), window / math.prod(radices)])


def _variance(squares: Floats) -> float:
    """With the best shares, up to a factor."""
    return float(np.cbrt(squares).sum())


def _fitted(radices: tuple[int, ...], window: int) -> tuple[float, RepeatedShape]:
    """The variance with the best shares for these radices, up to a factor, and the shape."""
    before = 1 + np.arange(PLACES) * (math.prod(radices) * 7 // PLACES | 1)
    squares = _modelled(radices, window)
    for _ in range(2):
        shares = np.cbrt(squares) / np.cbrt(squares).sum()
        parts = [max(1, int(share * PARTS)) for share in shares]
        parts[0] += PARTS - sum(parts)
        shape = RepeatedShape.of(radices, tuple(parts))
        squares = energies(shape, before, before + window)
    return float((squares / np.array(parts) ** 2).sum()), shape
