"""The loss of encoded counters: the columns of their encoder, read off from the real code.

An encoded counter releases whole counts, rounded from P = 2^s (running sum) + F(z), where F filters
the noise z with roundings on the way.  P is what is audited; the releases are a rounding of it.

Columns      an impulse of 2^k on the tape, in integers that have no end, shows a column of the
             filter B; k grows until 64 more bits show nothing new, so that the column is exact
Shift        F without its roundings is B, so the shift that hides a change by one at a step is
             e = 2^s C d, where B C = A.  B has ones on its diagonal: e is unique
From above   with roundings the shift is e + r.  The recipe's theorem says that |r| is at most its
             ``allowance`` R, so rho is at most (|e| + R)^2 / (2 v) for draws of variance v
From below   given earlier values, P(t) is a discrete Gaussian around an integer, so the divergence
             of order 1, which rho bounds, is the mean of |e + r|^2 / (2 v): at least
             (|e| - R)^2 / (2 v)
The probe    on noises of several kinds the exact e + r is solved for, step by step, with the real
             code: r must be within R, and with shifted noise the releases must be the neighbour's
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeGuard

import numpy as np

from ameles.audit.finding import Amount
from ameles.audit.observation import NotLinear
from ameles.audit.patterns import PATTERNS
from ameles.core.noise import Shape
from ameles.mechanisms.counters.encoded import EncodedCounter, root_up
from ameles.noise import Tape
from ameles.noise.arrays import BoolArray, IntArray

HOW = "its encoder's columns, exact, and the roundings that its theorem allows, probed"
_FIRST_BITS, _MORE_BITS, _MOST_BITS = 64, 64, 1 << 17
_PROBED = 4  # steps, evenly apart, for each pattern of noise


@dataclass(frozen=True)
class Bounds:
    """Bounds on rho for a change of one step by the recipe's bound: the first step is worst."""

    lower: Amount
    upper: Amount


def encodes(recipe: object) -> TypeGuard[EncodedCounter]:
    """Whether this is the way to audit a recipe."""
    return isinstance(recipe, EncodedCounter) and recipe.contributions == 1


def encoded_bounds(recipe: EncodedCounter, steps: int) -> Bounds:
    """What is proved of rho; raises NotLinear where the code is no such filter."""
    shift = _hiding(_column(recipe, steps), recipe.encoding.bits)
    allowance = recipe.allowance
    _probe(recipe, shift, allowance)
    square = sum((e * e for e in shift), Fraction(0)) * recipe.bound**2
    variance = _variance(recipe, steps)
    below = max(Fraction(0), _root_down(square) - allowance)
    return Bounds(
        lower=below**2 / (2 * variance), upper=(root_up(square) + allowance) ** 2 / (2 * variance)
    )


class _Script:
    """Gaussian draws from a script of integers of any size; then zeros."""

    genuine = False
    forgetful = True

    def __init__(self, values: Sequence[int]) -> None:
        self._values = list(values)

    def gaussian(self, variance: Fraction, size: Shape) -> IntArray:
        count = math.prod(size if isinstance(size, tuple) else (size,))
        taken, self._values = self._values[:count], self._values[count:]
        drawn = np.array([*taken, *[0] * (count - len(taken))], dtype=object)
        return drawn.reshape(size)

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        raise NotLinear("an encoded counter draws from another law")

    def bernoulli(self, p: Fraction, size: Shape) -> BoolArray:
        raise NotLinear("an encoded counter draws from another law")

    def bernoulli_exp(self, gamma: Fraction, size: Shape) -> BoolArray:
        raise NotLinear("an encoded counter draws from another law")

    def uniform(self, n: int, size: Shape) -> IntArray:
        raise NotLinear("an encoded counter draws from another law")

    def choose(self, gammas: Sequence[Fraction]) -> int:
        raise NotLinear("an encoded counter draws from another law")

    def pick(self, penalties: IntArray, rate: Fraction, weights: IntArray | None = None) -> int:
        raise NotLinear("an encoded counter draws from another law")

    def accept(self, penalties: IntArray, rate: Fraction) -> BoolArray:
        raise NotLinear("an encoded counter draws from another law")


def _filtered(recipe: EncodedCounter, draws: Sequence[int], steps: int) -> list[int]:
    """F of these draws, however large they are."""
    fresh = recipe.process(_Script(()), None).state().astype(object)
    return _encode(recipe.process(_Script(draws), fresh), steps)


def _encode(process: object, steps: int) -> list[int]:
    encode = getattr(process, "encode", None)
    if encode is None:
        raise NotLinear("its noise does not show its encoded values")
    return [int(value) for value in np.asarray(encode(steps)).ravel()]


def _column(recipe: EncodedCounter, steps: int) -> list[Fraction]:
    """The filter's answer to a one at the first step; at later steps it must be the same."""
    bits = _FIRST_BITS
    while True:
        shown = _filtered(recipe, [1 << bits], steps)
        finer = _filtered(recipe, [1 << bits + _MORE_BITS], steps)
        if finer == [value << _MORE_BITS for value in shown]:
            break
        bits *= 2
        if bits > _MOST_BITS:
            raise NotLinear("the filter of the noise is not linear, or has no end of digits")
    for step in range(1, steps):
        later = _filtered(recipe, [0] * step + [1 << bits], steps)
        if later != [0] * step + shown[: steps - step]:
            raise NotLinear("the filter of the noise changes with the steps")
    if shown[0] != 1 << bits:
        raise NotLinear("a draw is not in its own release with weight one")
    return [Fraction(value, 1 << bits) for value in shown]


def _hiding(column: Sequence[Fraction], bits: int) -> list[Fraction]:
    """The e with B e = 2^s A d, for a change of the first step by one."""
    shift: list[Fraction] = []
    for t in range(len(column)):
        past = (column[j] * shift[t - j] for j in range(1, t + 1))
        shift.append((1 << bits) - sum(past, Fraction(0)))
    return shift


def _variance(recipe: EncodedCounter, steps: int) -> Fraction:
    """That of the draws, as the tape has it."""
    tape = Tape()
    recipe.start(tape).feed([0] * steps)
    laws = set(tape.laws)
    if len(laws) != 1 or next(iter(laws))[0] != "gaussian":
        raise NotLinear("an encoded counter draws from another law")
    _, variance = laws.pop()
    if not isinstance(variance, Fraction):
        raise NotLinear("an encoded counter draws from another law")
    return variance


def _root_down(square: Fraction) -> Fraction:
    return Fraction(math.isqrt((square.numerator << 256) // square.denominator), 1 << 128)


def _probe(recipe: EncodedCounter, shift: Sequence[Fraction], allowance: Fraction) -> None:
    """The exact shifts on noises of several kinds, and the releases that they hide."""
    steps, unit = len(shift), 1 << recipe.encoding.bits
    law = [("gaussian", _variance(recipe, steps))] * steps
    for pattern in PATTERNS:
        draws, inputs = pattern.draws(law), pattern.inputs(steps)
        encoded = _encode(recipe.process(Tape(draws), None), steps)
        shown = recipe.start(Tape(draws)).feed(inputs).tolist()
        totals = np.cumsum(inputs).tolist()
        half = unit >> 1
        pairs = zip(totals, encoded, strict=True)
        if shown != [total + ((value + half) // unit) for total, value in pairs]:
            raise NotLinear("the releases are not those of the encoded values")
        for step in range(0, steps, -(-steps // _PROBED)):
            shifted = list(draws)
            for t in range(step, steps):
                now = _encode(recipe.process(Tape(shifted[: t + 1]), None), t + 1)[t]
                shifted[t] += encoded[t] - unit - now
            moved = [new - old for new, old in zip(shifted, draws, strict=True)][step:]
            off = sum(((e + f) ** 2 for e, f in zip(moved, shift, strict=False)), Fraction(0))
            if off > allowance**2:
                raise NotLinear("roundings move the encoded values by more than it allows for")
            neighbour = [x + (s == step) for s, x in enumerate(inputs)]
            if recipe.start(Tape(shifted)).feed(neighbour).tolist() != shown:
                raise NotLinear("shifted noise does not show what the neighbour shows")
