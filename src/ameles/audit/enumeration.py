"""Every tape in turn: the exact probability ratio of two programs, for mechanisms that are not
linear.

Noise is small, wrapped and in base 2 (``ameles.noise.enumeration``), so all probabilities are
fractions and the claim epsilon reads: no outcome is more than 2**epsilon times likelier.
Wrapped noise has no outliers, but real noise has, and a program could treat them in another way.
So programs are also compared with all Laplace noise moved by a large multiple of the modulus, up
and down.  A proof by shifts of the noise holds there too, and what is wrapped does not change.

The outputs of a program should be wrapped too.  If a program compares instead, for example with a
threshold, the wrap itself adds a little to the ratio, and less with a larger modulus.

>>> from ameles.core.noise import Noise
>>> def counted(noise: Noise, truth: int) -> int:
...     return (truth + int(noise.laplace(Fraction(1), 1)[0])) % 5
>>> found = enumerated_loss(lambda z: counted(z, 0), lambda z: counted(z, 1), epsilon=1, modulus=5)
>>> found.verdict.value, found.ratio
('certified', Fraction(11, 6))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.audit.finding import Amount, Verdict, written
from ameles.audit.sight import Left, in_sight
from ameles.core.exceptions import BadInput
from ameles.core.loss import shown
from ameles.core.noise import Noise
from ameles.core.parameters import Exact, exact, refuse
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.noise.enumeration import law_of

# Outliers are this many times the modulus away: above 2^20, and a multiple of what code divides by.
OUTLYING = 2520 << 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Enumerated:
    """The largest ratio between the laws of two programs, and where it is.

    >>> same = enumerated_loss(lambda z: 0, lambda z: 0, epsilon=1, modulus=5)
    >>> isinstance(same, Enumerated), same.ratio, same.verdict.value
    (True, Fraction(1, 1), 'certified')
    """

    epsilon: Fraction
    ratio: Amount
    outcome: Hashable
    modulus: int
    outlying: bool = False  # whether it is a ratio between outliers

    @property
    def verdict(self) -> Verdict:
        """Whether the ratio is at most 2**epsilon, decided in whole numbers.

        Certified means: for these two programs and this noise.
        """
        if not isinstance(self.ratio, Fraction):
            return Verdict.REFUTED
        power, root = self.epsilon.numerator, self.epsilon.denominator
        within = self.ratio.numerator**root <= 2**power * self.ratio.denominator**root
        return Verdict.CERTIFIED if within else Verdict.REFUTED

    @property
    def loss(self) -> float:
        """The logarithm of the ratio to the base 2, to compare with epsilon."""
        return math.log2(self.ratio)

    def __str__(self) -> str:
        return (
            f"claimed {shown(self.epsilon)}, largest ratio {written(self.ratio)} "
            f"(epsilon {self.loss:.6g} in base 2, noise modulo {self.modulus}), "
            f"{self.verdict.value}"
        )


def enumerated_loss(
    program: Callable[[Noise], Hashable],
    neighbour: Callable[[Noise], Hashable],
    *,
    epsilon: Exact,
    modulus: int,
) -> Enumerated:
    """Compares the outputs of two programs, over all tapes and in both directions."""
    claimed = exact(epsilon, "epsilon")
    if claimed < 0:
        raise refuse("epsilon", "zero or more", epsilon)
    found = _compared(program, neighbour, claimed, modulus, 0)
    for turns in (OUTLYING, -OUTLYING):
        if found.verdict is Verdict.CERTIFIED:
            outlying = _compared(program, neighbour, claimed, modulus, turns)
            found = max(found, outlying, key=lambda one: one.ratio)
    return found


def _compared(
    program: Callable[[Noise], Hashable],
    neighbour: Callable[[Noise], Hashable],
    claimed: Fraction,
    modulus: int,
    turns: int,
) -> Enumerated:
    """Compares the laws of two programs; with ``turns``, where every draw is an outlier."""
    with in_sight() as left, suppress(Left):
        one = law_of(program, modulus=modulus, turns=turns)
        other = law_of(neighbour, modulus=modulus, turns=turns)
    if left:
        raise BadInput(
            "A program must not start processes, write files, or use sockets.",
            why="an enumeration sees only what the program returns",
            tip="a program that returns all that it shows",
        )
    worst: Amount = Fraction(0)
    where: Hashable = None
    for outcome in {**one, **other}:
        p, q = one.get(outcome, Fraction(0)), other.get(outcome, Fraction(0))
        ratio: Amount = max(p / q, q / p) if p and q else math.inf
        if ratio > worst:
            worst, where = ratio, outcome
    return Enumerated(
        epsilon=claimed, ratio=worst, outcome=where, modulus=modulus, outlying=bool(turns)
    )


def wrapped_run(
    recipe: AnyMechanism, inputs: Sequence[int], *, modulus: int
) -> Callable[[Noise], tuple[int, ...]]:
    """A counter's real code as a program for ``enumerated_loss``, with wrapped releases.

    >>> from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
    >>> recipe = SimpleTwoCounter(epsilon=1)
    >>> first, second = (wrapped_run(recipe, [x], modulus=5) for x in (0, 1))
    >>> enumerated_loss(first, second, epsilon=1, modulus=5).verdict.value
    'certified'
    """

    def program(noise: Noise) -> tuple[int, ...]:
        releases = np.asarray(recipe.start(noise).feed(list(inputs)))
        return tuple(int(value) % modulus for value in releases.ravel())

    return program
