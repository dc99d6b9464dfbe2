"""The bits of users who were seen: fair coins until then, biased ones after.

Theorem      a bit that is fair for the absent and 1 with probability 1/2 + gamma for the present
             loses epsilon, if gamma is (catalogue 23; the source's 1/2 + epsilon loses more)
               presence      (1 - exp(-epsilon)) / 2
               substitution  tanh(epsilon / 2) / 2, since two users' bits move at once
Noise        presence: the bit is 0 if two coins agree on it, one of exp(-epsilon), one fair:
               P(0) = exp(-epsilon) / 2 = 1/2 - gamma
             substitution: the bit is 0 if a discrete Laplace k of scale 1 / epsilon is above 0;
             with q = exp(-epsilon) its weights are q^|k|, so that
               P(0) = (q + q^2 + ...) / (1 + 2 q + 2 q^2 + ...) = q / (1 + q) = 1/2 - gamma

Both biases are irrational, both coins exact: floats meet gamma only in the estimate.

>>> from ameles.noise import Zero
>>> biased_bits(Zero(), Neighbours.USER_PRESENCE, Fraction(1), 3)
array([1, 1, 1], dtype=uint8)
>>> round(bias(Neighbours.USER_PRESENCE, 0.5), 4), round(bias(Neighbours.USER_SUBSTITUTION, 0.5), 4)
(0.1967, 0.1225)
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.core.guarantee import Neighbours
from ameles.core.noise import Noise
from ameles.mechanisms.pan_private.erase import moved, wipe

Bits: TypeAlias = NDArray[np.uint8]


def bias(neighbours: Neighbours, epsilon: float) -> float:
    """How far from 1/2 the bits of the present are: gamma, for estimates."""
    if neighbours is Neighbours.USER_PRESENCE:
        return -math.expm1(-epsilon) / 2
    return math.tanh(epsilon / 2) / 2


def fair_bits(noise: Noise, count: int) -> Bits:
    """Bits of users who have not been seen: eight from each uniform byte."""
    whole, rest = divmod(count, 8)
    packed = np.empty(whole + 1, dtype=np.uint8)
    moved(packed[:whole], noise.uniform(256, whole))
    moved(packed[whole:], noise.uniform(1 << rest, 1))
    bits = np.unpackbits(packed, count=count, bitorder="little")
    wipe(packed)
    return bits


def biased_bits(noise: Noise, neighbours: Neighbours, epsilon: Fraction, count: int) -> Bits:
    """Bits of users who have just been seen: 1 with probability exactly 1/2 + gamma."""
    if neighbours is Neighbours.USER_PRESENCE:
        zero = noise.bernoulli_exp(epsilon, count)
        fair = fair_bits(noise, count)
        zero &= fair.view(np.bool_)
        wipe(fair)
    else:
        drawn = noise.laplace(1 / epsilon, count)
        zero = drawn > 0
        wipe(drawn)
    return np.logical_not(zero, out=zero).view(np.uint8)
