"""``top``: the keys with the largest counts, by rank.

All declared keys are counted, and the noisy counts give their order.  The intervals hold for all
keys at once, so they also hold for the winning keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from ameles.core.recipe import Recipe
from ameles.measures.discovering import DiscoveringMeasure
from ameles.measures.fields import problem
from ameles.measures.key_words import REVEALING
from ameles.measures.measure import BETA, EventQuery, Published, Terms
from ameles.noise.arrays import IntArray

MOST_RANKS = 10_000  # of keys that are discovered


class Top(DiscoveringMeasure):
    """The ``k`` largest of the declared keys."""

    interval: ClassVar[str] = (
        "the value plus or minus a half-width that covers the noise of all keys at once, with 95%"
    )

    measure: Literal["top"]
    k: int = Field(ge=1)

    @model_validator(mode="after")
    def _among_enough(self) -> Top:
        if not self.by:
            raise problem(
                "It has no keys to rank.",
                why=REVEALING,
                tip='by = { region = ["north", "south"] }, or by = { tag = "discovered" }',
            )
        if self.discovered is not None and self.k > MOST_RANKS:
            raise problem(
                f"It asks for {self.k:,} of the keys that are discovered; it may ask for up to "
                f"{MOST_RANKS:,}.",
                why="every rank is published at every step, with a key or without",
                tip='k = 100; or measure = "count", for all keys that are found',
            )
        if self.discovered is None and self.k > self.cells:
            raise problem(
                f"It asks for {self.k} of {self.cells} declared keys.", tip=f"k = {self.cells}"
            )
        return self

    @property
    def keys(self) -> tuple[str, ...]:
        """The ranks, from 1."""
        return tuple(str(rank) for rank in range(1, self.k + 1))

    @property
    def reach(self) -> int:
        """One: an event is in one cell."""
        return 1

    @property
    def question(self) -> EventQuery:
        """Its cell."""
        return EventQuery(cell=self.declared.cell, cells=self.cells, word=self.word)

    def half_widths(self, recipe: Recipe, terms: Terms, steps: IntArray) -> NDArray[np.float64]:
        return self.noise(recipe, terms, steps, BETA / self.at_once(self.cells))

    def at_once(self, cells: int) -> int:
        """All of them: so the interval also holds for the winning keys."""
        return cells

    def shown(self, totals: IntArray, half: IntArray, names: Sequence[str]) -> Published:
        # Descending and stable: among equal counts, the key that was declared first wins.  The
        # bitwise complement reverses the order of all 64-bit integers; a minus does not.
        winners = np.argsort(~totals, axis=1, kind="stable")[:, : self.k]
        value = np.take_along_axis(totals, winners, axis=1)
        half = np.take_along_axis(np.broadcast_to(half, totals.shape), winners, axis=1)
        label = np.array(names, dtype=np.str_)[winners]
        lacking = ((0, 0), (0, self.k - winners.shape[1]))
        if not lacking[1][1]:
            return Published(value=value, low=value - half, high=value + half, label=label)
        # ranks that wait for keys to be discovered
        padded, low, high = (
            np.pad(one.astype(np.float64), lacking, constant_values=np.nan)
            for one in (value, value - half, value + half)
        )
        label = np.pad(label, lacking, constant_values="")
        return Published(value=padded, low=low, high=high, label=label)
