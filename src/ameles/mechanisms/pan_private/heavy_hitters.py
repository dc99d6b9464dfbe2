"""Heavy hitters: the fraction of users with at least ``at_least`` occurrences.

Theorem      a user's count is at least k if cropping it at k and at k - 1 differ (catalogue 25):
             the fraction is CM(k) - CM(k - 1), from two tables of the cropped mean with half of
             epsilon_state each
Neighbours   USER_PRESENCE or USER_SUBSTITUTION
Noise        exact coins; one discrete Laplace on k * bits - (k - 1) * bits, of scale 2 k - 1
             (substitution: twice that) / epsilon_output
Error        standard deviation at most sqrt((k^2 + (k - 1)^2) users / 4 + the output's variance)
             / (gamma users), gamma for half of epsilon_state
Memory       four bytes per user for counts up to 256, at most ten

Heavy means many occurrences, not a large share of the stream.  With a promise
that counts stay below a bound, ``heavy_hitters`` takes the modular table if that is sharper.

>>> from ameles.noise import System
>>> recipe = HeavyHitters(users=50_000, at_least=2, neighbours="user-presence",
...                       epsilon_state=2, epsilon_output=1)
>>> run = recipe.start(System.direct())
>>> run.add(list(range(25_000)) * 2 + list(range(25_000, 30_000)))
>>> abs(run.release(beta=1e-9).value - 0.5) < recipe.error.bound(1, 1e-9)
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

from ameles.core.parameters import Whole
from ameles.mechanisms.pan_private.cropped_mean import LARGEST_CROP, Crop, CroppedRecipe
from ameles.mechanisms.pan_private.estimate import Estimate
from ameles.mechanisms.pan_private.modular import TableTerms, sharper
from ameles.mechanisms.pan_private.user_table import UserRecipe


@dataclass(frozen=True, kw_only=True)
class HeavyHitters(CroppedRecipe):
    """The fraction of users who occurred ``at_least`` times or more."""

    at_least: Whole = Whole(1, LARGEST_CROP)

    @property
    def crops(self) -> tuple[Crop, ...]:
        """CM(k) - CM(k - 1); CM(0) is zero without a table."""
        k = self.at_least
        return tuple(Crop(at, weight) for at, weight in ((k, k), (k - 1, 1 - k)) if at)


def heavy_hitters(
    *, at_least: int, below: int | None = None, **terms: Unpack[TableTerms]
) -> UserRecipe[Estimate]:
    """The more accurate recipe for the fraction of users with at least this many occurrences.

    ``below`` is a public promise that no user occurs that often; it is not checked, since no
    exact count is kept.

    >>> type(heavy_hitters(users=1000, at_least=3, below=8, neighbours="user-presence",
    ...                    epsilon_state=1, epsilon_output=1)).__name__
    'ResidueFraction'
    """
    residues = range(at_least, below or at_least)
    return sharper(HeavyHitters(at_least=at_least, **terms), residues, below, terms)
