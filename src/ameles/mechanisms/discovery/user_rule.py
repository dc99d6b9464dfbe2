"""Which records of a user count, and which of them help to discover a key: the rule, on arrays.

A record counts if its user has fewer than ``per_key`` counted records on its key and fewer than
``records`` in all.  The first counted record of a user on a key that is not public takes the
user's next discovery slot, while there is one, and adds the weight of that slot to the key's
selection.  Only the user's own earlier records and public facts decide.

The functions take the records of one step, those of a user together and in their order.  What the
user did in earlier steps comes beside them, aligned with the records, so whoever keeps it may keep
it in any form.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ameles.noise.arrays import BoolArray, IntArray


def keep(
    user: IntArray,
    number: IntArray,
    public: BoolArray,
    *,
    on_key: IntArray,
    in_all: IntArray,
    used: IntArray,
    per_key: int,
    records: int,
    slots: Sequence[int],
) -> tuple[BoolArray, IntArray]:
    """Whether each record counts, and the weight that it adds to the selection of its key.

    ``public`` says for each record whether its key was public at the end of the previous step.
    ``on_key`` and ``in_all`` are the counted records of its user in earlier steps, on its key and
    in all; ``used`` is how many slots its user has used in earlier steps.

    >>> one = np.zeros(3, dtype=np.int64)
    >>> counted, weight = keep(
    ...     one, np.array([5, 5, 7]), np.array([False, False, False]),
    ...     on_key=one, in_all=one, used=one, per_key=1, records=32, slots=(4, 2, 1, 1),
    ... )
    >>> counted.tolist(), weight.tolist()
    ([True, False, True], [4, 0, 2])
    """
    seen = on_key + rank_in_pair(user, number)
    counted = seen < per_key
    counted &= in_all + rank_of_marked(user, counted) < records
    first = counted & (seen == 0) & ~public
    slot = used + rank_of_marked(user, first)
    first &= slot < len(slots)
    weights = np.append(np.array(slots, dtype=np.int64), 0)
    return counted, np.where(first, weights[np.minimum(slot, len(slots))], 0)


def group_starts(user: IntArray) -> IntArray:
    """For each record, the place of the first record of its user."""
    fresh = np.ones(user.size, dtype=bool)
    np.not_equal(user[1:], user[:-1], out=fresh[1:])
    return np.maximum.accumulate(np.where(fresh, np.arange(user.size), 0))


def rank_in_pair(user: IntArray, number: IntArray) -> IntArray:
    """For each record, how many earlier ones have the same user and the same key.

    >>> rank_in_pair(np.array([1, 1, 1, 2]), np.array([8, 9, 8, 8])).tolist()
    [0, 0, 1, 0]
    """
    order = np.lexsort((number, user))  # stable: records of a pair stay in their order
    fresh = np.ones(user.size, dtype=bool)
    fresh[1:] = (user[order][1:] != user[order][:-1]) | (number[order][1:] != number[order][:-1])
    place = np.arange(user.size)
    rank = np.empty_like(place)
    rank[order] = place - np.maximum.accumulate(np.where(fresh, place, 0))
    return rank


def rank_of_marked(user: IntArray, marked: BoolArray) -> IntArray:
    """For each record, how many earlier marked ones its user has.

    >>> rank_of_marked(np.array([1, 1, 1, 2]), np.array([True, False, True, True])).tolist()
    [0, 1, 1, 0]
    """
    before: IntArray = np.cumsum(marked) - marked
    return before - before[group_starts(user)]
