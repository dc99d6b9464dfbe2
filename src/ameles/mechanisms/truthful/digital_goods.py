"""Digital goods auction: one price for everybody, chosen privately to raise money.

Theorem      McSherry-Talwar 2007, section 4.1 (catalogue 39, 57).  Everybody who bid at least the
             price buys.  A price p is chosen with weight exp(epsilon p N(p)), N(p) the number of
             bids of at least p: a higher bid raises N(p) or leaves it, at every price, so the usual
             factor 1/2 is not needed.  A lie gains at most tanh(epsilon / 2); t agents who lie
             together gain at most tanh(t epsilon / 2) each
Neighbours   one agent bids something else
Noise        one exact choice among the prices
Error        the money raised is below the best price's by at most the exponential mechanism's bound
Memory       nothing is kept

The price is public.  Who buys is known to the seller, and is not protected.

>>> from ameles.noise import Zero
>>> recipe = DigitalGoodsAuction(epsilon=1, agents=4, prices=10, neighbours="replace")
>>> recipe.start(Zero()).step([9, 8, 2, 1])  # 8/10: two buyers, 16/10 raised
8
>>> round(recipe.group_gain(3), 3)
0.905
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Whole, whole
from ameles.mechanisms.one_shot.selection import ExponentialError
from ameles.mechanisms.truthful.reports import (
    PrivateChoice,
    exponential_law,
    largest_gain,
    reports_of,
)
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class DigitalGoodsAuction(PrivateChoice[int]):
    """A price of 1, ..., ``prices`` units; bids are from 0 to ``prices`` units.

    Values and prices are shares of the highest price, so a value of one is ``prices`` units.

    >>> recipe = DigitalGoodsAuction(epsilon=1, agents=2, prices=2, neighbours="replace")
    >>> [round(share, 3) for share in recipe.law([2, 1])]
    [0.5, 0.5]
    """

    epsilon: Epsilon = Epsilon()
    prices: Whole = Whole(1, 2**20)

    @property
    def error(self) -> ExponentialError:
        """How much less money than possible may be raised, in units."""
        return ExponentialError(self.prices / self.epsilon, Fraction(self.prices - 1))

    def group_gain(self, agents: int) -> float:
        """What each of so many agents who lie together can gain at most."""
        return largest_gain(self.epsilon, whole(agents, "agents", low=1, high=2**20))

    def checked(self, x: object) -> IntArray:
        return reports_of(x, self.agents, self.prices)

    def revenue(self, bids: IntArray) -> IntArray:
        """What each price raises, in units."""
        at = np.bincount(bids, minlength=self.prices + 1).astype(np.int64)
        buyers = np.cumsum(at[::-1])[::-1][1:]
        return np.asarray(buyers * np.arange(1, self.prices + 1))

    def release(self, x: IntArray, noise: Noise) -> int:
        raised = self.revenue(x)
        return 1 + noise.pick(raised.max() - raised, self.epsilon / self.prices)

    def law(self, reports: Sequence[int]) -> list[float]:
        """The probability of each price, the lowest first."""
        raised = self.revenue(self.checked(list(reports))).tolist()
        return exponential_law([Fraction(one) for one in raised], self.epsilon / self.prices)
