"""The source of randomness of a mechanism, and the arrays that it gives.

All randomness reaches a run through one ``Noise``, so a test can replace it: by zeros to
see the truth, by an impulse to see one column of the noise matrix, or by every tape in
turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    IntArray: TypeAlias = NDArray[np.int64]
    BoolArray: TypeAlias = NDArray[np.bool_]
    FloatArray: TypeAlias = NDArray[np.float64]

Shape: TypeAlias = int | tuple[int, ...]


class Noise(Protocol):
    """The only source of randomness of a mechanism.

    ``genuine`` is true if draws come from the operating system and not from a test.  Then their
    order is no part of their law, and several threads may draw at the same time.
    ``forgetful`` is true if no past or future draw can be computed from what is in memory; state
    that may be seized needs such noise.
    """

    @property
    def genuine(self) -> bool: ...
    @property
    def forgetful(self) -> bool: ...

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        """Integers k with probability proportional to exp(-|k| / scale)."""
        ...

    def gaussian(self, variance: Fraction, size: Shape) -> IntArray:
        """Integers k with probability proportional to exp(-k**2 / (2 * variance))."""
        ...

    def bernoulli(self, p: Fraction, size: Shape) -> BoolArray:
        """True with probability p."""
        ...

    def bernoulli_exp(self, gamma: Fraction, size: Shape) -> BoolArray:
        """True with probability exp(-gamma)."""
        ...

    def uniform(self, n: int, size: Shape) -> IntArray:
        """Uniform integers from 0 to n - 1."""
        ...

    def choose(self, gammas: Sequence[Fraction]) -> int:
        """An index i with probability proportional to exp(-gammas[i])."""
        ...

    def pick(self, penalties: IntArray, rate: Fraction, weights: IntArray | None = None) -> int:
        """An index i with probability proportional to weights[i] * exp(-rate * penalties[i]).

        For many candidates: the penalties are one array, and so are the weights, if given.
        """
        ...

    def accept(self, penalties: IntArray, rate: Fraction) -> BoolArray:
        """For each penalty a coin that is true with probability exp(-rate * penalty)."""
        ...

    def truncated_laplace(self, scale: Fraction, within: int, size: Shape) -> IntArray:
        """Integers k from -within to within, with probability proportional to exp(-|k| / scale).

        ``within`` is at least the scale.
        """
        ...
