"""Releases of steps in batches of some hundred rows, in their order, for databases and brokers.

A batch has whole steps, or a part of one that has too many rows.

>>> rows = [(step, place) for step in (1, 2, 3) for place in range(2)]
>>> [(len(rows), step, last) for rows, step, last in parts(rows, lambda row: row[0], most=4)]
[(4, 2, True), (2, 3, True)]
>>> [(len(rows), step, last) for rows, step, last in parts(rows[:3], lambda row: row[0], most=1)]
[(1, 1, False), (1, 1, True), (1, 2, True)]
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TypeVar

from ameles.connectors.remote_sink import OutgoingBatch
from ameles.connectors.sink import Row
from ameles.core.release import COLUMNS

PART = 1_000  # the most rows in a batch
_STEP = COLUMNS.index("step")
T = TypeVar("T")


def step_batches(rows: Iterable[Row]) -> Iterator[OutgoingBatch]:
    """Batches whose bodies are JSON lists of [number of the row in its step, row]."""
    numbered = (
        (place, row)
        for _, group in groupby(rows, key=lambda row: row[_STEP])
        for place, row in enumerate(group, 1)
    )
    for held, step, last in parts(numbered, lambda pair: int(pair[1][_STEP])):
        body = json.dumps(held, ensure_ascii=False, allow_nan=False).encode()
        yield OutgoingBatch(id=f"{step}-{held[-1][0]}", body=body, step=step, last=last)


def parts(
    rows: Iterable[T], step_of: Callable[[T], int], most: int = PART
) -> Iterator[tuple[list[T], int, bool]]:
    """Lists of at most ``most`` rows with their last step, and whether it ends with them."""
    held: list[T] = []
    for step, group in groupby(rows, key=step_of):
        mine = list(group)
        if held and len(held) + len(mine) > most:
            yield held, step_of(held[-1]), True
            held = []
        while len(mine) > most:
            yield mine[:most], step, False
            mine = mine[most:]
        held += mine
    if held:
        yield held, step_of(held[-1]), True
