"""Entries of a table of users: their memory, and the users who arrive to change them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.core.exceptions import BadInput
from ameles.noise.arrays import IntArray

# Draws and indices of this many entries stay in the cache.
CHUNK = 1 << 16

Entries: TypeAlias = NDArray[np.unsignedinteger[Any]]


def indices(users: object, universe: int) -> IntArray:
    """The users who occur, in a copy that the caller wipes; anything else is refused."""
    try:
        given = np.atleast_1d(np.array(users))
    except ValueError:  # rows of different lengths
        raise _not_indices("rows of different lengths") from None
    if given.size == 0 and given.ndim == 1:
        return np.empty(0, dtype=np.int64)
    if given.dtype.kind not in "iu":
        raise _not_indices(f"an array of {given.dtype}")
    if given.ndim > 1:
        raise _not_indices(f"an array of {given.ndim} dimensions")
    if int(given.min()) < 0 or int(given.max()) >= universe:
        given.fill(0)
        raise BadInput(
            f"Every user must be a whole number from 0 to {universe - 1}. Got one outside of it.",
            why="the table has an entry for each user of the declared universe and no other",
            tip="leave out who does not belong to it, before counting anything",
        )
    return _widened(given)


def _not_indices(kind: str) -> BadInput:
    return BadInput(
        f"Users are given as whole numbers, in one array. Got {kind} instead.",
        tip="the index of each user who occurs, in order of arrival",
    )


def amounts(by: object, count: int) -> IntArray:
    """By how much each of ``count`` users changes, in a copy that the caller wipes."""
    try:
        given = np.atleast_1d(np.array(by))
    except ValueError:  # rows of different lengths
        raise _not_amounts() from None
    if given.size == 0 and given.ndim == 1 and count == 0:
        return np.empty(0, dtype=np.int64)
    if given.dtype.kind not in "iu" or given.shape != (count,):
        raise _not_amounts()
    if given.dtype.kind == "u" and int(given.max()) > np.iinfo(np.int64).max:
        given.fill(0)
        raise _not_amounts()
    return _widened(given)


def _widened(given: NDArray[Any]) -> IntArray:
    """The same numbers with 64 bits; if that is a copy, what it was made of is wiped."""
    wide = given.astype(np.int64, copy=False)
    if wide is not given:
        given.fill(0)
    return wide


def _not_amounts() -> BadInput:
    return BadInput(
        "Changes are given as whole numbers of at most 64 bits, one for each user.",
        tip="an array as long as that of the users, negative where something is taken back",
    )


def kind_for(values: int) -> type[np.unsignedinteger[Any]]:
    """The smallest kind of entry that holds 0 to ``values`` - 1: small tables stay in caches."""
    return np.uint8 if values <= 1 << 8 else np.uint16 if values <= 1 << 16 else np.uint32


def room(entries: int, values: int) -> tuple[IntArray, Entries]:
    """Zeros as entries for 0 to ``values`` - 1, and the same memory as 64-bit integers."""
    kind = kind_for(values)
    words = np.zeros(-(-entries * np.dtype(kind).itemsize // 8), dtype=np.int64)
    return words, words.view(kind)[:entries]


def times(users: IntArray) -> tuple[IntArray, IntArray]:
    """Who occurs, each once, and how often; sorts ``users``.  The caller wipes both."""
    users.sort()
    first = np.flatnonzero(np.diff(users, prepend=-1))
    return users[first], np.diff(first, append=users.size)


def totals(users: IntArray, by: IntArray) -> tuple[IntArray, IntArray]:
    """Who changes, each once, and by how much in all.  The caller wipes all four arrays."""
    order = np.argsort(users, kind="stable")
    ordered = users[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    moves = by[order]
    who, total = ordered[first], np.add.reduceat(moves, first)
    for copy in (order, ordered, moves):
        copy.fill(0)
    return who, total
