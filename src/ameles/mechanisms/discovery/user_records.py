"""How much one user may add to keys that are discovered: which records count, and for what.

A user's records are taken in their order.  A record on a key *counts* if the user has fewer than
``per_key`` counted records on that key and fewer than ``records`` in all.  If it is the user's
first on the key, the key was not public at the end of the previous step, and the user has a slot
left, then the next slot's weight goes to the key's selection.

Theorem      What happens to a user's records is a function of that user's records and of which keys
             were public before, and of no other user.  So, given what was published, one user more
             changes the selection counters by at most the slots' weights, each on another key, and
             the values by at most ``records`` times ``bound`` in all and ``per_key`` times
             ``bound`` on one key.

All of a batch is computed with three counts of equal entries: within a user and key, within a user
among those that pass, and within a user among those that name a key.

>>> from ameles.mechanisms.discovery.key_discovery import KeyDiscovery
>>> recipe = KeyDiscovery(epsilon=1, delta=1e-6, horizon=10, records=3)
>>> public = np.array([False, True, False])
>>> inputs, states = bounded(
...     recipe, public, user=[0, 0, 0, 0, 1], number=[0, 0, 1, 2, 2], cell=[0] * 5, amount=[1] * 5,
...     earlier=UserStates.empty(2))
>>> inputs.number.tolist(), inputs.selected.tolist(), inputs.amounts[:, 0].tolist()
([0, 1, 2], [4, 0, 6], [1, 1, 2])
>>> states.slots.tolist()
[2, 1]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ameles.core.exceptions import BadInput
from ameles.mechanisms.discovery.key_steps import KeyInputs
from ameles.mechanisms.discovery.user_states import UserStates
from ameles.noise.arrays import BoolArray, IntArray

if TYPE_CHECKING:
    from ameles.mechanisms.discovery.key_discovery import KeyDiscovery

# From this share of records to numbers on, arrays over all numbers are quicker than sorting.
MANY = 1 / 16


@dataclass(frozen=True, repr=False)
class Earlier:
    """What was known before a batch, for each of its records."""

    on_key: IntArray  # counted records of its user on its key
    in_all: IntArray  # counted records of its user
    slots: IntArray  # slots that its user has used


def keep(
    recipe: KeyDiscovery, public: BoolArray, user: IntArray, number: IntArray, earlier: Earlier
) -> tuple[BoolArray, IntArray]:
    """Which records count, and the weight of the slot that each takes, 0 for none.

    Records of one user are together and in their order.
    """
    starts = _starts(user)
    same = _rank_on_key(starts, number)
    may = earlier.on_key + same < recipe.per_key
    counted = may & (earlier.in_all + _rank(starts, may) < recipe.records)
    names = counted & (same == 0) & (earlier.on_key == 0) & ~public[number]
    weights = np.array([*recipe.slots, 0], dtype=np.int64)
    slot = np.minimum(earlier.slots + _rank(starts, names), len(recipe.slots))
    return counted, np.where(names, weights[slot], 0)


def bounded(
    recipe: KeyDiscovery,
    public: BoolArray,
    *,
    user: ArrayLike,
    number: ArrayLike,
    cell: ArrayLike,
    amount: ArrayLike,
    earlier: UserStates,
) -> tuple[KeyInputs, UserStates]:
    """What a step of the run takes, and the states of all users after it.

    ``user`` are places in ``earlier``, in order; records of one user are in their own order.
    Amounts beyond the recipe's bound are cut to it.
    """
    users, numbers, cells, amounts = _checked(
        recipe, earlier.slots.size, public.size, user, number, cell, amount
    )
    place, on_key = earlier.find(users, numbers)
    before = Earlier(on_key, earlier.in_all[users], earlier.slots[users])
    counted, weight = keep(recipe, public, users, numbers, before)
    after = earlier.added(users[counted], numbers[counted], place[counted], weight[counted] > 0)
    return summed(
        recipe, public.size, numbers[counted], cells[counted], amounts[counted], weight[counted]
    ), after


def summed(
    recipe: KeyDiscovery,
    keys: int,
    number: IntArray,
    cell: IntArray,
    amount: IntArray,
    weight: IntArray,
) -> KeyInputs:
    """Counted records, added up for each of ``keys`` numbers."""
    if number.size > MANY * keys:
        chosen = np.flatnonzero(np.bincount(number, minlength=keys))
        places = np.empty(keys, dtype=np.int64)
        places[chosen] = np.arange(chosen.size)
        place = places[number]
    else:
        chosen, place = np.unique(number, return_inverse=True)
    selected = np.zeros(chosen.size, dtype=np.int64)
    np.add.at(selected, place, weight)
    amounts = np.zeros(chosen.size * recipe.cells, dtype=np.int64)
    np.add.at(amounts, place * recipe.cells + cell, amount)
    return KeyInputs(chosen.astype(np.int64), selected, amounts.reshape(-1, recipe.cells))


def _checked(recipe: KeyDiscovery, people: int, keys: int, *given: ArrayLike) -> Sequence[IntArray]:
    arrays = [np.asarray(part) for part in given]
    arrays = [part.astype(np.int64) if part.size == 0 else part for part in arrays]
    if any(part.ndim != 1 or part.dtype.kind not in "iu" for part in arrays):
        raise BadInput("Records are arrays of whole numbers.")
    users, numbers, cells, amounts = (part.astype(np.int64, copy=False) for part in arrays)
    if not users.size == numbers.size == cells.size == amounts.size:
        raise BadInput("Each record has a user, a number, a cell and an amount.")
    if (np.diff(users) < 0).any():
        raise BadInput("Records must be in the order of their users.")
    for part, count, what in (
        (users, people, "user"),
        (numbers, keys, "number"),
        (cells, recipe.cells, "cell"),
    ):
        if part.size and not 0 <= part.min() <= part.max() < count:
            raise BadInput(f"A record has a {what} that is not known here.")
    return users, numbers, cells, np.clip(amounts, -recipe.bound, recipe.bound)


def _starts(user: IntArray) -> IntArray:
    """For each record the place of its user's first."""
    first = np.ones(user.size, dtype=np.bool_)
    first[1:] = user[1:] != user[:-1]
    return np.maximum.accumulate(np.where(first, np.arange(user.size), 0))


def _rank(starts: IntArray, among: BoolArray) -> IntArray:
    """How many chosen records of the same user are before each."""
    before: IntArray = np.cumsum(among) - among
    ranks: IntArray = before - before[starts]
    return ranks


def _rank_on_key(starts: IntArray, number: IntArray) -> IntArray:
    """How many records of the same user and key are before each."""
    ranks = np.zeros(number.size, dtype=np.int64)
    order = np.lexsort((number, starts))
    user, key = starts[order], number[order]
    again = np.zeros(number.size, dtype=np.bool_)
    again[1:] = (user[1:] == user[:-1]) & (key[1:] == key[:-1])
    if again.any():
        first = np.maximum.accumulate(np.where(again, 0, np.arange(number.size)))
        ranks[order] = np.arange(number.size) - first
    return ranks
