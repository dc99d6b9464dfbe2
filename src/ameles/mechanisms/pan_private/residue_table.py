"""Tables of residues: a user's count modulo some number, hidden by a random offset.

An entry starts at a random offset, 0 with probability e^a / (e^a + k - 1) and any other residue
with 1 / (e^a + k - 1), and moves with its user's count.  Whatever the count, the entry is the
offset's law turned round, so between any two histories of one user its loss is exactly a.

The offset is drawn by rejection: a uniform residue j is kept if it is 0, else with probability
exp(-a), which leaves weights 1 and exp(-a) for each other: the law above, after fewer than
min(k, e^a) proposals on average.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.mechanisms.pan_private.entries import (
    CHUNK,
    changes,
    kind_for,
    room,
    times,
    totals,
)
from ameles.mechanisms.pan_private.erase import wipe
from ameles.mechanisms.pan_private.estimate import ChanceError
from ameles.mechanisms.pan_private.user_table import UserRecipe, UserRun
from ameles.mechanisms.run import Turn
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray

LARGEST_MODULUS = 1 << 16
MOST_INTRUSIONS = 64
# Beyond this many proposals for each user, starting would seem to hang.
MOST_PROPOSALS = 1000
# Below this, not even 10^18 users would show.
FAINTEST = 1e-18

Out = TypeVar("Out")


@dataclass(frozen=True, kw_only=True)
class ResidueRecipe(UserRecipe[Out]):
    """A table of residues; which modulus, and how many intrusions, a subclass says."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.widest > MOST_PROPOSALS and self.share > math.log(MOST_PROPOSALS):
            raise BadInput(
                f"A modulus of {self.widest} at this epsilon_state takes too long to draw.",
                why=f"each user's offset would need more than {MOST_PROPOSALS} proposals",
                tip="an epsilon_state below 6",
            )
        if self.peak_at(self.widest, self.seizures) < FAINTEST:
            raise BadInput(
                "After so many intrusions nothing could be estimated.",
                why="each of them fades the residues by a factor that depends on epsilon_state",
                tip="fewer intrusions or a larger epsilon_state",
            )

    @property
    @abstractmethod
    def widest(self) -> int:
        """The largest modulus that a run may have."""

    @property
    def share(self) -> Fraction:
        """What one user's residue loses to an intruder."""
        return self.seizure_loss / self.moved

    @property
    @abstractmethod
    def scale(self) -> Fraction:
        """The scale of the output's noise."""

    def peak_at(self, modulus: int, offsets: int) -> float:
        """How much more likely 0 is than the others, in a sum of this many offsets."""
        other = math.exp(-self.share)
        once = -math.expm1(-self.share) / (1 + (modulus - 1) * other)
        return float(once**offsets)

    def error_at(self, modulus: int, offsets: int, residues: int) -> ChanceError:
        """The error of the fraction in this many residues, after this many offsets."""
        peak = self.peak_at(modulus, offsets)
        chance = residues * (1 - peak) / modulus
        chances = (chance, min(chance + peak, 1.0))
        return ChanceError(
            unit=1 / (peak * self.entries),
            variance=self.entries * max(c * (1 - c) for c in chances),
            spread=float(self.entries),
            weights=(1.0,),
            scale=self.scale,
            coins=((1.0, self.entries / 4),),
            count=self.entries,
            chances=chances,
        )

    @property
    def memory(self) -> int:
        """A residue for each user."""
        return self.entries * np.dtype(kind_for(self.widest)).itemsize


class ResidueRun(UserRun[Out]):
    """A run whose occurrences can also be taken back."""

    _recipe: ResidueRecipe[Out]

    def __init__(self, recipe: ResidueRecipe[Out], state: State, noise: Noise) -> None:
        super().__init__(recipe, state, noise)
        self._words, self._table = room(recipe.entries, recipe.widest)

    @property
    @abstractmethod
    def modulus(self) -> int:
        """What the counts are taken modulo; it says nothing about anyone."""

    def open(self) -> None:
        self.check_live()
        self._refresh()

    def remove(self, users: object) -> None:
        """Takes occurrences back, as if one after another."""
        self._take(users, -1)

    def change(self, users: object, by: object) -> None:
        """Moves the counts of users by whole numbers of either sign, one for each."""
        self.check_live()
        places, moves = changes(users, by, self._recipe.users)
        try:
            with Turn(self):
                self._check_open()
                moves %= self.modulus
                for start in range(0, places.size, CHUNK):
                    part = slice(start, start + CHUNK)
                    self._move(*totals(places[part], moves[part]))
        finally:
            moves.fill(0)
            places.fill(0)

    def _refresh(self) -> None:
        """Moves every residue on by a fresh offset."""
        for start in range(0, self._table.size, CHUNK):
            part = self._table[start : start + CHUNK]
            drawn = offsets(self._noise, self.modulus, self._recipe.share, part.size)
            part[:] = (part + drawn) % self.modulus
            drawn.fill(0)

    def _fold(self, users: IntArray, sign: int) -> None:
        who, count = times(users)
        count *= sign
        self._move(who, count)

    def _move(self, who: IntArray, by: IntArray) -> None:
        """Moves the residues of users, each named once, and wipes both arrays."""
        by += self._table[who]
        self._table[who] = by % self.modulus
        who.fill(0)
        by.fill(0)

    def _offsets(self) -> int:
        return min(self._announced + 1, self._recipe.seizures)

    def _histogram(self) -> IntArray:
        bins = np.zeros(self.modulus, dtype=np.int64)
        for start in range(0, self._table.size, CHUNK):
            part = self._table[start : start + CHUNK]
            bins += np.bincount(part, minlength=bins.size)
        return bins

    def _table_parts(self) -> tuple[IntArray, ...]:
        return (self._words,)


def offsets(noise: Noise, modulus: int, share: Fraction, count: int) -> IntArray:
    """Independent offsets: 0 with weight 1, every other residue with weight exp(-share)."""
    drawn = noise.uniform(modulus, count)
    pending = np.flatnonzero(drawn)
    while pending.size:
        # Which proposals were kept tells which offsets are zero, so that goes, too.
        kept = noise.bernoulli_exp(share, pending.size)
        rejected = pending[~kept]
        wipe(kept, pending)
        pending = rejected
        if not pending.size:
            break
        again = noise.uniform(modulus, pending.size)
        drawn[pending] = again
        pending = pending[again != 0]
        wipe(again, rejected)
    return drawn
