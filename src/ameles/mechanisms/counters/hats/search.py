"""The shape of a Hats counter that suits a horizon, from a model of its mean variance.

If k cells of a level make one of the level above, the squares of its nodes' weights at one step add
up to about E = 0.109 k + 0.08.  So lower levels with shares r cost the sum of E / r^2, and least if
r is proportional to the cube root of E.  A node of the top level with the share a costs 1 / a^2 at
all steps after its knot, and leaves 1 - a to the levels below.  For given radices this decides all
shares; the best radices are searched for.  The model chooses; nothing else depends on it.

>>> found = best_shape(1024)
>>> found.radices, found.offset, found.knots
((22, 14), 6, 3)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

from ameles.mechanisms.counters.hats.shape import PARTS, HatsShape

# The radices that are tried; the best ones are between.
LOWER = (8, 12, 16, 18, 20, 22, 24, 26, 28, 32)
TOP = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32)
MOST_KNOTS = 16
MOST_LEVELS = 12
# The first and the last cell of the top level have this much more together: a hat is missing there.
EDGE = 0.4


def energy(k: int) -> float:
    """The sum of squared weights of one level at one step, by the radix above."""
    return 0.109 * k + 0.08


@lru_cache(maxsize=1024)
def best_shape(horizon: int) -> HatsShape:
    """The shape with the smallest mean variance, by the model."""
    radices = min(_candidates(horizon), key=lambda radices: _modelled(horizon, radices)[0])
    _, tops, lows = _modelled(horizon, radices)
    if horizon == 1:  # one step needs no hat: it gets the smallest share
        tops = [1 / PARTS]
    return HatsShape(horizon, radices, offset_of(radices[-1]), tuple(map(_parts, tops)), lows)


def offset_of(k: int) -> int:
    """Where the first knot of the top level is, in cells of the level below."""
    return (2 * k + 2) // 5


def _parts(share: float) -> int:
    return max(1, min(PARTS - 1, int(share * PARTS)))


def _candidates(horizon: int) -> Iterator[tuple[int, ...]]:
    """Equal radices below the top, another one for the top."""
    if horizon < 4:
        yield (2,)
    for depth in range(MOST_LEVELS):
        for k in LOWER if depth else LOWER[:1]:
            for top in TOP:
                span = k**depth * top
                if span <= horizon <= MOST_KNOTS * span:
                    yield (*(k for _ in range(depth)), top)


def _modelled(horizon: int, radices: tuple[int, ...]) -> tuple[float, list[float], tuple[int, ...]]:
    """The mean variance, the shares of the top level, and those of lower levels, in parts."""
    span = math.prod(radices)
    roots = [energy(k) ** (1 / 3) for k in radices]
    roots[-1] *= (1 + EDGE * span / horizon) ** (1 / 3)
    lower = sum(roots) ** 3
    start = offset_of(radices[-1]) * (span // radices[-1])
    knots = max(1, -(-(horizon - start) // span))
    tops: list[float] = []
    for j in range(knots):
        place = start + j * span
        near = span if j else start + span / 2
        if j == knots - 1:  # no hat follows it
            near -= max(0.0, place + span - horizon) / 2
        later = max(horizon - place, span / 4)
        ratio = (later / (lower * near)) ** (1 / 3)
        tops.append(min(ratio / (1 + ratio), *tops[-1:], 1.0))
    shares = [*tops, 0.0]
    total = min(start, horizon) / (1 - tops[0]) ** 2 * lower
    for j in range(knots):
        place = start + j * span
        steps = min(span, horizon - place)
        if steps > 0:
            total += lower * steps / ((1 - shares[j]) * (1 - shares[j + 1]))
        total += max(horizon - place, span / 4) / shares[j] ** 2
    lows = tuple(max(1, int(PARTS * root / sum(roots))) for root in roots)
    return 2 * total / horizon, tops, lows
