"""Entries of a table of users: their memory, and the users who arrive to change them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.core.exceptions import BadInput
from ameles.mechanisms.clamped import one_or_many, reports
from ameles.mechanisms.pan_private.erase import wipe
from ameles.noise.arrays import BoolArray, IntArray

# Draws and indices of this many entries stay in the cache.
CHUNK = 1 << 16

Entries: TypeAlias = NDArray[np.unsignedinteger[Any]]


def indices(users: object, universe: int) -> IntArray:
    """The users who occur, in a copy that the caller wipes.

    Who does not belong to the universe counts nowhere, and so does what is no whole number: a
    refusal would tell that somebody wrote it.

    >>> indices([3, 9, None, "5", 2], 5).tolist(), indices(4, 5).tolist()
    ([3, 2], [4])
    """
    places, inside = _read(users, -1, universe, None, _not_indices)
    _keep_inside(places, inside, universe)
    kept = places[inside]
    wipe(places, inside)
    return kept


def changes(users: object, by: object, universe: int) -> tuple[IntArray, IntArray]:
    """The users who change, and by how much, in copies that the caller wipes.

    What counts nowhere is left out of both.
    """
    places, inside = _read(users, -1, universe, None, _not_indices)
    try:
        moves, known = _read(by, -1 << 63, (1 << 63) - 1, places.size, _not_amounts)
    except BadInput:
        wipe(places, inside)
        raise
    _keep_inside(places, inside, universe)
    inside &= known
    kept = places[inside], moves[inside]
    wipe(places, moves, inside, known)
    return kept


def _read(
    x: object, low: int, high: int, count: int | None, refuse: Callable[[str], BadInput]
) -> tuple[IntArray, BoolArray]:
    """Whole numbers, clamped, in a copy; and which are sound.  Yes and no are no user."""
    given = one_or_many(x)
    if isinstance(given, np.ndarray) and given.dtype.kind == "b":
        raise refuse("an array of bool")
    if isinstance(given, list | tuple):
        given = [None if type(one) in (bool, np.bool_) else one for one in given]
    return reports(given, low, high, count=count, refuse=refuse)


def _keep_inside(places: IntArray, inside: BoolArray, universe: int) -> None:
    """Leaves who is of the universe."""
    for outside in (places < 0, places >= universe):
        np.copyto(inside, False, where=outside)
        wipe(outside)


def _not_indices(got: str) -> BadInput:
    return BadInput(
        f"Users are given as whole numbers, in one list or array. Got {got} instead.",
        tip="the index of each user who occurs, in order of arrival",
    )


def _not_amounts(got: str) -> BadInput:
    return BadInput(
        f"Changes are given as whole numbers, one for each user. Got {got} instead.",
        tip="a list or array as long as that of the users, negative where something is taken back",
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
