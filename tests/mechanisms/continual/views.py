"""The exact law of everything that is seen of a transformation: releases and one seized state.

The real code is run from each state that it can be in, on every tape of one step, and the laws
of the steps are put together: the number of tapes is that of a step, not of a run.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator
from fractions import Fraction
from typing import TypeAlias

from ameles.core.noise import Noise
from ameles.mechanisms.continual.transformation import HALTED, Continual
from ameles.mechanisms.snapshot import unpack
from ameles.noise import Zero
from ameles.noise.enumeration import law_of

Moves: TypeAlias = dict[Hashable, Fraction]
# releases so far, what was seized, the state
Path: TypeAlias = tuple[tuple[Hashable, ...], Hashable, bytes]


class Kernel:
    """The law of a step, remembered for each state."""

    def __init__(self, recipe: Continual, modulus: int) -> None:
        self._recipe = recipe
        self._modulus = modulus
        self._known: dict[bytes, Moves] = {}

    def moves(self, state: bytes) -> Moves:
        if state not in self._known:

            def program(noise: Noise) -> Hashable:
                run = self._recipe.resume(state, noise)
                return run.step(None), run.snapshot()

            self._known[state] = law_of(program, modulus=self._modulus)
        return self._known[state]

    def seized(self, state: bytes) -> Hashable:
        """What an intruder finds, but for the algorithm's own state, which here is public."""
        public, opened, *_ = unpack(state, self._recipe.fingerprint).parts
        return tuple(public.tolist()), tuple(opened.tolist())


def views(recipe: Continual, modulus: int) -> Iterator[dict[Hashable, Fraction]]:
    """The law of the view for a seizure after each step, and for none."""
    kernel = Kernel(recipe, modulus)
    beginning = recipe.start(Zero()).snapshot()
    for seized_after in [*range(1, recipe.horizon + 1), None]:
        law: dict[Path, Fraction] = {((), None, beginning): Fraction(1)}
        for t in range(1, recipe.horizon + 1):
            after: defaultdict[Path, Fraction] = defaultdict(Fraction)
            for (releases, seen, state), chance in law.items():
                for move, probability in kernel.moves(state).items():
                    assert isinstance(move, tuple)
                    release, successor = move
                    seized = kernel.seized(successor) if t == seized_after else seen
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
