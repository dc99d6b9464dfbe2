"""The exact law of everything that is seen of a transformation: releases and one seized state.

The real code is run from each state that it can be in, on every tape of one step, and the laws
of the steps are put together: the number of tapes is that of a step, not of a run.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.continual.nested import nested, unnested
from ameles.mechanisms.continual.transformation import HALTED, Continual
from ameles.mechanisms.snapshot import State, pack, unpack
from ameles.noise import Zero
from ameles.noise.enumeration import law_of
from tests.mechanisms.continual.scripted import Scripted

# How many steps the run and the algorithm have taken, and the run's own parts of the state.
Place: TypeAlias = tuple[int, int, tuple[tuple[int, ...], ...]]
Moves: TypeAlias = dict[tuple[Hashable, Place], Fraction]
# releases so far, what was seized, the state
Path: TypeAlias = tuple[tuple[Hashable, ...], Hashable, Place]


class Kernel:
    """The law of a step whose answer is always the same, remembered for each state."""

    def __init__(self, recipe: Continual, modulus: int) -> None:
        self._recipe = recipe
        self._modulus = modulus
        self._known: dict[Place, Moves] = {}

    def moves(self, place: Place) -> Moves:
        if place not in self._known:
            state = snapshot_at(self._recipe, place)

            def program(noise: Noise) -> tuple[Hashable, Place]:
                run = self._recipe.resume(state, noise)
                return run.step(None), place_of(self._recipe, run.snapshot())

            self._known[place] = law_of(program, modulus=self._modulus)
        return self._known[place]


@lru_cache(maxsize=16)
def kernel(recipe: Continual, modulus: int) -> Kernel:
    return Kernel(recipe, modulus)


def place_of(recipe: Continual, snapshot: bytes) -> Place:
    """What a snapshot has, but for what names the run and the recipe."""
    state = unpack(snapshot, recipe.fingerprint)
    *own, length, padded = state.parts
    inner = unpack(unnested((length, padded)), recipe.algorithm.fingerprint)
    return state.step, inner.step, tuple(tuple(part.tolist()) for part in own)


def snapshot_at(recipe: Continual, place: Place) -> bytes:
    """The snapshot of a run of this recipe that is there."""
    step, taken, own = place
    inner = State(bytes(16), taken, (np.zeros(1, dtype=np.int64),))
    within = nested(pack(inner, recipe.algorithm.fingerprint))
    parts = tuple(np.array(part, dtype=np.int64) for part in own)
    return pack(State(bytes(16), step, (*parts, *within)), recipe.fingerprint)


def views(recipe: Continual, modulus: int) -> Iterator[dict[Hashable, Fraction]]:
    """The law of the view for a seizure after each step, and for none."""
    assert isinstance(recipe.algorithm, Scripted)
    answers = recipe.algorithm.answers
    beginning = place_of(recipe, recipe.start(Zero()).snapshot())
    for seized_after in [*range(1, recipe.horizon + 1), None]:
        law: dict[Path, Fraction] = {((), None, beginning): Fraction(1)}
        for t, answer in enumerate(answers, start=1):
            # a step depends on its own answer alone, so that other scripts share its law
            same = Scripted(answers=(answer,) * recipe.horizon)
            step = kernel(replace(recipe, algorithm=same), modulus)
            after: defaultdict[Path, Fraction] = defaultdict(Fraction)
            for (releases, seen, place), chance in law.items():
                for (release, successor), probability in step.moves(place).items():
                    # an intruder finds it all; the algorithm's own state is public here
                    seized = successor[2] if t == seized_after else seen
                    after[((*releases, release), seized, successor)] += chance * probability
            law = dict(after)
        view: defaultdict[Hashable, Fraction] = defaultdict(Fraction)
        for (releases, seen, _), chance in law.items():
            view[releases, seen] += chance
        yield dict(view)


def bits_lost(one: Continual, other: Continual, modulus: int, values: range) -> float:
    """The largest logarithm, to the base 2, of a ratio of probabilities of any view.

    Noise ends at half of the modulus here, so that some releases are out of reach from one side:
    only views with all releases among ``values`` are compared.
    """
    worst = 0.0
    for left, right in zip(views(one, modulus), views(other, modulus), strict=True):
        for view in {**left, **right}:
            assert isinstance(view, tuple)
            if all(release is HALTED or release in values for release in view[0]):
                p, q = left.get(view, Fraction(0)), right.get(view, Fraction(0))
                worst = max(worst, abs(math.log2(p / q)) if p and q else math.inf)
    return worst
