"""The code of encoded counters as the audit runs it, and the parts that their steps have.

The encoded value of a step is P = 2^s (running sum) + F(z), where F filters the noise z, and the
release is P, rounded.  A counter with a horizon is one part: one filter.  A segmented counter is
cut into parts.  The last step of a part has no filtered noise: it shows the running sum with one
noise for the total of each part so far.  Later steps are hidden by these totals and by the filter
of their own part.  The audit checks that the code has these parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from operator import mul
from typing import TypeAlias, TypeGuard

import numpy as np

from ameles.audit.hiding_shift import DIGITS, ONE, FilterColumn
from ameles.audit.observation import NotLinear
from ameles.audit.patterns import MIXED
from ameles.core.noise import Shape
from ameles.mechanisms.counters.gaussian.encoded import EncodedCounter
from ameles.mechanisms.counters.gaussian.segments import SegmentedCounter
from ameles.mechanisms.counters.summed import Process
from ameles.noise import Tape
from ameles.noise.arrays import BoolArray, IntArray

Encoded: TypeAlias = EncodedCounter | SegmentedCounter
# One row a step, one column a counter; integers of any size.
Rows: TypeAlias = list[list[int]]

# A column is read twice, the second time with more digits.  Roundings may have changed this many
# of the last digits; if none changes, the column is exact.
_MORE_DIGITS, _SPOILT = 64, 40


def encodes(recipe: object) -> TypeGuard[Encoded]:
    """Whether a recipe is audited as an encoded counter."""
    return isinstance(recipe, EncodedCounter | SegmentedCounter)


@dataclass(frozen=True)
class Part:
    """Steps with one filter of the noise, and the step that shows their total if there is one."""

    start: int  # the steps before it
    inside: int  # its steps with filtered noise
    closed: bool  # whether the step after those belongs to it
    bits: int  # s of its grid
    units: tuple[int, ...]  # what a count adds at each of its filtered steps, on that grid
    allowance: Fraction  # what roundings may add to the shift, in L2 and in units of the grid

    @property
    def steps(self) -> int:
        """All its steps."""
        return self.inside + self.closed

    @property
    def even(self) -> bool:
        """Whether a count adds 2^s units at each of its steps."""
        return set(self.units) <= {1 << self.bits}

    @property
    def last(self) -> int:
        """The step after the filtered ones, counted from 0."""
        return self.start + self.inside


def parts_of(recipe: Encoded, steps: int) -> list[Part]:
    """The parts of the first ``steps`` steps, as the recipe's public numbers say."""
    if isinstance(recipe, EncodedCounter):
        units = tuple(recipe.units(steps))
        if len(units) != steps or min(units) < 1:
            raise NotLinear("a count adds nothing to an encoded value")
        return [Part(0, steps, False, recipe.encoding.bits, units, recipe.allowance)]
    parts: list[Part] = []
    while (start := recipe.cuts.before(len(parts))) < steps:
        segment = len(parts)
        inside = min(recipe.cuts.inside(segment), steps - start)
        bits = recipe.encoding(segment).bits
        closed = start + inside < steps
        units = (1 << bits,) * inside
        parts.append(Part(start, inside, closed, bits, units, recipe.allowance(segment)))
    return parts


def added_to(recipe: Encoded, parts: Sequence[Part], inputs: Rows) -> Rows:
    """What inputs add to the encoded values, in units of each step's grid."""
    keys = recipe.columns
    if isinstance(recipe, EncodedCounter):
        [part] = parts
        added = [0] * keys
        rows: Rows = []
        for row, unit in zip(inputs, part.units, strict=True):
            added = [total + unit * x for total, x in zip(added, row, strict=True)]
            rows.append(added)
        return rows
    # each part has a grid of its own, on which the whole running sum is shown
    units = [unit for part in parts for unit in (*part.units, *[1] * part.closed)]
    totals = [list(accumulate(column)) for column in zip(*inputs, strict=True)]
    return [
        [unit * total for total in row]
        for row, unit in zip(zip(*totals, strict=True), units, strict=True)
    ]


def released(recipe: Encoded, parts: Sequence[Part], encoded: Rows) -> list[int]:
    """The counts that these encoded values stand for, one after the other."""
    if isinstance(recipe, EncodedCounter):
        rows = recipe.decoder().decode(np.array(encoded, dtype=object))
        return [int(count) for count in rows.ravel()]
    grids = [bits for part in parts for bits in [part.bits] * part.inside + [0] * part.closed]
    return [
        (value + (1 << bits >> 1)) >> bits
        for row, bits in zip(encoded, grids, strict=True)
        for value in row
    ]


class GaussianScript:
    """Gaussian draws from a list that may grow, then zeros; of words, or integers of any size."""

    genuine = False
    forgetful = True

    def __init__(self, values: Sequence[int] = (), *, words: bool = False) -> None:
        self.values = list(values)
        self._kind = np.int64 if words else object

    def gaussian(self, variance: Fraction, size: Shape) -> IntArray:
        count = math.prod(size if isinstance(size, tuple) else (size,))
        taken, self.values = self.values[:count], self.values[count:]
        drawn = np.array([*taken, *[0] * (count - len(taken))], dtype=self._kind)
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

    def truncated_laplace(self, scale: Fraction, within: int, size: Shape) -> IntArray:
        raise NotLinear("an encoded counter draws from another law")


def _endless(recipe: Encoded, draws: Sequence[int]) -> Process:
    """The recipe's noise process, with integers of any size."""
    fresh = recipe.process(GaussianScript(), None).state().astype(object)
    return recipe.process(GaussianScript(draws), fresh)


def encode(process: object, steps: int) -> Rows:
    """The noise of the next encoded values."""
    show = getattr(process, "encode", None)
    if show is None:
        raise NotLinear("its noise does not show its encoded values")
    return [[int(value) for value in row] for row in np.asarray(show(steps)).tolist()]


def variances_of(recipe: Encoded, parts: Sequence[Part]) -> list[tuple[Fraction, Fraction | None]]:
    """For each part the variance of its filtered draws and of its total's, as the tape has them."""
    steps, columns = sum(part.steps for part in parts), recipe.columns
    tape = Tape()
    recipe.start(tape).feed(shaped(recipe, [0] * (steps * columns)))
    laws = tape.laws
    if len(laws) != steps * columns or any(law != "gaussian" for law, _ in laws):
        raise NotLinear("an encoded counter draws from another law")
    scales = [scale for _, scale in laws]
    variances: list[tuple[Fraction, Fraction | None]] = []
    for part in parts:
        inside = set(scales[part.start * columns : part.last * columns])
        total = set(scales[part.last * columns : (part.start + part.steps) * columns])
        if len(inside) != 1 or len(total) != part.closed:
            raise NotLinear("the draws of one filter are not of one law")
        filtered, closing = inside.pop(), total.pop() if total else None
        if not isinstance(filtered, Fraction) or not isinstance(closing, Fraction | None):
            raise NotLinear("an encoded counter draws from another law")
        variances.append((filtered, closing))
    return variances


def shaped(recipe: Encoded, numbers: Sequence[int]) -> IntArray:
    """Inputs in the shape that ``feed`` takes."""
    array = np.array(numbers, dtype=np.int64)
    return array if recipe.width is None else array.reshape(-1, recipe.columns)


def columns_of(recipe: Encoded, parts: Sequence[Part]) -> list[FilterColumn]:
    """The column of each part's filter; raises NotLinear if the code does not have these parts."""
    columns = [_column(recipe, part) for part in parts]
    _check_mixture(recipe, parts, columns)
    return columns


def _column(recipe: Encoded, part: Part) -> FilterColumn:
    """The answer to a one at the first step of a part."""

    def answer(digits: int) -> list[int]:
        draws = [0] * (part.start * recipe.columns) + [1 << digits]
        return [row[0] for row in encode(_endless(recipe, draws), part.last)[part.start :]]

    shown, finer = answer(DIGITS), answer(DIGITS + _MORE_DIGITS)
    if shown[0] != ONE:
        raise NotLinear("a draw is not in its own release with weight one")
    off = max(abs((a << _MORE_DIGITS) - b) for a, b in zip(shown, finer, strict=True))
    if off >> _MORE_DIGITS >= 1 << _SPOILT - 1:
        raise NotLinear("the filter of the noise is not linear")
    return FilterColumn(tuple(shown), 1 << _SPOILT if off else 0)


def _check_mixture(recipe: Encoded, parts: Sequence[Part], columns: Sequence[FilterColumn]) -> None:
    """Checks that all draws at once, each with its own weight, show the sum of their columns.

    Each mixture misses a wrong column with probability at most 2^-20.
    """
    keys, steps = recipe.columns, sum(part.steps for part in parts)
    for pattern in MIXED:
        weights = np.array([pattern.draw(i, 1) for i in range(steps * keys)]).reshape(steps, keys)
        draws = [int(weight) << DIGITS for weight in weights.ravel()]
        seen = encode(_endless(recipe, draws), steps)
        room = (steps << 20) * (1 << _SPOILT)
        for key in range(keys):
            expected = _mixed(parts, columns, weights[:, key].tolist())
            if any(abs(row[key] - value) > room for row, value in zip(seen, expected, strict=True)):
                raise NotLinear("the filter of the noise changes with the steps")


def _mixed(
    parts: Sequence[Part], columns: Sequence[FilterColumn], weights: Sequence[int]
) -> list[int]:
    """What draws of these sizes should show."""
    expected: list[int] = []
    totals = 0
    for part, column in zip(parts, columns, strict=True):
        own = weights[part.start : part.last]
        backwards = column.values[::-1]
        for t in range(part.inside):
            filtered = sum(map(mul, own, backwards[part.inside - 1 - t :]))
            expected.append(filtered + (totals << DIGITS + part.bits))
        if part.closed:
            totals += weights[part.last]
            expected.append(totals << DIGITS)
    return expected
