"""How likely the noise of a Honaker counter is to leave a band at some step.

Theorem      Give the noise x before a block.  Inside it the noise is x plus estimates of smaller
             blocks, after it x plus the block's own estimate, which depends on those.  But the law
             of each is known: so P(leaves) <= P(leaves inside) + P(leaves after), and each is
             found from smaller blocks in the same way, by the recursion of ``confined``.  Where
             leaving is rare, little is lost: for independent parts the product of both
Lattice      an estimate E is c W + R with W the nearest integer to E / c.  R is symmetric, at
             most c / 2 in size, and independent of that of other blocks: Hoeffding's bound and
             a union bound over the steps, for a thousandth of beta, or c / 2 for each of them
Error        the tails of W by ``contour``: those of continuous variables, for scales of 1 or more;
             one is added for the lattice and the rounding of releases, as in ``mixture``
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from ameles.mechanisms.laplace.confined import Band, Floats, Walk
from ameles.mechanisms.laplace.contour import Sums
from ameles.mechanisms.laplace.mixture import LaplacePart

# The integers on each side of the band: coarser than for laws of whole numbers.
MOST = 1 << 8
# Below this, what is left of a probability after transforms is not precise enough.
SMALLEST_BETA = 1e-9


class EstimateBand(Band):
    """The integers from -m to m; a noise is an estimate, which is not whole."""

    @classmethod
    def lattice(cls, high: int) -> int:
        return max(2, math.ceil(high / MOST))

    @classmethod
    def residual(cls, scale: Fraction, coarse: int, terms: int, level: float) -> float:
        return min(coarse * math.sqrt(terms * level / 2), terms * coarse / 2)


def estimates_bound(
    estimates: Sequence[Sequence[LaplacePart]],
    arity: int,
    digits: Sequence[int],
    *,
    steps: int,
    beta: float,
    high: int,
) -> int:
    """A bound for all steps, at most ``high``, which is another one.

    It is told of each level the parts of an estimate, and the digits of the steps.
    """
    # parts of a count, so that the lattice is fine for small bounds too
    fine = max(1, math.ceil(2 * MOST / (high + 1)))
    top = high * fine
    coarse = EstimateBand.lattice(top)
    tails = [_tails(parts, coarse / fine, 2 * -(-top // coarse) + 2) for parts in estimates]

    def leaving(band: Band) -> Floats:
        inside = after = band.inside
        for digit, law in zip(digits, tails, strict=True):
            then = partial(_then, law[: 2 * band.m + 2])
            for _ in range(digit):
                after = np.minimum(inside + then(after), 1.0)
            block = inside
            for _ in range(arity - 1):
                block = np.minimum(inside + then(block), 1.0)
            inside = block
        return after

    terms = (arity - 1) * len(digits)
    scales = frozenset((estimates[0][0].scale,))
    found = Walk(leaving, steps, terms, scales, EstimateBand).bound(beta, top)
    return min(high, math.ceil(found / fine) + 1)


def _then(tails: Floats, leaving: Floats) -> Floats:
    """One more estimate, with P(W >= k) = tails[k], and then leaving."""
    count = len(leaving)
    law = tails[:-1] - tails[1:]
    law[0] = 1 - 2 * tails[1]
    size = 1 << (3 * count).bit_length()
    both = np.fft.rfft(np.concatenate([law[:0:-1], law]), size)
    moved = np.fft.irfft(np.fft.rfft(leaving, size) * both, size)
    found: Floats = np.maximum(moved[count - 1 : 2 * count - 1], 0.0)
    found += tails[1:] + tails[:0:-1]
    return np.minimum(found, 1.0)


def _tails(parts: Sequence[LaplacePart], coarse: float, count: int) -> Floats:
    """P(W >= k) for each k from 0 on."""
    widths = np.array([[float(part.scale) * part.weight for part in parts]])
    counts = np.array([[float(part.count) for part in parts]])
    x: Floats = (np.arange(1, count, dtype=np.float64) - 0.5) * coarse
    rows = len(x)
    sums = Sums(np.repeat(widths, rows, axis=0), np.repeat(counts, rows, axis=0), lattice=False)
    return np.concatenate([[1.0], sums.tails(x) / 2])
