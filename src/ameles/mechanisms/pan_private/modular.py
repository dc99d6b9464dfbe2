"""Modular incidence: the fraction of users whose count is i modulo k, for every i.

Theorem      Dwork et al. 2010, corrected (catalogue 27): per user a residue that starts at a random
             offset, 0 with probability e^a / (e^a + k - 1) and any other with 1 / (e^a + k - 1),
             and is advanced by every occurrence.  Between any two histories of one user its loss
             is exactly a, so a = epsilon_state for presence and half of it for substitution
Neighbours   USER_PRESENCE, or USER_SUBSTITUTION (two users' residues move)
Noise        exact offsets, by rejection (``residue_table``).  Discrete Laplace on each bin of the
             histogram, scale 2 (substitution: 4) / epsilon_output, as a user leaves one bin for
             another
Error        with p = (e^a - 1) / (e^a + k - 1), standard deviation per residue at most
             sqrt(users * max c (1 - c) + the output's variance) / (p users), over the two chances
             c = (1 - p) / k and p + (1 - p) / k
Memory       one or two bytes per user

Occurrences can be taken back: ``remove``.  With a public promise that counts stay below k, the
residues are the counts, and a net count of zero is residue 0: ``ResidueFraction``.  Without a
promise: ``DynamicDensity``.

Intrusions   one, unannounced.  With ``intrusions`` = J, each announced before more is added, every
             residue is moved on by a fresh offset: the views cost J * epsilon_state, and p becomes
             p^(1 + announced).

A continual version at user level cannot exist: counts modulo k vary without end (catalogue 18).

>>> from ameles.noise import System
>>> recipe = ModularIncidence(users=50_000, modulus=3, neighbours="user-presence",
...                           epsilon_state=1, epsilon_output=1)
>>> run = recipe.start(System.direct())
>>> run.add(list(range(20_000)) * 4)
>>> found = run.release(beta=1e-9)
>>> abs(found[1].value - 0.4) < recipe.error.bound(1, 1e-9)
True
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import NotRequired, TypedDict, TypeVar

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Neighbours
from ameles.core.noise import Noise
from ameles.core.parameters import Exact, Parameter, Whole, refuse, whole
from ameles.mechanisms.pan_private.erase import only, wipe
from ameles.mechanisms.pan_private.estimate import ChanceError, Estimate
from ameles.mechanisms.pan_private.intrusions import Seizures
from ameles.mechanisms.pan_private.residue_table import (
    LARGEST_MODULUS,
    MOST_INTRUSIONS,
    ResidueRecipe,
    ResidueRun,
)
from ameles.mechanisms.pan_private.user_table import UserRecipe, UserRun
from ameles.mechanisms.run import Turn
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray

Out = TypeVar("Out")


@dataclass(frozen=True, kw_only=True)
class ModularRecipe(ResidueRecipe[Out]):
    """A table of residues of one public modulus."""

    modulus: Whole = Whole(2, LARGEST_MODULUS)
    intrusions: Seizures = Seizures(1, MOST_INTRUSIONS, 1)

    @property
    def seizures(self) -> int:
        """How many intrusions were declared."""
        return self.intrusions

    @property
    def widest(self) -> int:
        """The modulus."""
        return self.modulus

    def peak(self, offsets: int) -> float:
        """How much likelier 0 is than the other residues, in a sum of this many offsets."""
        return self.peak_at(self.modulus, offsets)

    def error_over(self, offsets: int, residues: int) -> ChanceError:
        """The error of the fraction in this many residues, after this many offsets."""
        return self.error_at(self.modulus, offsets, residues)


@dataclass(frozen=True, kw_only=True)
class ModularIncidence(ModularRecipe[tuple[Estimate, ...]]):
    """The fractions of users with each residue; each interval holds for its residue alone."""

    @property
    def scale(self) -> Fraction:
        """A user leaves one bin of the histogram for another."""
        return 2 * self.moved / self.release_loss

    @property
    def error(self) -> ChanceError:
        """The error of each fraction, where no intrusion was announced."""
        return self.error_over(1, 1)

    def _empty_run(self, state: State, noise: Noise) -> HistogramRun:
        return HistogramRun(self, state, noise)


class Residues(Parameter[tuple[int, ...], tuple[int, ...]]):
    """Some residues, each once, in order."""

    def check(self, value: tuple[int, ...]) -> tuple[int, ...]:
        try:
            given = [whole(i, self.name, low=0, high=LARGEST_MODULUS - 1) for i in value]
        except TypeError:
            raise refuse(self.name, "some residues, such as (0,) or range(2, 5)", value) from None
        if not given or len(set(given)) < len(given):
            raise refuse(self.name, "at least one residue, and each only once", value)
        return tuple(sorted(given))


@dataclass(frozen=True, kw_only=True)
class ResidueFraction(ModularRecipe[Estimate]):
    """The fraction of users whose count modulo ``modulus`` is one of the ``residues``.

    One number is released, not a histogram, so a user moves it by 1.  If counts are promised
    to stay below the modulus, residues (0,) are the users with net count zero, range(1, modulus)
    the others, range(k, modulus) those with at least k.

    >>> from ameles.noise import System
    >>> recipe = ResidueFraction(users=50_000, modulus=4, residues=(1, 2, 3),
    ...                          neighbours="user-presence", epsilon_state=1, epsilon_output=1)
    >>> run = recipe.start(System.direct())
    >>> run.add(range(20_000))
    >>> abs(run.release(beta=1e-9).value - 0.4) < recipe.error.bound(1, 1e-9)
    True
    """

    residues: Residues = Residues()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.residues[-1] >= self.modulus or len(self.residues) == self.modulus:
            raise BadInput(
                f"The 'residues' must be some, not all, of 0 to {self.modulus - 1}.",
                why="a count modulo the modulus is always one of them",
            )

    @property
    def scale(self) -> Fraction:
        """A user is in or out."""
        return self.moved / self.release_loss

    @property
    def error(self) -> ChanceError:
        """The error, where no intrusion was announced."""
        return self.error_over(1, len(self.residues))

    def _empty_run(self, state: State, noise: Noise) -> UserRun[Estimate]:
        return _FractionRun(self, state, noise)


class ModularRun(ResidueRun[Out]):
    """A run with the modulus of its recipe."""

    _recipe: ModularRecipe[Out]

    @property
    def modulus(self) -> int:
        return self._recipe.modulus


class HistogramRun(ModularRun[tuple[Estimate, ...]]):
    """A run that releases the whole histogram."""

    def release_bins(self) -> IntArray:
        """The release as the noisy number of users with each residue."""
        with Turn(self):
            self.check_room(1)
            bins = self._noisy()
            self._t += 1
        return bins

    def _close(self, beta: float) -> tuple[Estimate, ...]:
        error = self._recipe.error_over(self._offsets(), 1)
        return tuple(error.estimate(error.fraction(int(noisy)), beta) for noisy in self._noisy())

    def _noisy(self) -> IntArray:
        error = self._recipe.error_over(self._offsets(), 1)
        bins = self._histogram()
        drawn = self._noise.laplace(error.scale, bins.size)
        bins += drawn
        wipe(drawn)
        return bins


class _FractionRun(ModularRun[Estimate]):
    _recipe: ResidueFraction

    def _close(self, beta: float) -> Estimate:
        residues = list(self._recipe.residues)
        error = self._recipe.error_over(self._offsets(), len(residues))
        bins = self._histogram()
        noisy = int(bins[residues].sum()) + only(self._noise.laplace(error.scale, 1))
        wipe(bins)
        return error.estimate(error.fraction(noisy), beta)


class TableTerms(TypedDict):
    """The parameters that every table of users takes."""

    users: int
    neighbours: Neighbours | str
    epsilon_state: Exact
    epsilon_output: Exact
    releases: NotRequired[int]


def sharper(
    cropped: UserRecipe[Estimate], residues: Iterable[int], below: int | None, terms: TableTerms
) -> UserRecipe[Estimate]:
    """The sharper of two tables for one fraction: cropped or, where counts are promised, modular.

    The cropped tables hold for any counts.  A public promise that counts stay ``below`` a bound
    makes them residues, whose table has no weights to amplify its noise.
    """
    if below is None:
        return cropped
    modular = ResidueFraction(modulus=below, residues=tuple(residues), **terms)
    return min(cropped, modular, key=lambda recipe: recipe.error.std(1))
