"""How often users occurred, as estimators: cropped mean, heavy users, users with an exact count.

Theorem      pan-private cropped means (catalogue 24 to 26): per user and crop a clock, uniform at
             first, and a fair bit, which is drawn anew, 1 with probability 1/2 + gamma, as the
             clock comes round.  It comes round with probability min(count, crop) / crop, and the
             weighted bits have the mean gamma * min(count, t) / t, gamma * [count >= k] or
             gamma * [count = t].  Whoever sees the clocks and bits once loses epsilon
Neighbours   a user present or absent, or some occurrences of one user become another's
Noise        in the clocks and bits; epsilon is divided among the crops
Error        answers within sqrt(n W ln(2 / beta) / 2) of their mean; W = 1, k^2 + (k - 1)^2, or
             4 t^2 + (t - 1)^2 + (t + 1)^2
Memory       two bytes per user and crop for crops up to 256

The cropped mean and the heavy users only grow: a user's count does.  A user comes to have exactly
t occurrences once, and once more than t, so that this statistic changes at most twice a user
(``continual_monotone`` with crossings = 2).

>>> from ameles.core.guarantee import Neighbours
>>> heavy = NoisyHeavy(users=10_000, at_least=3, epsilon=1, neighbours=Neighbours.USER_PRESENCE)
>>> heavy.sensitivity, heavy.squares, round(heavy.gamma, 4)
(5, 13, 0.1967)
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from ameles.core.parameters import Whole
from ameles.mechanisms.continual.estimators.noisy_table import NoisyTable
from ameles.mechanisms.pan_private.cropped_mean import LARGEST_CROP, CroppedMean, CroppedRecipe
from ameles.mechanisms.pan_private.heavy_hitters import HeavyHitters
from ameles.mechanisms.pan_private.incidence import Incidence


@dataclass(frozen=True, kw_only=True)
class _NoisyCounts(NoisyTable):
    """A statistic of how often users occurred."""

    @property
    @abstractmethod
    def table(self) -> CroppedRecipe:
        """The recipe whose table this is; its own output, at its own loss, is never asked."""

    @property
    def weights(self) -> tuple[int, ...]:
        """One for each crop."""
        return tuple(crop.weight for crop in self.table.crops)


@dataclass(frozen=True, kw_only=True)
class NoisyCropped(_NoisyCounts):
    """The sum over users of min(occurrences, ``crop``) / ``crop``, from bits that may be seized.

    >>> from ameles.noise import System
    >>> recipe = NoisyCropped(users=50_000, crop=4, epsilon=2, neighbours="user-presence")
    >>> run = recipe.start(System.direct())
    >>> run.add(list(range(20_000)) * 2)
    >>> abs(run.answer() - recipe.gamma * 10_000) < recipe.answer_error.bound(1, 1e-9)
    True
    """

    crop: Whole = Whole(1, LARGEST_CROP)

    @property
    def table(self) -> CroppedMean:
        """The cropped mean's."""
        return CroppedMean(
            users=self.users,
            neighbours=self.neighbours,
            epsilon_state=self.epsilon,
            epsilon_output=self.epsilon,
            crop=self.crop,
        )


@dataclass(frozen=True, kw_only=True)
class NoisyHeavy(_NoisyCounts):
    """How many users occurred ``at_least`` times, from bits that may be seized once.

    >>> from ameles.noise import System
    >>> recipe = NoisyHeavy(users=50_000, at_least=2, epsilon=2, neighbours="user-presence")
    >>> run = recipe.start(System.direct())
    >>> run.add(list(range(20_000)) * 2)
    >>> abs(run.answer() - recipe.gamma * 20_000) < recipe.answer_error.bound(1, 1e-9)
    True
    """

    at_least: Whole = Whole(1, LARGEST_CROP)

    @property
    def table(self) -> HeavyHitters:
        """The heavy hitters'."""
        return HeavyHitters(
            users=self.users,
            neighbours=self.neighbours,
            epsilon_state=self.epsilon,
            epsilon_output=self.epsilon,
            at_least=self.at_least,
        )


@dataclass(frozen=True, kw_only=True)
class NoisyIncidence(_NoisyCounts):
    """How many users occurred ``exactly`` so often, from bits that may be seized once.

    >>> from ameles.noise import System
    >>> recipe = NoisyIncidence(users=50_000, exactly=1, epsilon=2, neighbours="user-presence")
    >>> run = recipe.start(System.direct())
    >>> run.add(list(range(20_000)) * 2 + list(range(20_000, 30_000)))
    >>> abs(run.answer() - recipe.gamma * 10_000) < recipe.answer_error.bound(1, 1e-9)
    True
    """

    exactly: Whole = Whole(1, LARGEST_CROP - 1)

    @property
    def crossings(self) -> int:
        """Two: a count reaches t once, and leaves it once."""
        return 2

    @property
    def table(self) -> Incidence:
        """The incidence's."""
        return Incidence(
            users=self.users,
            neighbours=self.neighbours,
            epsilon_state=self.epsilon,
            epsilon_output=self.epsilon,
            exactly=self.exactly,
        )
