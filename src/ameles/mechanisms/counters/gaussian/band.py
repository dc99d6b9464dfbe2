"""How likely Gaussian noise is to leave a band at some step: the recursion of ``confined``.

Theorem      that of ``confined``: it does not depend on the law of the noise
Error        the law is exact if the lattice is not coarse; the bound is then the smallest integer
Coarse       if the noise is large, Z = c W + R with W the nearest integer to Z / c and c odd.  W is
             exactly a rounded normal variable, up to a factor of exp(1 / 24 v) that is paid (see
             ``gaussian.error``, b).  The R of different noises are independent, symmetric and
             at most (c - 1) / 2 in size: what they add at any step is bounded by Hoeffding's
             bound and a union bound, for a thousandth of beta.  W and R need not be independent

>>> band = GaussianBand(3, 1)
>>> round(float(band.then(Fraction(1), band.inside)[3]), 6)  # P(|Z| > 3)
0.000271
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.mechanisms.laplace.confined import Band, Floats

Complex: TypeAlias = NDArray[np.complex128]
# A band of more integers on each side is computed on a coarser lattice.
MOST = 1 << 9
# Below this, what is left of a probability after transforms is not precise enough.
SMALLEST_BETA = 1e-9
# Beyond so many deviations there is nothing that counts.
FAR = 40


class GaussianBand(Band):
    """The integers from -m to m; a noise is known by its parameter, the variance."""

    def __init__(self, m: int, coarse: int) -> None:
        super().__init__(m, coarse)
        self._size = 1 << (6 * m + 2).bit_length()
        self._gaussians: dict[Fraction, tuple[Complex, Floats]] = {}

    @classmethod
    def lattice(cls, high: int) -> int:
        return max(1, math.ceil(high / MOST)) | 1

    @classmethod
    def residual(cls, scale: Fraction, coarse: int, terms: int, level: float) -> float:
        likely = (coarse - 1) * math.sqrt(terms * level / 2)
        return min(likely, terms * (coarse - 1) / 2)

    def then(self, scale: Fraction, leaving: Floats) -> Floats:
        """One more noise of this parameter, and then leaving with the given probability."""
        transform, out = self._law(scale)
        moved = np.fft.irfft(np.fft.rfft(leaving, self._size) * transform, self._size)
        found: Floats = np.maximum(moved[2 * self.m : 4 * self.m + 1], 0.0) + out
        return found

    def _law(self, parameter: Fraction) -> tuple[Complex, Floats]:
        """The transform of the probabilities, and the probability to leave by one noise."""
        if parameter not in self._gaussians:
            tails, factor = self._tails(float(parameter))
            law = tails[:-1] - tails[1:]
            law[0] = 1 - 2 * tails[1]
            both = np.concatenate([law[:0:-1], law]) * factor
            away = tails[1:] * factor
            self._gaussians[parameter] = np.fft.rfft(both, self._size), away + away[::-1]
        return self._gaussians[parameter]

    def _tails(self, parameter: float) -> tuple[Floats, float]:
        """P(W >= k) for k = 0, ..., 2 m + 1, up to a factor."""
        count = 2 * self.m + 2
        if self._coarse > 1:
            unit = self._coarse / math.sqrt(2 * parameter)
            far = np.array([math.erfc((k - 0.5) * unit) / 2 for k in range(count)])
            return far, math.exp(1 / (24 * parameter))
        k = np.arange(count + math.ceil(FAR * math.sqrt(parameter)), dtype=np.float64)
        weights = np.exp(-(k**2) / (2 * parameter))
        tails: Floats = np.cumsum(weights[::-1])[::-1] / (2 * weights.sum() - 1)
        return tails[:count], 1.0
