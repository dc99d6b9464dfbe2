"""Congestion game: everybody finds a place that suits them, given how crowded places are.

Theorem      after Rogers-Roth 2014 (catalogue 56): best responses in turn lead a congestion game to
             a Nash equilibrium, because every move that gains alpha lowers the game's potential.
             Here players see the crowds on a billboard with noise, move when that promises more
             than ``margin``, and at most ``moves`` times
Neighbours   one player reports another type
Noise        that of the binary counter over all turns.  A player of another type may choose another
             place at first (2 in L1) and move at other times to other places: each of the two types
             moves ``moves`` times (2 each), or in all but the first of their turns
Error        if nobody moved in the last round though they could, nobody gains more than
             margin + 2 e / n by moving: two counts may be off, each by at most e, with probability
             1 - beta
Memory       nothing is kept

A place pays ``worth[type][place]`` minus the share of all players who are there.  Where a player
ends up is told to that player alone; the published counts are for all.

>>> from ameles.noise import Zero
>>> recipe = CongestionGame(epsilon=1, agents=4, rounds=3, moves=2, margin="0.1",
...     worth=[["1", "0.9"]], neighbours="replace")
>>> recipe.start(Zero()).step([0, 0, 0, 0]).places
(0, 1, 0, 1)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.core.error import checks_step
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Number, Whole
from ameles.mechanisms.truthful.billboard import Billboard
from ameles.mechanisms.truthful.reports import (
    ReportMechanism,
    ValueTable,
    common_denominator,
    reports_of,
)
from ameles.noise.arrays import IntArray

MOST_TURNS = 1 << 22


@dataclass(frozen=True, slots=True)
class Settled:
    """A place for each player, told to that player alone, and the last published counts.

    >>> Settled(places=(0, 1, 0), crowds=(2, 1)).places[1]
    1
    """

    places: tuple[int, ...]
    crowds: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class CongestionGame(ReportMechanism[Settled]):
    """Lets players choose places in turn, for ``rounds`` rounds.

    >>> CongestionGame(epsilon=1, agents=100, rounds=8, moves=3, margin="0.1",
    ...     worth=[["1", "0.5"], ["0.5", "1"]], neighbours="replace").turns
    800
    """

    epsilon: Epsilon = Epsilon()
    agents: Whole = Whole(2, 1 << 16)
    rounds: Whole = Whole(1, 1 << 10)
    moves: Whole = Whole(0, 1 << 10)
    margin: Number = Number(0, 1)
    worth: ValueTable = ValueTable()

    @property
    def turns(self) -> int:
        """How many turns there are in all."""
        return self.agents * self.rounds

    @property
    def board(self) -> Billboard:
        """The counts of players at each place; a move takes one from a place to another."""
        moved = min(self.moves, self.rounds - 1)
        return Billboard(
            epsilon=self.epsilon,
            columns=len(self.worth[0]),
            turns=self.turns,
            change=2 + 4 * moved,
        )

    @property
    def loss(self) -> Pure:
        """What the published counts, and so all places of others, tell about one type."""
        return Pure(self.epsilon)

    @property
    def error(self) -> EquilibriumError:
        """What a player may gain by moving, where the players came to rest."""
        return EquilibriumError(self.board, self.margin, self.agents)

    def checked(self, x: object) -> IntArray:
        return reports_of(x, self.agents, len(self.worth) - 1)

    def release(self, x: IntArray, noise: Noise) -> Settled:
        board = self.board.start(noise)
        places = len(self.worth[0])
        grid = common_denominator([value for row in self.worth for value in row])
        # all in units of 1 / (grid agents), so that comparisons are of whole numbers
        pays_alone = np.array(
            [[int(value * grid) * self.agents for value in row] for row in self.worth]
        )
        margin = self.margin * grid * self.agents
        at = np.full(self.agents, -1)
        acted = np.zeros(self.agents, dtype=np.int64)
        for turn in range(self.turns):
            agent = turn % self.agents
            here = int(at[agent])
            others = board.seen.copy()
            if here >= 0:
                others[here] -= 1
            pays = pays_alone[x[agent]] - grid * (others + 1)
            best = int(pays.argmax())
            change = np.zeros(places, dtype=np.int64)
            wants = here < 0 or int(pays[best] - pays[here]) > margin
            if wants and acted[agent] <= self.moves:
                change[best] += 1
                if here >= 0:
                    change[here] -= 1
                at[agent], acted[agent] = best, acted[agent] + 1
            board.act(change)
        return Settled(tuple(at.tolist()), tuple(board.seen.tolist()))


@dataclass(frozen=True, slots=True)
class EquilibriumError:
    """What one player may gain by moving alone, if the players came to rest."""

    board: Billboard
    margin: Fraction
    agents: int

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """Nobody gains more than this, with probability at least 1 - beta."""
        return float(self.margin) + 2 * self.board.off_by(beta) / self.agents

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for so many games together."""
        return self.bound(1, beta / steps)
