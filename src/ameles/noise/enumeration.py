"""Every tape in turn: the exact law of what a program does, for small programs.

Noise here is small and wrapped (modulo an odd number), and its weights are powers of 2
where the real ones are powers of e: P(k) is proportional to 2**(-|k| / scale), folded.
All probabilities are then fractions, and a privacy claim of epsilon reads: no outcome is
more than 2**epsilon times likelier on one input than on its neighbour.  The proofs do not
depend on the base, so a claim that fails in base 2 fails in base e too.

>>> law = law_of(lambda noise: int(noise.laplace(Fraction(1), 1)[0]) % 3, modulus=3)
>>> law == {0: Fraction(3, 7), 1: Fraction(2, 7), 2: Fraction(2, 7)}
True
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import ClassVar, TypeAlias, TypeVar

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise, Shape
from ameles.core.parameters import whole
from ameles.noise.arrays import BoolArray, IntArray
from ameles.noise.coin import count_of
from ameles.noise.system import (
    candidates,
    fined,
    penalty,
    positive,
    probability,
    truncation,
    weighed,
)

Result = TypeVar("Result")
Outcome = TypeVar("Outcome", bound=Hashable)
Weighted: TypeAlias = Sequence[tuple[int, Fraction]]

# A draw with more values than this is refused.
MOST_OPTIONS = 1 << 16


def law_of(
    program: Callable[[Noise], Outcome], *, modulus: int, turns: int = 0
) -> dict[Outcome, Fraction]:
    """The exact probability of each outcome of a program that draws noise.

    With ``turns``, all Laplace draws are outliers: each is this many times the modulus larger.
    """
    law: defaultdict[Outcome, Fraction] = defaultdict(Fraction)
    for outcome, chance in every_tape(program, modulus=modulus, turns=turns):
        law[outcome] += chance
    if sum(law.values()) != 1:
        raise BadInput(
            "The probabilities of the outcomes do not sum to 1.",
            why="the program did not draw the same on the same tape",
            tip="a program that starts anew each time and keeps nothing between its runs",
        )
    return dict(law)


def every_tape(
    program: Callable[[Noise], Result], *, modulus: int, turns: int = 0
) -> Iterator[tuple[Result, Fraction]]:
    """What the program gives on each possible tape, with the tape's probability.

    The program is run once for each tape.  It may draw any number of times, and
    its draws may depend on earlier ones.
    """
    if whole(modulus, "modulus", low=3, high=MOST_OPTIONS) % 2 == 0:
        raise BadInput(f"The 'modulus' must be odd and at least 3. Got {modulus} instead.")
    choices: list[int] = []
    while True:
        noise = _Branching(modulus, choices, turns)
        yield program(noise), noise.chance
        # the next tape: advance the last draw that has another value, forget those after it
        choices = noise.choices
        while choices and choices[-1] + 1 == noise.options[len(choices) - 1]:
            choices.pop()
        if not choices:
            return
        choices[-1] += 1


class _Branching:
    """Follows the choices it is given, then the first option of every further draw."""

    genuine: ClassVar[bool] = False
    forgetful: ClassVar[bool] = True

    def __init__(self, modulus: int, choices: Sequence[int], turns: int) -> None:
        self._modulus = modulus
        self._outlying = turns * modulus
        self._given = list(choices)
        self.choices: list[int] = []
        self.options: list[int] = []
        # The chance of the tape so far, as two whole numbers: reduced once, when it is asked for.
        self._top, self._bottom = 1, 1

    @property
    def chance(self) -> Fraction:
        return Fraction(self._top, self._bottom)

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        drawn = self._draw(_wrapped_laplace(self._modulus, positive(scale, "scale")), size)
        return drawn + self._outlying

    def gaussian(self, variance: Fraction, size: Shape) -> IntArray:
        raise BadInput(
            "Gaussian noise cannot be enumerated.",
            why="its wrapped law is an infinite sum, not a fraction",
            tip="the exact audit, which bounds Gaussian mechanisms by their matrices",
        )

    def bernoulli(self, p: Fraction, size: Shape) -> BoolArray:
        return self._draw(_coin(probability(p)), size).astype(np.bool_)

    def bernoulli_exp(self, gamma: Fraction, size: Shape) -> BoolArray:
        return self.bernoulli(Fraction(1, 2 ** _power(penalty(gamma), "gamma")), size)

    def uniform(self, n: int, size: Shape) -> IntArray:
        return self._draw(_uniform(whole(n, "n", low=1, high=MOST_OPTIONS)), size)

    def choose(self, gammas: Sequence[Fraction]) -> int:
        best = min(candidates(gammas))
        weights = [Fraction(1, 2 ** _power(gamma - best, "gamma")) for gamma in gammas]
        total = sum(weights)
        return int(self._draw([(i, w / total) for i, w in enumerate(weights)], 1)[0])

    def pick(self, penalties: IntArray, rate: Fraction, weights: IntArray | None = None) -> int:
        given, measure = weighed(penalties, weights)
        gammas = [positive(rate, "rate") * k for k in given.tolist()]
        best = min(gammas)
        counts = [1] * len(gammas) if measure is None else measure.tolist()
        shares = [
            Fraction(count, 2 ** _power(gamma - best, "rate * penalty"))
            for gamma, count in zip(gammas, counts, strict=True)
        ]
        total = sum(shares)
        weighted = [(i, share / total) for i, share in enumerate(shares) if share]
        return int(self._draw(weighted, 1)[0])

    def accept(self, penalties: IntArray, rate: Fraction) -> BoolArray:
        gammas = [positive(rate, "rate") * k for k in fined(penalties).tolist()]
        drawn = [self.bernoulli_exp(gamma, 1)[0] for gamma in gammas]
        return np.array(drawn, dtype=np.bool_)

    def truncated_laplace(self, scale: Fraction, within: int, size: Shape) -> IntArray:
        most = truncation(within, positive(scale, "scale"))
        values = range(-whole(most, "within", low=1, high=MOST_OPTIONS), 0)
        rate = _power(1 / scale, "1 / scale")
        shares = [(k, Fraction(1, 2 ** (rate * -k))) for k in values]
        shares += [(0, Fraction(1)), *((-k, share) for k, share in reversed(shares))]
        total = sum(share for _, share in shares)
        return self._draw([(k, share / total) for k, share in shares], size)

    def _draw(self, possible: Weighted, size: Shape) -> IntArray:
        """One of the values a number, each of which has some chance."""
        drawn = []
        for _ in range(count_of(size)):
            place = len(self.choices)
            choice = self._given[place] if place < len(self._given) else 0
            value, chance = possible[choice]
            self.choices.append(choice)
            self.options.append(len(possible))
            self._top *= chance.numerator
            self._bottom *= chance.denominator
            drawn.append(value)
        return np.array(drawn, dtype=np.int64).reshape(size)


def _power(exponent: Fraction, name: str) -> int:
    """A whole exponent, without which a power of 2 would not be a fraction."""
    if exponent.denominator != 1:
        raise BadInput(
            f"An enumeration needs a whole {name}. Got {exponent} instead.",
            why="only whole powers of 2 are exact fractions",
            tip="an epsilon that makes it whole, such as a multiple of the number of levels",
        )
    return int(exponent)


@cache
def _coin(p: Fraction) -> Weighted:
    return tuple((side, chance) for side, chance in ((0, 1 - p), (1, p)) if chance)


@cache
def _uniform(n: int) -> Weighted:
    return tuple((i, Fraction(1, n)) for i in range(n))


@cache
def _wrapped_laplace(modulus: int, scale: Fraction) -> Weighted:
    """The discrete Laplace law in base 2, modulo the modulus: all turns k + j m summed."""
    base = Fraction(1, 2 ** _power(1 / scale, "1 / scale"))
    half = modulus // 2
    values = range(-half, half + 1)
    weights = [base ** abs(k) + base ** (modulus - abs(k)) for k in values]
    total = sum(weights)
    return tuple((k, weight / total) for k, weight in zip(values, weights, strict=True))
