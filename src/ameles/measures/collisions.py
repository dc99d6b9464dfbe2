"""What hits of a hashed table say about users, who may share cells.

``hits`` is the mean number of cells, of m, of which a statistic is true.  D users share cells:
q = 1 - 1/m is the chance that one of them is not in a certain cell.  F is the number of users of
whom the statistic is true.  The hash is drawn without looking at anyone, so these bounds hold on
average over it, whatever the users did:

Seen         a cell is hit if some user is in it: hits = m (1 - q^F), which is inverted
Cropped      F = sum of min(count, t) / t.  A cell's events are cropped together, so hits <= F; and
             they are fewest if the events belong to as few users as possible, who then hit
             m (1 - q^x) >= m (1 - exp(-F / m)) cells: min(x + rest, t) is concave in x, so a user
             with c < t events loses less than one with t events who comes with chance c / t
Heavy        a cell with a heavy user is hit: hits >= m (1 - q^F).  A cell without one needs two
             others at least: hits <= m (1 - q^N - (N - F) / m q^(N-1)), N >= D a promise
Exactly      a cell is hit if such a user is alone in it: hits >= F q^(N-1).  Other cells are hit
             only if two others at least are in it, as for heavy users
Alone        of t = 1, or of a residue: the same, but two others together may be hit or not

Each bound is solved for F: the ends of what the hits allow.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Hits: TypeAlias = NDArray[np.float64]


def users_hitting(hits: Hits, cells: int) -> Hits:
    """The number of users that hit this many cells on average: it corrects for collisions.

    Above all cells but one, the table cannot tell the number; below zero there is nothing to
    correct.

    >>> users_hitting(np.array([-5.0, 0.0, 9_516.0, 1e9]), 100_000).round().tolist()
    [-5.0, 0.0, 10000.0, 1151287.0]
    """
    inside = np.clip(hits, 0, cells - 1)
    counted: Hits = np.log1p(-inside / cells) / math.log1p(-1 / cells)
    return np.where(hits < 0, hits, counted)


def most_cropped(hits: Hits, cells: int) -> Hits:
    """The largest F with which so many cells are hit, if events of a cell are cropped together.

    >>> most_cropped(np.array([-5.0, 9_516.0]), 100_000).round().tolist()
    [-5.0, 10000.0]
    """
    inside = np.clip(hits, 0, cells - 1)
    return np.where(hits < 0, hits, -cells * np.log1p(-inside / cells))


def fewest_among(hits: Hits, cells: int, users: int) -> Hits:
    """The smallest F, if two of the other ``users`` may hit a cell together.

    >>> fewest_among(np.array([1000.0]), 100_000, 10_000).round().tolist()
    [588.0]
    """
    missed = math.log1p(-1 / cells)
    empty, alone = math.exp(users * missed), math.exp((users - 1) * missed)
    return users - (cells * (1 - empty) - hits) / alone


def most_alone(hits: Hits, cells: int, users: int) -> Hits:
    """The largest F, if a cell is hit for certain only where its user is alone among ``users``.

    >>> most_alone(np.array([1000.0]), 100_000, 10_000).round().tolist()
    [1105.0]
    """
    alone = math.exp((users - 1) * math.log1p(-1 / cells))
    return np.where(hits < 0, hits, hits / alone)
