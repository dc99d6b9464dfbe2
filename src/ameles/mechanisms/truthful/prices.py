"""Price discovery: prices at which everybody can have what they want most, found privately.

Theorem      after Hsu-Huang-Roth-Roughgarden-Wu 2014 (catalogue 63): bidders who want one good each
             bid in turn for what is worth most to them at the present prices.  A good's price goes
             up by one step whenever as many bids came as there are copies to sell, and a bidder is
             outbid when that many came after theirs.  Bids are counted on a billboard with noise,
             so fewer copies are sold than there are: ``reserve`` of each good covers the error
Neighbours   one bidder reports other values
Noise        that of the binary counter over all turns.  A bidder with other values may bid at other
             times for other goods, so ``bids`` bids are taken back and as many made
Error        with probability 1 - beta no good is given to more bidders than there are copies, if
             the reserve is at least the bound
Memory       nothing is kept

Prices are public.  What a bidder gets is told to that bidder alone; it is a function of their own
values and of the published counts.  The prices are epsilon-private in each report, so lying to move
them gains at most tanh(epsilon / 2).

>>> from ameles.noise import Zero
>>> recipe = PriceDiscovery(epsilon=1, agents=3, supply=[1, 1], reserve=0, units=10, step=1,
...     rounds=10, bids=10, neighbours="replace")
>>> market = recipe.start(Zero()).step([[9, 4], [8, 5], [2, 1]])
>>> market.goods, market.prices
((0, 1, None), (5, 2))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ameles.core.error import checks_step
from ameles.core.exceptions import BadInput
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Whole
from ameles.mechanisms.truthful.billboard import Billboard
from ameles.mechanisms.truthful.reports import (
    Counts,
    ReportMechanism,
    largest_gain,
    table_of,
)
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, slots=True)
class Market:
    """Public prices, and what each bidder gets: a message to that bidder alone.

    >>> Market(prices=(5, 2), goods=(0, 1, None)).goods[2] is None
    True
    """

    prices: tuple[int, ...]
    goods: tuple[int | None, ...]


@dataclass(frozen=True, kw_only=True)
class PriceDiscovery(ReportMechanism[Market]):
    """Finds prices for goods of which there are ``supply`` copies each.

    Values are whole numbers from 0 to ``units``; prices go up in steps of ``step`` units.

    >>> PriceDiscovery(epsilon=1, agents=1000, supply=[400, 400], reserve=400, units=10, step=2,
    ...     rounds=4, bids=4, neighbours="replace")
    Traceback (most recent call last):
    ameles.core.exceptions.BadInput: error[input]: Of each good more copies are needed than are held
    in reserve.
      why: without a copy to sell no price can be found
      try: a larger epsilon, whose counts need a smaller reserve
    """

    epsilon: Epsilon = Epsilon()
    agents: Whole = Whole(1, 1 << 16)
    supply: Counts = Counts()
    reserve: Whole = Whole(0, 1 << 30)
    units: Whole = Whole(1, 1 << 30)
    step: Whole = Whole(1, 1 << 30)
    rounds: Whole = Whole(1, 1 << 10)
    bids: Whole = Whole(1, 1 << 10)

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.supply) <= self.reserve:
            raise BadInput(
                "Of each good more copies are needed than are held in reserve.",
                why="without a copy to sell no price can be found",
                tip="a larger epsilon, whose counts need a smaller reserve",
            )

    @property
    def board(self) -> Billboard:
        """The bids for each good, over all turns."""
        in_a_turn = min(2, len(self.supply))
        return Billboard(
            epsilon=self.epsilon,
            columns=len(self.supply),
            turns=self.agents * self.rounds,
            change=min(2 * self.bids, in_a_turn * self.rounds),
        )

    @property
    def loss(self) -> Pure:
        """What the prices, and so the goods of all others, tell about one report."""
        return Pure(self.epsilon)

    @property
    def gain(self) -> float:
        """What a lie can gain at most by moving prices, in shares of the largest value."""
        return largest_gain(self.epsilon)

    @property
    def error(self) -> ReserveError:
        """How many copies of each good the reserve should have."""
        return ReserveError(self.board)

    def checked(self, x: object) -> IntArray:
        return table_of(x, self.agents, len(self.supply), self.units)

    def release(self, x: IntArray, noise: Noise) -> Market:
        board = self.board.start(noise)
        goods = len(self.supply)
        sold = np.array(self.supply, dtype=np.int64) - self.reserve
        raised = np.zeros(goods, dtype=np.int64)  # how often each price went up
        good = np.full(self.agents, -1)
        last = np.zeros(self.agents, dtype=np.int64)  # the count at which one is outbid
        bids = np.zeros(self.agents, dtype=np.int64)
        for turn in range(self.agents * self.rounds):
            agent = turn % self.agents
            holds = good[agent] >= 0 and board.seen[good[agent]] < last[agent]
            change = np.zeros(goods, dtype=np.int64)
            gains = x[agent] - self.step * raised
            best = int(gains.argmax())
            bidding = not holds and gains[best] > 0 and bids[agent] < self.bids
            if bidding:
                change[best] = 1
                bids[agent] += 1
            board.act(change)
            if bidding:
                good[agent], last[agent] = best, board.seen[best] + sold[best]
            elif not holds:
                good[agent] = -1
            raised = np.maximum(raised, np.maximum(board.seen, 0) // sold)
        kept = [
            int(one) if one >= 0 and board.seen[one] < last[agent] else None
            for agent, one in enumerate(good)
        ]
        prices = tuple(int(price) for price in self.step * raised)
        return Market(prices, tuple(kept))


@dataclass(frozen=True, slots=True)
class ReserveError:
    """How far the count of bids may be off between two prices."""

    board: Billboard

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """No good is given to this many more than counted, with probability at least 1 - beta."""
        return 2 * self.board.off_by(beta)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for so many markets together."""
        return self.bound(1, beta / steps)
