"""Punishing exponential mechanism: a private choice among outcomes to which lying does not pay.

Theorem      Nissim-Smorodinsky-Tennenholtz 2012; Dwork-Roth, definitions 10.5 and 10.6, theorems
             10.3 and 10.4, corrected (catalogue 57).  With probability 1 - q an outcome is chosen
             with weight exp(epsilon F / 2), F the sum of all utilities, and everybody may react as
             they like.  With probability q the outcome is uniform and everybody has to react as
             suits the type they *reported*.  A lie gains at most (1 - q) tanh(epsilon / 2) and
             loses at least q g, g the smallest mean loss of a liar under a uniform outcome
Neighbours   one agent reports another type
Noise        one coin, and one exact choice
Error        the sum of utilities is below the best by more than the exponential mechanism's bound
             with probability at most q + beta; its mean is at least
             (1 - q) (OPT - (2 / epsilon) ln |O|)
Memory       nothing is kept

The outcome is public.  The reactions that an agent may choose from are a message to that agent
alone: the outcome and all messages to others are epsilon-private in an agent's report.  Ties among
reactions go to the first, in both branches.

>>> from ameles.noise import Zero
>>> recipe = PunishingMechanism(epsilon="0.1", agents=2, punish="1/4", neighbours="replace",
...     utilities=[[["1", "0"]], [["0", "1"]]])
>>> recipe.gap, recipe.truthful
(Fraction(1, 1), True)
>>> recipe.start(Zero()).step([0, 1])
Commitments(outcome=0, allowed=((0, 1), (0, 1)))
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.core.error import checks_step
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Number
from ameles.mechanisms.one_shot.selection import ExponentialError
from ameles.mechanisms.truthful.reports import (
    PrivateChoice,
    UtilityTable,
    common_denominator,
    exponential_law,
    reports_of,
)
from ameles.noise.arrays import IntArray

# Comparisons with tanh are made in floats; a claim of truthfulness needs this much more.
GUARD = 1e-12


@dataclass(frozen=True, slots=True)
class Commitments:
    """The public outcome, and for each agent the reactions that they may choose from.

    >>> Commitments(outcome=0, allowed=((0, 1), (1,))).allowed[1]
    (1,)
    """

    outcome: int
    allowed: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, kw_only=True)
class PunishingMechanism(PrivateChoice[Commitments]):
    """Chooses an outcome; with probability ``punish`` it holds everybody to their report.

    ``utilities[type][outcome][reaction]`` is public, between 0 and 1.  With ``punish=0`` it is the
    commitment mechanism: private, and truthful up to tanh(epsilon / 2).

    >>> recipe = PunishingMechanism(epsilon=1, agents=9, punish="1/2", neighbours="replace",
    ...     utilities=[[["1"], ["0"]], [["0"], ["1"]]])
    >>> recipe.gap  # one reaction only: nobody can be punished
    Fraction(0, 1)
    """

    epsilon: Epsilon = Epsilon()
    utilities: UtilityTable = UtilityTable()
    punish: Number = Number(0, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        common_denominator(self.cells)  # refuses one that is too fine

    @property
    def types(self) -> int:
        """How many types there are."""
        return len(self.utilities)

    @property
    def outcomes(self) -> int:
        """How many outcomes there are."""
        return len(self.utilities[0])

    @property
    def grid(self) -> int:
        """Utilities are whole multiples of one over this."""
        return common_denominator(self.cells)

    @property
    def cells(self) -> list[Fraction]:
        """All utilities."""
        return [utility for rows in self.utilities for row in rows for utility in row]

    def best_reaction(self, type_: int, outcome: int) -> int:
        """What suits a type best, the first of equals."""
        row = self.utilities[type_][outcome]
        return row.index(max(row))

    @property
    def gap(self) -> Fraction:
        """What a liar loses at least under a uniform outcome, on average: g."""
        losses = [
            sum(
                (
                    max(row) - row[self.best_reaction(lie, outcome)]
                    for outcome, row in enumerate(self.utilities[type_])
                ),
                Fraction(0),
            )
            for type_ in range(self.types)
            for lie in range(self.types)
            if lie != type_
        ]
        return min(losses, default=Fraction(0)) / self.outcomes

    @property
    def margin(self) -> float:
        """What every lie loses at least; below zero it may gain that much.

        Agents who also mind their privacy tell the truth if a lie would save them less than this.
        """
        return float(self.punish * self.gap) - float(1 - self.punish) * self.gain

    @property
    def truthful(self) -> bool:
        """Whether every lie loses."""
        return self.margin > GUARD

    @property
    def error(self) -> WelfareError:
        """How far the sum of utilities may be below the best."""
        inner = ExponentialError(2 / self.epsilon, Fraction(self.outcomes - 1))
        return WelfareError(inner, self.punish, self.agents)

    def checked(self, x: object) -> IntArray:
        return reports_of(x, self.agents, self.types - 1)

    def scores(self, reports: IntArray) -> IntArray:
        """The sum of utilities of each outcome, in units of the grid."""
        best = np.array(
            [[int(max(row) * self.grid) for row in rows] for rows in self.utilities],
            dtype=np.int64,
        )
        counts = np.bincount(reports, minlength=self.types).astype(np.int64)
        return np.asarray(counts @ best)

    def release(self, x: IntArray, noise: Noise) -> Commitments:
        scores = self.scores(x)
        punished = bool(noise.bernoulli(self.punish, 1)[0])
        if punished:
            outcome = int(noise.uniform(self.outcomes, 1)[0])
            allowed = tuple((self.best_reaction(int(one), outcome),) for one in x)
            return Commitments(outcome, allowed)
        outcome = noise.pick(scores.max() - scores, self.epsilon / (2 * self.grid))
        free = tuple(range(len(self.utilities[0][0])))
        return Commitments(outcome, (free,) * len(x))

    def law(self, reports: Sequence[int]) -> list[float]:
        """The probability of each outcome."""
        q = float(self.punish)
        chosen = self._chosen(reports)
        return [(1 - q) * share + q / self.outcomes for share in chosen]

    def utility(self, agent: int, type_: int, reports: Sequence[int]) -> float:
        """The expected utility of an agent of this type under these reports."""
        told = int(reports[agent])
        free = math.fsum(
            share * float(max(row))
            for share, row in zip(self._chosen(reports), self.utilities[type_], strict=True)
        )
        held = math.fsum(
            float(row[self.best_reaction(told, outcome)])
            for outcome, row in enumerate(self.utilities[type_])
        )
        q = float(self.punish)
        return (1 - q) * free + q * held / self.outcomes

    def _chosen(self, reports: Sequence[int]) -> list[float]:
        scores = self.scores(self.checked(list(reports))).tolist()
        values = [Fraction(score, self.grid) for score in scores]
        return exponential_law(values, self.epsilon / 2)


def smallest_punishment(gap: Fraction, gain: float) -> float:
    """The probability of punishment above which every lie loses.

    >>> smallest_punishment(Fraction(1), 0.25)
    0.2
    """
    return gain / (float(gap) + gain)


@dataclass(frozen=True, slots=True)
class WelfareError:
    """How far the sum of all utilities may be below the best."""

    chosen: ExponentialError
    punish: Fraction
    agents: int

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """Below the best by at most this, with probability at least 1 - beta."""
        rest = (beta - float(self.punish)) / (1 - float(self.punish)) if self.punish < 1 else 0.0
        if rest <= 0:
            return self.agents
        # the score is continuous here: what the bound for whole numbers rounds away is added
        return min(float(self.agents), self.chosen.bound(1, rest) + 1)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for so many choices together."""
        return self.bound(1, beta / steps)

    @property
    def mean(self) -> float:
        """The expected distance from the best is at most this."""
        q = float(self.punish)
        return (1 - q) * self.chosen.mean + q * self.agents
