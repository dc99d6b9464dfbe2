"""Gradient counter: running sums of vectors, whose length one unit changes by a bounded amount.

Theorem      as ``buffered``; the discrete Gaussian hides a change of bounded length in L2, whatever
             its direction (Canonne-Kamath-Steinke 2020).  If a unit changes step s by a vector v_s
             of length at most b, the encoding moves by the sum of C_s times v_s over all s.  The
             square of its length is the sum of <C_s, C_u> <v_s, v_u>, at most that of
             |<C_s, C_u>| b^2: the number that ``buffered`` has for changes of one count
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` in L2 each
Noise        as ``buffered``
Error        as ``buffered``, for each number
Memory       as ``buffered``

Other counters promise to hide a change that is bounded in L1, as counts are.  A gradient that is
clipped in L1 is shorter, by up to the root of its number of features.

>>> from ameles.noise import Zero
>>> recipe = GradientCounter(epsilon=1, delta=1e-6, horizon=8, width=2, bound=5)
>>> print(recipe.guarantee)
epsilon 1, delta 1e-06 for one event: streams that differ in 1 step by at most 5 (L2), over 8 steps
>>> recipe.start(Zero()).step([3, -4])
array([ 3, -4])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ameles.core.guarantee import Norm
from ameles.mechanisms.counters.gaussian.buffered import BufferedCounter


@dataclass(frozen=True, kw_only=True)
class GradientCounter(BufferedCounter):
    """A buffered counter of vectors whose length is bounded in L2."""

    choosable: ClassVar[bool] = False
    norm: ClassVar[Norm] = Norm.L2
