"""Fractions of users, from a table that may be seized: what the measures of such tables share.

A measure names its estimator, and says what hits of the table mean for users; the mechanism, its
error and the words are those of ``table_choice``.  What is published is a fraction of ``users``,
the public number of users that there are: privacy does not depend on it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ameles.core.guarantee import EVENT, Intrusions, Neighbours
from ameles.core.loss import EpsilonLoss, delta_of
from ameles.core.recipe import Recipe
from ameles.measures.collisions import Hits
from ameles.measures.measure import EventQuery, Measure, Published, Terms
from ameles.measures.refusal import Refusal
from ameles.measures.table_choice import (
    FULL,
    HALTED,
    MOST_CELLS,
    RESTARTED,
    answer_noise,
    counted_anew,
    inner_of,
    reach,
    table_of,
    table_recipe,
    table_why,
)
from ameles.mechanisms.continual.estimators.noisy_table import NoisyTable
from ameles.mechanisms.continual.transformation import CODE
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.noise.arrays import IntArray

PRESENCE = Neighbours.USER_PRESENCE


class HashedMeasure(Measure):
    """What is told of users in a hashed table, as parts of their public number."""

    seizable_users: ClassVar[bool] = True
    # The table of a new epoch is empty.
    goes_on: ClassVar[bool] = False
    # Users who share a cell may add up: then the interval needs the number of users.
    adds_up: ClassVar[bool] = False
    interval: ClassVar[str] = (
        "the values that agree with the table, given this noise and users who share a cell"
    )

    table: int = Field(ge=2, le=MOST_CELLS)
    users: int = Field(ge=1, le=1 << 40)

    @property
    def hashed_cells(self) -> int:
        """Those of its table."""
        return self.table

    @property
    def question(self) -> EventQuery:
        """One number: what a user does in several cells would have to be paid for several times."""
        return EventQuery(cell=self.declared.cell, cells=1)

    @property
    def worth(self) -> int:
        """The value of a user of whom the statistic is true."""
        return 1

    @property
    def hit_at_most(self) -> int:
        """How many cells can be hit."""
        return min(self.table, self.users)

    def refusals(self, terms: Terms, *, weighted: bool) -> Iterator[Refusal]:
        """Refuses what has no table, and what a table cannot tell."""
        yield from super().refusals(terms, weighted=weighted)
        if terms.unit == EVENT:
            yield Refusal(
                "measure",
                "It needs a unit that is a user.",
                why="if single events are protected, nothing says which of them belong to one user",
                tip='unit = "user" or "user-window", with user = "device_id"',
            )
        elif terms.intrusions is Intrusions.NONE:
            yield Refusal(
                "measure",
                "It is for users whose state may be seized.",
                why="its table of noisy bits is less exact than a secret list of users",
                tip='intrusions = "one" with source = "-", or measure = "distinct"',
            )
        if self.over != "total":
            yield Refusal(
                "over",
                "It must be total.",
                why="the state does not record when a user came, so no user can leave the count",
                tip='unit = "user-window" with a window that begins anew, of one step or more',
            )
        if self.by:
            yield Refusal(
                "by",
                "Users whose state may be seized are counted in one cell.",
                why="a user may be in several cells, and each would have to be paid for",
                tip="a release for each cell, with where and a share of its own",
            )
        if self.adds_up and self.table < self.users:
            yield Refusal(
                "table",
                f"It has {self.table} cells for {self.users} users.",
                why="the events of users who share a cell add up, and most would share one",
                tip=f"table = {min(10 * self.users, MOST_CELLS)}: about ten times the users",
            )


class TableMeasure(HashedMeasure):
    """A fraction of the users, or a mean over them, from noisy bits."""

    @property
    @abstractmethod
    def estimator(self) -> NoisyTable:
        """The statistic of the cells, at some epsilon."""

    @property
    def hashes(self) -> float:
        """The squared ranges of the hash, for each cell: no more cells are hit than users come."""
        return self.estimator.crossings**2 * self.hit_at_most / self.table

    @abstractmethod
    def from_hits(self, hits: Hits) -> Hits:
        """The number of users that the hits stand for."""

    @abstractmethod
    def ends(self, low: Hits, high: Hits) -> tuple[Hits, Hits]:
        """The numbers of users that agree with this range of hits, whatever cells users share."""

    def recipe(self, terms: Terms, loss: EpsilonLoss) -> AnyMechanism:
        """The better of two ways to publish the table, with the best division of epsilon."""
        return table_recipe(
            self.estimator,
            epsilon=loss.epsilon,
            delta=delta_of(loss),
            steps=terms.unit.window or terms.horizon or 1,
            horizon=terms.horizon,
            windows=terms.unit.window is not None,
            hashes=self.hashes,
            most=self.hit_at_most,
        )

    def variance(self, terms: Terms, loss: EpsilonLoss) -> float:
        last = terms.unit.window or terms.horizon or 1
        # the half-width of a 95% interval is about two standard deviations
        half = reach(self.recipe(terms, loss), last, hashes=self.hashes)
        return (self.worth * half / 2) ** 2

    def half_widths(self, recipe: Recipe, terms: Terms, steps: IntArray) -> NDArray[np.float64]:
        """Half of the interval where nothing was hit."""
        half = self._reaches(recipe, steps)
        low, high = self.ends(-half, half)
        return (high - low) / 2 * self._scale

    def forecast_of(self, terms: Terms) -> str:
        """If users share cells, a cell stands for more users the more there are."""
        return "a fraction that is small"

    def why(self, recipe: Recipe, terms: Terms) -> str:
        """By computed error."""
        return table_why(recipe)

    def noise_in_words(self, recipe: Recipe, terms: Terms, step: int | None) -> str:
        """The noise of the bits, and of their sum."""
        table = table_of(recipe)
        clocks = len(table.weights)
        each = "a bit" if clocks == 1 else f"{clocks} bits"
        return (
            f"each of {table.users:,} cells has {each}, 1 with probability 1/2, and "
            f"{0.5 + table.gamma:.3g} once it was drawn again; {answer_noise(recipe)} on their "
            "weighted sum"
        )

    def publish(
        self, recipe: Recipe, terms: Terms, outputs: Any, first: int, earlier: IntArray
    ) -> Published:
        table = table_of(recipe)
        halted = outputs == CODE
        hits = (np.where(halted, 0, outputs) - table.ones % 2 / 2) / table.gamma
        steps = np.arange(first, first + len(outputs))
        half = self._reaches(recipe, steps)[:, None]
        low, high = self.ends(hits - half, hits + half)
        scaled = [part * self._scale for part in (self.from_hits(hits), low, high)]
        again = counted_anew(steps, inner_of(recipe).horizon, terms.ended)
        label = np.where(again[:, None], RESTARTED, "")
        label = np.where(halted, HALTED, np.where(self.full(hits + half), FULL, label))
        value, low, high = (np.where(halted, np.nan, part) for part in scaled)
        return Published(value=value, low=low, high=high, label=label)

    def full(self, high: Hits) -> NDArray[np.bool_]:
        """Whether so many cells may be hit that the table gives no upper end."""
        return high > self.table - 1

    def _reaches(self, recipe: Recipe, steps: IntArray) -> Hits:
        return np.array([reach(recipe, int(step), hashes=self.hashes) for step in steps])

    @property
    def _scale(self) -> float:
        return self.worth / self.users
