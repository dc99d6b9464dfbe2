"""Bounds on the noise of the next steps, computed a block at a time and remembered.

A live stream asks for one step after the other, but the bounds of many steps at once cost little
more than the bound of one.  They depend only on the step and on public parameters.

A block is the same steps whoever asks, live or for a million steps that are due.  Laws that are
computed together share numbers, so another division could differ in the last digits; and a block
takes the same memory however many steps are due.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.noise.arrays import IntArray

Floats: TypeAlias = NDArray[np.float64]

BLOCK = 128  # steps that are computed together
REMEMBERED = 64  # blocks


def cached_bounds(
    bounds: Callable[..., Floats], steps: IntArray, *about: Hashable, horizon: int | None
) -> Floats:
    """``bounds(steps, *about)``, one row a step, for steps up to the horizon.

    >>> def bounds(steps: IntArray, scale: float) -> Floats:
    ...     print(len(steps), "at once")
    ...     return steps * scale
    >>> cached_bounds(bounds, np.array([3]), 0.5, horizon=100)
    100 at once
    array([1.5])
    >>> cached_bounds(bounds, np.array([4, 5]), 0.5, horizon=100)
    array([2. , 2.5])
    """
    count = len(steps)
    if not count or (count > 1 and (np.diff(steps) != 1).any()):
        return bounds(steps, *about)
    number, start = divmod(int(steps[0]) - 1, BLOCK)
    some = _recent(bounds, number, horizon, about)
    if start + count > BLOCK:
        last = (start + count - 1) // BLOCK
        others = (_recent(bounds, number + more, horizon, about) for more in range(1, last + 1))
        some = np.concatenate([some, *others])
    return some[start : start + count]


_RECENT: dict[int, tuple[tuple[Hashable, ...], Floats]] = {}  # the last block of each recipe


def _recent(
    bounds: Callable[..., Floats], number: int, horizon: int | None, about: tuple[Hashable, ...]
) -> Floats:
    """The block, found without a hash of the recipe if it is that of the step before.

    To compare the same object with itself takes no time; to hash a recipe does.
    """
    asked = bounds, number, horizon, about
    recipe = id(about[0]) if about else 0
    known = _RECENT.get(recipe)
    if known is not None and known[0] == asked:
        return known[1]
    if len(_RECENT) >= REMEMBERED:
        _RECENT.clear()
    block = _block(*asked)
    _RECENT[recipe] = asked, block
    return block


@lru_cache(maxsize=REMEMBERED)
def _block(
    bounds: Callable[..., Floats], number: int, horizon: int | None, about: tuple[Hashable, ...]
) -> Floats:
    end = (number + 1) * BLOCK
    last = end if horizon is None else min(end, horizon)
    block = bounds(np.arange(number * BLOCK + 1, last + 1), *about)
    block.flags.writeable = False  # it is handed out again
    return block
