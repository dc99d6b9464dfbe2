"""Budget allocation: how to share one epsilon among several questions (catalogue 46).

Theorem      for questions with sensitivities D_i and weights w_i, the weighted sum of
             variances, the sum of 2 w_i D_i^2 / epsilon_i^2, is smallest at epsilon_i in proportion
             to (w_i D_i^2)^(1/3); the largest error is smallest at epsilon_i in proportion to D_i
Rounding     cube roots are rounded to 12 digits; the shares are fractions that sum to epsilon

If nobody knows how many questions there will be, ``geometric_shares`` gives each of them a half, or
another ratio, of what is left.

>>> by_weights(epsilon=1, sensitivities=[1, 8])
[Fraction(1, 5), Fraction(4, 5)]
>>> by_largest_error(epsilon=1, sensitivities=[1, 8])
[Fraction(1, 9), Fraction(8, 9)]
>>> from itertools import islice
>>> [str(share) for share in islice(geometric_shares(epsilon=1), 3)]
['1/2', '1/4', '1/8']
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from ameles.core.exceptions import BadInput
from ameles.core.parameters import Exact, exact, refuse

DIGITS = 12


def by_weights(
    *, epsilon: Exact, sensitivities: Sequence[Exact], weights: Sequence[Exact] | None = None
) -> list[Fraction]:
    """The epsilons with which the weighted sum of the variances is smallest.

    >>> by_weights(epsilon="0.3", sensitivities=[1, 1], weights=[1, 8])
    [Fraction(1, 10), Fraction(1, 5)]
    """
    sizes = _positive(sensitivities, "sensitivities")
    importances = [Fraction(1)] * len(sizes) if weights is None else _positive(weights, "weights")
    if len(importances) != len(sizes):
        raise refuse("weights", f"{len(sizes)} numbers", f"{len(importances)} of them")
    roots = [_cube_root(w * size**2) for w, size in zip(importances, sizes, strict=True)]
    return _shared(epsilon, roots)


def by_largest_error(*, epsilon: Exact, sensitivities: Sequence[Exact]) -> list[Fraction]:
    """The epsilons with which all errors are equal, so that the largest is smallest.

    >>> by_largest_error(epsilon=1, sensitivities=[1, 3])
    [Fraction(1, 4), Fraction(3, 4)]
    """
    return _shared(epsilon, _positive(sensitivities, "sensitivities"))


def geometric_shares(*, epsilon: Exact, ratio: Exact = Fraction(1, 2)) -> Iterator[Fraction]:
    """An endless series of epsilons that sum to at most ``epsilon``: each is ``ratio`` of the rest.

    >>> from itertools import islice
    >>> [str(share) for share in islice(geometric_shares(epsilon=1, ratio="1/3"), 3)]
    ['1/3', '2/9', '4/27']
    """
    part = exact(ratio, "ratio")
    if not 0 < part < 1:
        raise refuse("ratio", "above 0 and below 1", ratio)
    return _halving(_total(epsilon), part)


def _halving(left: Fraction, part: Fraction) -> Iterator[Fraction]:
    while True:
        yield left * part
        left -= left * part


def _shared(epsilon: Exact, parts: Sequence[Fraction]) -> list[Fraction]:
    total, whole = _total(epsilon), sum(parts, Fraction(0))
    return [total * part / whole for part in parts]


def _total(epsilon: Exact) -> Fraction:
    total = exact(epsilon, "epsilon")
    if total <= 0:
        raise refuse("epsilon", "above 0", epsilon)
    return total


def _positive(numbers: Sequence[Exact], name: str) -> list[Fraction]:
    fractions = [exact(number, name) for number in numbers]
    if not fractions or min(fractions) <= 0:
        raise BadInput(f"The '{name}' must be numbers above 0, one for each question.")
    return fractions


def _cube_root(number: Fraction) -> Fraction:
    """The cube root, rounded down to about 12 significant digits."""
    size = (number.numerator.bit_length() - number.denominator.bit_length()) * 3 // 10
    shift = max(0, DIGITS - size // 3)
    target = number.numerator * 10 ** (3 * shift) // number.denominator
    low, high = 0, 1 << (target.bit_length() // 3 + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**3 <= target else (low, middle)
    return Fraction(low, 10**shift)
