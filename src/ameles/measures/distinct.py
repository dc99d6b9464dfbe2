"""``distinct``: how many users, in each declared cell.

A user counts once: over the stream's life, in the cell of the first event that counts; or once in
each step.  So one user changes one count by one, or one count in each of up to ``max_steps`` steps.

If the state may be seized, it must not reveal who was there: then users are counted in a ``table``
of noisy bits (``seized_distinct``), over the stream's life or a user's window.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ameles.core.guarantee import EVENT, Intrusions
from ameles.core.loss import EpsilonLoss, delta_of
from ameles.core.recipe import Recipe
from ameles.measures.discovering import DiscoveringMeasure
from ameles.measures.measure import EventQuery, Published, Terms
from ameles.measures.refusal import Refusal
from ameles.measures.seized_distinct import (
    SEIZED_INTERVAL,
    counted,
    seized_noise,
    seized_recipe,
)
from ameles.measures.table_choice import MOST_CELLS, reach, table_why
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.noise.arrays import IntArray


class Distinct(DiscoveringMeasure):
    """Users, counted."""

    seizable_users: ClassVar[bool] = True
    # Users who come again after a restart would count twice.
    goes_on: ClassVar[bool] = False

    measure: Literal["distinct"]
    table: int | None = Field(default=None, ge=2, le=MOST_CELLS)

    @property
    def hashed_cells(self) -> int | None:
        """Those of its table."""
        return self.table

    @property
    def reach(self) -> int:
        """One: a user is in one cell."""
        return 1

    @property
    def question(self) -> EventQuery:
        """Its cell, once for each user."""
        # of a discovered key, what a user has done in earlier steps is in the user's records
        step = self.over == "step" or self.discovered is not None
        once: Literal["step", "life"] = "step" if step else "life"
        return EventQuery(cell=self.declared.cell, cells=self.cells, once=once, word=self.word)

    def records_per_key(self, terms: Terms) -> int:
        """One, or one for each step: of discovered keys, a user counts once on each."""
        steps = min(self.records(terms), terms.max_steps) if self.over == "step" else 1
        return self.max_per_key or steps

    def contributions(self, terms: Terms) -> tuple[int, int]:
        """One step, or each of a user's steps, changes by one, however many events there are."""
        return (terms.max_steps if self.over == "step" else 1), 1

    def recipe(self, terms: Terms, loss: EpsilonLoss) -> AnyMechanism:
        """A counter, or a table that may be seized."""
        if terms.intrusions is Intrusions.NONE:
            return super().recipe(terms, loss)
        return self._seized(terms, loss)

    def variance(self, terms: Terms, loss: EpsilonLoss) -> float:
        if terms.intrusions is Intrusions.NONE:
            return super().variance(terms, loss)
        # the half-width of a 95% interval is about two standard deviations
        return (reach(self._seized(terms, loss), terms.unit.window or terms.horizon or 1) / 2) ** 2

    def half_widths(self, recipe: Recipe, terms: Terms, steps: IntArray) -> NDArray[np.float64]:
        if terms.intrusions is Intrusions.NONE:
            return super().half_widths(recipe, terms, steps)
        return np.array([reach(recipe, int(step)) for step in steps])

    def forecast_of(self, terms: Terms) -> str:
        """If users share cells, a cell stands for more users the more there are."""
        if terms.intrusions is Intrusions.NONE:
            return super().forecast_of(terms)
        return "a number of users that is small compared with the table"

    def why(self, recipe: Recipe, terms: Terms) -> str:
        """By computed error, too."""
        if terms.intrusions is Intrusions.NONE:
            return super().why(recipe, terms)
        return table_why(recipe)

    def noise_in_words(self, recipe: Recipe, terms: Terms, step: int | None) -> str:
        """The noise of a counter, or the noise of the bits and of their sum."""
        if terms.intrusions is Intrusions.NONE:
            return super().noise_in_words(recipe, terms, step)
        return seized_noise(recipe)

    def interval_in_words(self, recipe: Recipe, terms: Terms) -> str:
        """The interval in words; if users share cells, it also covers collisions."""
        if terms.intrusions is Intrusions.NONE:
            return super().interval_in_words(recipe, terms)
        return SEIZED_INTERVAL

    def publish(
        self, recipe: Recipe, terms: Terms, outputs: Any, first: int, earlier: IntArray
    ) -> Published:
        if terms.intrusions is Intrusions.NONE:
            return super().publish(recipe, terms, outputs, first, earlier)
        return counted(recipe, outputs, first, terms.ended)

    def refusals(self, terms: Terms, *, weighted: bool) -> Iterator[Refusal]:
        """Refuses events without users, and windows."""
        yield from super().refusals(terms, weighted=weighted)
        if terms.unit == EVENT:
            yield Refusal(
                "measure",
                "It needs a unit that is a user.",
                why="if single events are protected, nothing says which of them belong to one user",
                tip='unit = "user", or measure = "count"',
            )
        if terms.intrusions is not Intrusions.NONE:
            yield from () if terms.unit == EVENT else self._seized_refusals()
            return
        if self.over not in ("total", "step"):
            yield Refusal(
                "over",
                "It must be total or step.",
                why="the users of a sliding window change at every step, and each step would have "
                "to be paid for",
                tip='over = "step", or unit = "user-window" with over = "total"',
            )
        if self.over == "total" and (self.max_per_key or 1) > 1:
            yield Refusal(
                "max_per_key",
                "A user counts once on each key.",
                tip='leave it out, or measure = "count"',
            )
        if self.table is not None:
            yield Refusal(
                "table",
                "It is for a state that may be seized.",
                why="a secret state has a list of keyed hashes, which counts without collisions",
                tip='leave it out, or intrusions = "one"',
            )

    def _seized_refusals(self) -> Iterator[Refusal]:
        """What a table of noisy bits cannot do."""
        if self.table is None:
            yield Refusal(
                "table",
                "It needs the number of cells that users are counted in.",
                why="a state that may be seized has a public size, and no list of who was there",
                tip="table = 100000: about twice the users that are expected has the least error",
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

    def _seized(self, terms: Terms, loss: EpsilonLoss) -> AnyMechanism:
        return seized_recipe(
            cells=self.table or 2,
            epsilon=loss.epsilon,
            delta=delta_of(loss),
            steps=terms.unit.window or terms.horizon or 1,
            horizon=terms.horizon,
            windows=terms.unit.window is not None,
        )
