"""What the tests of mechanisms that choose share: neighbours, exact laws, the worst ratio."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from ameles.audit import Verdict, enumerated_loss
from ameles.core.noise import Noise
from ameles.noise.enumeration import law_of


def look(recipe: Any, x: Any) -> Callable[[Noise], Hashable]:
    """One look at these scores by the real code, as a program that can be enumerated."""

    def program(noise: Noise) -> Hashable:
        released = recipe.start(noise).step(list(x))
        return tuple(released.tolist()) if isinstance(released, np.ndarray) else released

    return program


def law(recipe: Any, x: Any) -> dict[Any, Fraction]:
    """The exact law of one look, with powers of 2 for powers of e."""
    return law_of(look(recipe, x), modulus=3)


def moved(x: tuple[int, ...], *, monotone: bool) -> Iterator[tuple[int, ...]]:
    """All scores that one unit can make of these."""
    ways = [(0, 1)] if monotone else [(-1, 0, 1)]
    for by in product(*(ways * len(x))):
        yield tuple(a + b for a, b in zip(x, by, strict=True))


def refuted(recipe: Any, xs: Iterable[tuple[int, ...]], *, monotone: bool) -> int:
    """How many of these pairs of neighbours show more than the stated loss."""
    return sum(
        enumerated_loss(look(recipe, x), look(recipe, y), epsilon=recipe.epsilon, modulus=3).verdict
        is Verdict.REFUTED
        for x in xs
        for y in moved(x, monotone=monotone)
        if y != x
    )
