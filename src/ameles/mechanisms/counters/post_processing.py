"""Views of a counter's releases: more answers from the same numbers, without new noise.

Whatever is computed from releases alone reveals nothing more (post-processing), so totals over
any past interval and a count that never falls come free.  The error of an interval is that of a
difference: blocks that both counts share cancel, so it is often smaller than that of a count.

>>> releases = [3, 2, 9, 8, 14]
>>> interval_total(releases, 2, 4)
5
>>> monotone(releases).tolist()
[3, 3, 9, 9, 14]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ameles.core.exceptions import BadInput


def interval_total(releases: Sequence[Any] | NDArray[Any], first: int, last: int) -> Any:
    """The released total of steps first, ..., last, counted from 1.

    Its error is ``recipe.error.between(first - 1, last)``.
    """
    if not 1 <= first <= last <= len(releases):
        raise BadInput(
            f"An interval must lie within the {len(releases)} released steps, from 1 on. "
            f"Got {first} to {last} instead.",
        )
    before = releases[first - 2] if first > 1 else releases[0] * 0
    return releases[last - 1] - before


def monotone(releases: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
    """Released counts as a line that never falls and is never negative; past values stay.

    Each value is the largest release so far.  It is as close to the truth as the worst release
    so far, so ``recipe.error.bound_all`` holds for it too.
    """
    rising: NDArray[np.int64] = np.maximum.accumulate(np.maximum(np.asarray(releases), 0), axis=0)
    return rising
