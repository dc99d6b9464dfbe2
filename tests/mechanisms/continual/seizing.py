"""The exact law of all that is seen of a table of users: every release, and one state of it.

The real code is run from each state that it can be in, on every tape of one call, and the laws of
the calls are put together: the number of tapes is that of a call, not of a run.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias
from unittest import mock

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.continual.transformation import Halted
from ameles.noise.enumeration import law_of

# For each step its batches, for each batch the cells of its events.
Arrivals: TypeAlias = Sequence[Sequence[Sequence[int]]]
Call: TypeAlias = tuple[int, ...] | None  # None: the release
# releases so far, the state that was seized, the state
Path: TypeAlias = tuple[tuple[Hashable, ...], bytes, bytes]
Law: TypeAlias = dict[Hashable, Fraction]


class Kernel:
    """The law of a call, remembered for each state."""

    def __init__(self, recipe: Any, modulus: int) -> None:
        self._recipe = recipe
        self._modulus = modulus
        self._known: dict[tuple[bytes, Call], dict[Any, Fraction]] = {}

    @cached_property
    def start(self) -> dict[Any, Fraction]:
        return law_of(lambda noise: self._recipe.start(noise).snapshot(), modulus=self._modulus)

    def moves(self, state: bytes, call: Call) -> dict[Any, Fraction]:
        if (state, call) not in self._known:

            def program(noise: Noise) -> Hashable:
                run = self._recipe.resume(state, noise)
                released: Hashable = None
                if call is None:
                    given = run.release()
                    released = "halted" if isinstance(given, Halted) else given % self._modulus
                else:
                    run.add(np.array(call, dtype=np.int64))
                return released, run.snapshot()

            self._known[state, call] = law_of(program, modulus=self._modulus)
        return self._known[state, call]


def calls(arrivals: Arrivals) -> list[Call]:
    """What happens, one call after the other."""
    return [call for batches in arrivals for call in [*map(tuple, batches), None]]


def view(kernel: Kernel, arrivals: Arrivals, instant: int | None) -> Law:
    """The law of the releases and of the state after so many calls."""
    law: dict[Path, Fraction] = {
        ((), state if instant == 0 else b"", state): chance
        for state, chance in kernel.start.items()
    }
    for now, call in enumerate(calls(arrivals), start=1):
        after: defaultdict[Path, Fraction] = defaultdict(Fraction)
        for (releases, seen, state), chance in law.items():
            for (released, then), probability in kernel.moves(state, call).items():
                told = releases if call is not None else (*releases, released)
                after[told, then if now == instant else seen, then] += chance * probability
        law = after
    seen_of: defaultdict[Hashable, Fraction] = defaultdict(Fraction)
    for (releases, seen, _), chance in law.items():
        seen_of[releases, seen] += chance
    return seen_of


def losses(kernel: Kernel, one: Arrivals, other: Arrivals) -> Iterator[float]:
    """The loss between two streams with the same calls, in bits, for each instant and for none."""
    for instant in [None, *range(len(calls(one)) + 1)]:
        yield _ratio(view(kernel, one, instant), view(kernel, other, instant))


def worst(recipe: Any, pairs: Sequence[tuple[Arrivals, Arrivals]], *, modulus: int) -> float:
    """The largest loss of all pairs and instants, in bits."""
    # Identities are random and say nothing; without them a state is its bytes.
    with mock.patch.object(os, "urandom", lambda count: bytes(count)):
        kernel = Kernel(recipe, modulus)
        return max(loss for one, other in pairs for loss in losses(kernel, one, other))


def _ratio(one: Law, other: Law) -> float:
    if one.keys() != other.keys():
        return math.inf
    return max(abs(math.log2(chance / other[seen])) for seen, chance in one.items())
