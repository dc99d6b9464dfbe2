"""Report noisy max: which candidate has the highest score, after noise on each.

Theorem      Dwork-Roth 2014, Claim 3.9 with its condition added (catalogue 40): noise of scale
             2 Delta / epsilon is epsilon-private; Delta / epsilon is enough only if the scores
             are monotone; otherwise it loses up to 2 epsilon
Neighbours   stated; between them every score changes by at most ``sensitivity`` (Delta)
Noise        discrete Laplace, independent for each score; ties are broken by a fair draw
Error        the score is below the best by more than m with probability at most
             (n - 1) P(Y > m), Y the sum of two noises, exactly
Memory       nothing is kept

Only the index is released: the noisy score of the winner would cost more.

>>> from ameles.noise import Zero
>>> recipe = NoisyMax(epsilon=1, candidates=3, neighbours="replace")
>>> recipe.start(Zero()).step([3, 14, 15])
2
>>> recipe.error.bound(1, 0.05)
8
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.core.error import checks_step
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.one_shot.selection import Selection, check_scale
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class NoisyMax(Selection[int]):
    """The index of the highest noisy score.

    >>> from ameles.noise import Zero
    >>> NoisyMax(epsilon=1, candidates=2, neighbours="replace").start(Zero()).step([3, 14])
    1
    """

    epsilon: Epsilon = Epsilon()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_scale(self.scale)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise."""
        return self.spread / self.epsilon

    @property
    def loss(self) -> Pure:
        """Epsilon."""
        return Pure(self.epsilon)

    @property
    def error(self) -> NoisyMaxError:
        """By the law of the difference of two noises."""
        return NoisyMaxError(self.scale, self.candidates)

    def release(self, x: IntArray, noise: Noise) -> int:
        noisy = x + noise.laplace(self.scale, x.size)
        return one_of(np.flatnonzero(noisy == noisy.max()), noise)


def one_of(tied: IntArray, noise: Noise) -> int:
    """One of these, chosen uniformly."""
    return int(tied[int(noise.uniform(tied.size, 1)[0])])


@dataclass(frozen=True, slots=True)
class NoisyMaxError:
    """How much worse than the best the winner may be."""

    scale: Fraction
    candidates: int

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """The score is this close to the best, with probability at least 1 - beta."""
        # one of the n - 1 others must overtake the best; both signs of Y are equally likely
        others = self.candidates - 1
        if 2 * beta >= others:
            return 0
        return laplace_sum.quantile(2, self.scale, 2 * beta / others)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for this many choices together."""
        return self.bound(1, beta / steps)
