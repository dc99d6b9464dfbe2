"""Large game: private advice to many players, that nobody gains by not taking part in.

Theorem      after Kearns-Pai-Roth-Ullman 2014 (catalogue 56), for games in which a player's payoff
             depends on what others do only through how many do what.  In each of T rounds every
             player plays exponential weights on payoffs against the *published* crowd, and the
             crowd is published with noise.  By the billboard lemma all advice to others is private
             in a player's type.  Each player's advice is a random round's play, so nobody gains
             more than alpha by always playing one action: a coarse correlated equilibrium, or with
             ``swap`` a correlated one, in which no advice is worth disobeying
Neighbours   one player reports another type
Noise        discrete Laplace on the crowd of each round, scale 2 T M / epsilon (two actions:
             T M / epsilon), M the grid of the mixed plays
Error        alpha: regret sqrt(ln A / 2T) (swap: sqrt(A ln A / 2T)), rounding 2 A / M, and twice
             the largest error of the published crowd in payoffs, with probability 1 - beta
Memory       nothing is kept

The promise is about opting out, not about truth: a player who *reports* another type changes the
game that is solved, and may gain more than alpha.  docs/truthful.md shows one who does.

>>> from ameles.noise import Zero
>>> recipe = beach_or_mountain(players=101, epsilon=1)
>>> advice = recipe.start(Zero()).step([0] * 60 + [1] * 41)
>>> sum(advice.actions)  # most people like the beach, and all go there
0
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.core.error import checks_step
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Neighbours
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Exact, Switch, Whole
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.truthful.reports import (
    MOST_AGENTS,
    ReportMechanism,
    UtilityTable,
    reports_of,
)
from ameles.noise.arrays import IntArray

Floats: TypeAlias = NDArray[np.float64]
GRID = 1 << 12  # mixed plays are whole shares of it


@dataclass(frozen=True, slots=True)
class Advice:
    """An action for each player, told to that player alone, and the published crowds.

    >>> Advice(actions=(0, 1), crowds=((4096, 4096),)).actions[1]
    1
    """

    actions: tuple[int, ...]
    crowds: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, kw_only=True)
class LargeGame(ReportMechanism[Advice]):
    """Advises every player of a game with a crowd.

    ``utilities[type][action][crowd]`` is what a player of that type gets for that action while
    everybody else does ``crowd``; mixed crowds count in proportion.

    >>> recipe = beach_or_mountain(players=1001, epsilon=1, rounds=50)
    >>> recipe.actions, recipe.scale
    (2, Fraction(204800, 1))
    """

    epsilon: Epsilon = Epsilon()
    agents: Whole = Whole(2, MOST_AGENTS)
    utilities: UtilityTable = UtilityTable()
    rounds: Whole = Whole(1, 2**16)
    swap: Switch = Switch(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.actions < 2 or len(self.utilities[0][0]) != self.actions:
            raise BadInput(
                "A game needs two actions at least, and 'utilities' a number for each type, action "
                "and action of the crowd."
            )

    @property
    def actions(self) -> int:
        """How many actions there are."""
        return len(self.utilities[0])

    @property
    def loss(self) -> Pure:
        """Epsilon: what the crowds, and so all advice to others, tell about one type."""
        return Pure(self.epsilon)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise on each number of a published crowd."""
        # All crowds add up to the same, so the last number is not published; with two actions one
        # is left, which one player changes by at most the grid.
        reach = GRID if self.actions == 2 else 2 * GRID
        return reach * self.rounds / self.epsilon

    @property
    def error(self) -> RegretError:
        """What a player may gain at most by always playing one action: alpha."""
        return RegretError(self.agents, self.actions, self.rounds, self.scale, self.swap)

    def checked(self, x: object) -> IntArray:
        return reports_of(x, self.agents, len(self.utilities) - 1)

    def release(self, x: IntArray, noise: Noise) -> Advice:
        plays, crowds = self.rounds_of(x, noise)
        upto = np.cumsum(plays.sum(axis=0), axis=1)  # for each type, over all rounds
        drawn = noise.uniform(self.rounds * GRID, self.agents)
        actions = (drawn[:, None] >= upto[x]).sum(axis=1)
        return Advice(tuple(actions.tolist()), tuple(tuple(crowd) for crowd in crowds.tolist()))

    def rounds_of(self, x: IntArray, noise: Noise) -> tuple[IntArray, IntArray]:
        """The mixed play of each type in each round, and the published crowds.

        All players of one type have seen the same, so they play the same.
        """
        players = np.bincount(x, minlength=len(self.utilities)).astype(np.int64)
        learner = Learner(self)
        plays, crowds = [], []
        for _ in range(self.rounds):
            play = learner.play()
            crowd = players @ play
            drawn = noise.laplace(self.scale, self.actions - 1)
            seen = np.empty(self.actions, dtype=np.int64)
            seen[:-1] = crowd[:-1] + drawn
            seen[-1] = self.agents * GRID - seen[:-1].sum()
            learner.learn(play, seen)
            plays.append(play)
            crowds.append(seen)
        return np.array(plays), np.array(crowds)


class Learner:
    """Exponential weights for every type, from what was published.

    It works in floats, and only on published numbers; what it plays is whole shares of the grid.
    """

    def __init__(self, game: LargeGame) -> None:
        self._game = game
        self._payoffs = np.array(game.utilities, dtype=np.float64)
        kinds, actions = len(game.utilities), game.actions
        copies = actions if game.swap else 1  # one learner for each action that is advised
        self._past = np.zeros((kinds, copies, actions))
        self._rate = math.sqrt(8 * copies * math.log(actions) / game.rounds)

    def play(self) -> IntArray:
        """The play of each type: whole shares of the grid that add up to it."""
        weights = np.exp(self._rate * (self._past - self._past.max(axis=2, keepdims=True)))
        weights /= weights.sum(axis=2, keepdims=True)
        mixed = weights[:, 0] if weights.shape[1] == 1 else _stationary(weights)
        whole = np.floor(mixed * GRID).astype(np.int64)
        rows = np.arange(len(whole))
        whole[rows, mixed.argmax(axis=1)] += GRID - whole.sum(axis=1)
        return whole

    def learn(self, play: IntArray, seen: IntArray) -> None:
        """What each action would have paid against the published crowd without oneself."""
        others = (seen - play) / (GRID * (self._game.agents - 1))
        paid = np.clip(np.einsum("tab,tb->ta", self._payoffs, others), 0, 1)
        if self._past.shape[1] == 1:
            self._past += paid[:, None]
        else:
            self._past += (play / GRID)[:, :, None] * paid[:, None]


def _stationary(weights: Floats) -> Floats:
    """For each type the mix of actions that its learners, mixed by it, play again."""
    actions = weights.shape[1]
    system = np.transpose(weights, (0, 2, 1)) - np.eye(actions)
    system[:, -1] = 1  # of the equations one follows from the others: shares add up to 1
    right = np.zeros((len(weights), actions, 1))
    right[:, -1] = 1
    mixed = np.clip(np.linalg.solve(system, right)[:, :, 0], 0, 1)
    return np.asarray(mixed / mixed.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True)
class RegretError:
    """What one player may gain at most by disobeying: alpha."""

    agents: int
    actions: int
    rounds: int
    scale: Fraction
    swap: bool

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """Nobody gains more than this, with probability at least 1 - beta; at most 1."""
        copies = self.actions if self.swap else 1
        regret = math.sqrt(copies * math.log(self.actions) / (2 * self.rounds))
        published = self.actions - 1
        off = laplace_sum.quantile(1, self.scale, beta / (self.rounds * published))
        # the last number of a crowd is off by the sum of the others
        crowd = 2 * published * off / (GRID * (self.agents - 1))
        return min(1.0, regret + 2 * crowd + 2 * self.actions / GRID)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for so many games together."""
        return self.bound(1, beta / steps)


def beach_or_mountain(
    *,
    players: int,
    epsilon: Exact,
    rounds: int = 30,
    neighbours: Neighbours | str = Neighbours.REPLACE,
) -> LargeGame:
    """Dwork and Roth's example: everybody wants company, half as much where they like it less.

    >>> beach_or_mountain(players=11, epsilon=1).utilities[0]
    ((Fraction(1, 1), Fraction(0, 1)), (Fraction(0, 1), Fraction(1, 2)))
    """
    liked, other = 1, Fraction(1, 2)
    return LargeGame(
        epsilon=epsilon,
        agents=players,
        rounds=rounds,
        utilities=[[[liked, 0], [0, other]], [[other, 0], [0, liked]]],
        neighbours=neighbours,
    )
