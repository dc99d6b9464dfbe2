"""Incidence: the fraction of users with exactly ``exactly`` occurrences.

Theorem      a count is t if cropping it at t - 1, t and t + 1 bends there (catalogue 26): the
             fraction is 2 CM(t) - CM(t - 1) - CM(t + 1), from three tables of the cropped mean
             with a third of epsilon_state each (t = 1: two tables, half each)
Neighbours   USER_PRESENCE or USER_SUBSTITUTION
Noise        exact coins; one discrete Laplace on the weighted sum of bits, of scale 4 t (t = 1:
             also 4; substitution: twice that) / epsilon_output
Error        standard deviation at most sqrt((4 t^2 + (t - 1)^2 + (t + 1)^2) users / 4 + the
             output's variance) / (gamma users), gamma for a third of epsilon_state
Memory       six bytes per user for counts up to 255, at most fifteen

With a promise that counts stay below a bound, ``incidence`` takes the modular table if that is
sharper.

>>> from ameles.noise import System
>>> recipe = Incidence(users=50_000, exactly=1, neighbours="user-presence",
...                    epsilon_state=2, epsilon_output=1)
>>> run = recipe.start(System.direct())
>>> run.add(list(range(25_000)) + list(range(25_000, 30_000)) * 2)
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
class Incidence(CroppedRecipe):
    """The fraction of users who occurred exactly ``exactly`` times."""

    exactly: Whole = Whole(1, LARGEST_CROP - 1)

    @property
    def crops(self) -> tuple[Crop, ...]:
        """2 CM(t) - CM(t - 1) - CM(t + 1); CM(0) is zero without a table."""
        t = self.exactly
        weights = ((t, 2 * t), (t - 1, 1 - t), (t + 1, -t - 1))
        return tuple(Crop(at, weight) for at, weight in weights if at)


def incidence(
    *, exactly: int, below: int | None = None, **terms: Unpack[TableTerms]
) -> UserRecipe[Estimate]:
    """The more accurate recipe for the fraction of users with exactly this many occurrences.

    ``below`` is a public promise that no user occurs that often; it is not checked, since no
    exact count is kept.

    >>> type(incidence(users=1000, exactly=3, below=8, neighbours="user-presence",
    ...                epsilon_state=1, epsilon_output=1)).__name__
    'ResidueFraction'
    """
    return sharper(Incidence(exactly=exactly, **terms), (exactly,), below, terms)
