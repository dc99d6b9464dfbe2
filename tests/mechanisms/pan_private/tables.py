"""What an intruder sees of a table of users: its law after some streams, once or twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.pan_private.user_table import UserRecipe, UserRun
from ameles.noise.arrays import IntArray
from tests.mechanisms.pan_private.laws import law_of

State: TypeAlias = tuple[int, ...]
# What the snapshot of a run tells: from its bytes, not from the object.
Seen: TypeAlias = Callable[[Any, Any], State]


def state_after(
    recipe: UserRecipe[Any], table: Seen, *batches: Sequence[int]
) -> dict[State, float]:
    def program(noise: Noise) -> State:
        run = recipe.start(noise)
        for batch in batches:
            run.add(batch)
        return table(run, recipe)

    return law_of(program)


def seen_twice(
    recipe: UserRecipe[Any],
    table: Seen,
    batches: Sequence[Sequence[int]],
    between: Callable[[UserRun[Any]], None],
) -> dict[tuple[State, State], float]:
    def program(noise: Noise) -> tuple[State, State]:
        run = recipe.start(noise)
        run.add(batches[0])
        first = table(run, recipe)
        between(run)
        run.add(batches[1])
        return first, table(run, recipe)

    return law_of(program)


def chosen_offsets(noise: Noise, modulus: int, share: Fraction, count: int) -> IntArray:
    """The law of ``offsets``, which rejects for ever on some tapes, in one draw each."""
    return np.array([noise.choose([Fraction(0)] + [share] * (modulus - 1)) for _ in range(count)])
