"""All effects from one run: a key of its own for every impulse.

A counter of width n is n equal counters, so one wide run shows what n plain runs would show, each
with its own impulse.  That the plain counter does the same is a guess.  A few impulses check it
here, and ``matrices_of`` checks it with mixtures of all draws and inputs: a plain counter that does
something else is read again, impulse by impulse.

>>> from ameles.mechanisms.counters.simple_one import SimpleOneCounter
>>> wide_effects(Observer(SimpleOneCounter(epsilon=1, horizon=6), 6)).noise[4]
[0, 0, 0, 0, 1, 0]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ameles.audit.observation import Block, Effects, NotLinear, Observer, Seen
from ameles.noise import Tape

# Fewer impulses are read faster one by one.
WORTH_SHARING = 12
# How many numbers the tape of one wide run may have.
MOST_DRAWN = 1 << 20


def wide_effects(observer: Observer) -> Effects | None:
    """The effects that wide runs show; None if there are none, or if an impulse contradicts."""
    still = observer.see((), [0] * observer.steps)
    draws, steps = len(observer.laws or []), observer.steps
    if observer.encoded or draws + steps < WORTH_SHARING:
        return None
    keys = max(1, MOST_DRAWN // (draws + steps))
    try:
        columns = [
            column
            for first in range(0, draws + steps, keys)
            for column in _columns(observer, draws, range(first, min(first + keys, draws + steps)))
        ]
    except Exception:  # it has no width, or another opinion about wide inputs
        return None
    effects = [_effect(column, still, observer.resolution) for column in columns]
    for place in {0, draws - 1, draws, draws + steps - 1} & set(range(draws + steps)):
        seen = observer.see(*_impulse(observer, draws, place))
        if _effect(seen, still, observer.resolution) != effects[place]:
            return None
    return Effects(effects[:draws], effects[draws:])


def _impulse(observer: Observer, draws: int, place: int) -> tuple[list[int], list[int]]:
    """A tape and inputs with one impulse: of the draws, then of the inputs."""
    numbers = [0] * (draws + observer.steps)
    numbers[place] = observer.resolution
    return numbers[:draws], numbers[draws:]


def _effect(seen: Sequence[Seen], still: Sequence[Seen], unit: int) -> list[Seen]:
    changes = [now - then for now, then in zip(seen, still, strict=True)]
    return changes if unit == 1 else [Fraction(change, unit) for change in changes]


def _columns(observer: Observer, draws: int, impulses: range) -> list[list[int]]:
    """What each key shows, with one of these impulses each: of the draws, then of the inputs."""
    width, unit = len(impulses), observer.resolution
    recipe: Any = observer.recipe
    wide = Observer(
        replace(recipe, width=width), observer.steps, observer.view, stepping=observer.stepping
    )
    sizes = np.zeros((draws + observer.steps, width), dtype=np.int64)
    sizes[list(impulses), range(width)] = unit
    tape = Tape(sizes[:draws].ravel().tolist())
    shown = wide.shown(tape, list(sizes[draws:]))
    rows = [
        _by_key(block, size, width)
        for (_, block), (size, _) in zip(shown, observer.blocks, strict=True)
    ]
    return [column.tolist() for column in np.concatenate(rows).T]


def _by_key(block: Block, size: int, width: int) -> Block:
    """What is seen at once, with a column for each key; what is not by key is the same for all."""
    if block.dtype.kind != "i":
        raise NotLinear("a wide counter shows something else than integers")
    if block.size == size:
        return np.repeat(block.reshape(size, 1), width, axis=1)
    return block.reshape(size, width)
