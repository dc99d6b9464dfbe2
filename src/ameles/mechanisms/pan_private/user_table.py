"""What statistics of users share: a table with one noisy entry a user, and its runs.

Between two calls a run holds the table and how many releases and announced intrusions there
were: nothing of what arrived, not even how much.  Entries are overwritten in place, copies
of the arrived indices are wiped before the call ends.

A user may occur any number of times, so a unit's contribution is counted in entries of the
table: one if a user is present or absent, two if some occurrences become another's.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import USER, Contribution, Guarantee, Intrusions, Neighbours, Norm
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Parameter, Whole, refuse
from ameles.mechanisms.mechanism import Mechanism
from ameles.mechanisms.pan_private.entries import CHUNK, indices
from ameles.mechanisms.pan_private.estimate import EstimateError, check_beta
from ameles.mechanisms.run import Out, Turn
from ameles.mechanisms.snapshot import State
from ameles.mechanisms.stepped import FoldedRun
from ameles.noise.arrays import IntArray

RELATIONS = (Neighbours.USER_PRESENCE, Neighbours.USER_SUBSTITUTION)
# A table of more entries does not fit into memory; a sample or buckets do.
LARGEST_TABLE = 1 << 32


class UserRelation(Parameter[Neighbours | str, Neighbours]):
    """Which streams are neighbours: never a default, since biases and noise depend on it."""

    def check(self, value: Neighbours | str) -> Neighbours:
        for relation in RELATIONS:
            if value in (relation, relation.value):
                return relation
        raise refuse(
            self.name,
            "Neighbours.USER_PRESENCE (a user is there or not) or "
            "Neighbours.USER_SUBSTITUTION (some of a user's occurrences become another's)",
            value,
        )


@dataclass(frozen=True, kw_only=True)
class UserRecipe(Mechanism["UserRun[Out]"], Generic[Out]):
    """A statistic over users 0 to ``users`` - 1, of whom a table keeps one entry each.

    ``epsilon_state`` is lost to whoever sees the table once, ``epsilon_output`` with each of
    the ``releases``.
    """

    users: Whole = Whole(1, 1 << 62)
    neighbours: UserRelation = UserRelation()
    epsilon_state: Epsilon = Epsilon()
    epsilon_output: Epsilon = Epsilon()
    releases: Whole = Whole(1, 1 << 20, 1)

    def __post_init__(self) -> None:
        if self.entries > LARGEST_TABLE:
            raise refuse("users", f"at most {LARGEST_TABLE}, one entry of memory each", self.users)

    @property
    def entries(self) -> int:
        """How many entries the table has: one for each user, where nothing else is said."""
        return self.users

    @property
    def moved(self) -> int:
        """How many users' entries differ between neighbours."""
        return 1 if self.relation is Neighbours.USER_PRESENCE else 2

    @property
    def relation(self) -> Neighbours:
        """The neighbouring relation, as the member that it is."""
        return self.neighbours

    @property
    def seizures(self) -> int:
        """How many different tables an intruder may see: all but the last by announcement."""
        return 1

    @property
    def seizure_loss(self) -> Fraction:
        """The loss to whoever sees the table once."""
        return self.epsilon_state

    @property
    def release_loss(self) -> Fraction:
        """The loss with each release."""
        return self.epsilon_output

    @property
    def guarantee(self) -> Guarantee:
        """The promise about one user, to an intruder who also sees every release."""
        return Guarantee(
            loss=Pure(self.seizures * self.epsilon_state + self.releases * self.epsilon_output),
            unit=USER,
            neighbours=self.neighbours,
            contribution=Contribution(steps=self.releases, bound=self.moved, norm=Norm.L1),
            horizon=self.releases,
            intrusions=Intrusions.ONE if self.seizures == 1 else Intrusions.ANNOUNCED,
        )

    @property
    @abstractmethod
    def error(self) -> EstimateError:
        """The error of a release, where no intrusion was announced."""

    @property
    @abstractmethod
    def memory(self) -> int:
        """How many bytes the state has."""

    def _run(self, state: State, noise: Noise) -> UserRun[Out]:
        run = self._empty_run(state, noise)
        run.begin(state.parts)
        return run

    @abstractmethod
    def _empty_run(self, state: State, noise: Noise) -> UserRun[Out]:
        """A run with empty tables."""


class UserRun(FoldedRun[object, Out]):
    """A run: ``add`` on arrival, ``release`` as often as declared."""

    def __init__(self, recipe: UserRecipe[Out], state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._recipe = recipe
        self._noise = noise
        self._announced = 0

    def add(self, users: object) -> None:
        """Folds occurrences into the table, as if one after another."""
        self._take(users, 1)

    def release(self, *, beta: float = 0.05) -> Out:
        """The statistic, with fresh noise, and an interval that misses with probability beta."""
        check_beta(beta)  # before any noise is drawn
        with Turn(self):
            self.check_room(1)
            released = self._close(beta)
            self._t += 1
        return released

    def intruded(self) -> None:
        """Announces that the state was seen, before anything is added to it again.

        The table that was seen says no more about anyone; what comes is folded into fresh
        noise.  After the last intrusion that the recipe was declared for nothing may be added.
        """
        with Turn(self):
            if self._announced == self._recipe.seizures:
                raise BadInput(
                    f"This run was declared for {self._recipe.seizures} intrusions and has met "
                    "them.",
                    why="each costs epsilon_state of its own; the state does not change any more",
                    tip="a new run, with its own budget",
                )
            self._announced += 1
            if self._announced < self._recipe.seizures:
                self._refresh()

    def begin(self, parts: tuple[IntArray, ...]) -> None:
        """Draws the first table or, where there are parts, takes over their state."""
        self.check_live()
        if parts:
            self.restore(parts)
        else:
            self.open()

    def restore(self, parts: tuple[IntArray, ...]) -> None:
        """Takes over the state of a snapshot."""
        self.check_live()
        head, *rest = parts
        self._announced = int(head[0])
        for mine, given in zip(self._table_parts(), rest, strict=True):
            mine[:] = given

    def _checked(self, x: object) -> object:
        indices(x, self._recipe.users).fill(0)
        return x

    def _take(self, users: object, sign: int) -> None:
        self.check_live()
        places = indices(users, self._recipe.users)
        try:
            with Turn(self):
                self._check_open()
                for start in range(0, places.size, CHUNK):
                    self._fold(places[start : start + CHUNK], sign)
        finally:
            places.fill(0)

    def _check_open(self) -> None:
        if self._announced == self._recipe.seizures:
            raise BadInput(
                "This run has met all of its declared intrusions: nothing can be added.",
                why="who sees the state again would see what was added",
                tip="a new run, with its own budget",
            )

    def _refresh(self) -> None:
        """Makes the table one that nobody has seen; where that cannot be, it is refused."""
        raise BadInput(
            "This table cannot be made fresh: it allows one intrusion.",
            why="a user who comes before and after a second look would be seen twice",
            tip="ModularIncidence or Density, which allow several",
        )

    @abstractmethod
    def open(self) -> None:
        """Draws the first table."""

    @abstractmethod
    def _fold(self, users: IntArray, sign: int) -> None:
        """Folds some occurrences into the table; ``users`` is wiped afterwards."""

    @abstractmethod
    def _close(self, beta: float) -> Out:
        """The release."""

    def _parts(self) -> tuple[IntArray, ...]:
        return np.array([self._announced], dtype=np.int64), *self._table_parts()

    @abstractmethod
    def _table_parts(self) -> tuple[IntArray, ...]:
        """The arrays that are the state, as 64-bit integers: the arrays themselves."""
