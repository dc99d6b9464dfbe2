"""``modular``: the fractions of the users whose number of events is 0, 1, ... modulo ``modulus``.

It is published once, with the last step of the stream or of a user's window: what a residue tells
comes and goes for ever, and no algorithm can publish it at every step (catalogue 18, 27).  The
steps before have the label ``waiting``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ameles.core.loss import EpsilonLoss
from ameles.core.recipe import Recipe
from ameles.measures.collisions import Hits, fewest_among, most_alone, users_hitting
from ameles.measures.expected import expected
from ameles.measures.measure import BETA, EventQuery, Published, Terms
from ameles.measures.refusal import Refusal
from ameles.measures.table_choice import PARTS, RESTARTED, counted_anew
from ameles.measures.table_measure import PRESENCE, HashedMeasure
from ameles.mechanisms.continual.modular_once import ModularOnce
from ameles.mechanisms.continual.renewed import Renewed
from ameles.mechanisms.continual.transformation import CODE
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.pan_private.modular import ModularIncidence
from ameles.noise.arrays import IntArray

WAITING = "waiting"
LARGEST = 64


class Modular(HashedMeasure):
    """Users by their number of events modulo a number."""

    adds_up: ClassVar[bool] = True

    measure: Literal["modular"]
    modulus: int = Field(ge=2, le=LARGEST)

    @property
    def keys(self) -> tuple[str, ...]:
        """The residues."""
        return tuple(str(residue) for residue in range(self.modulus))

    @property
    def question(self) -> EventQuery:
        """A bin for each residue."""
        return EventQuery(cell=self.declared.cell, cells=self.modulus)

    def refusals(self, terms: Terms, *, weighted: bool) -> Iterator[Refusal]:
        """Refuses what would never be published."""
        yield from super().refusals(terms, weighted=weighted)
        window = terms.unit.window
        if window is not None and terms.horizon is not None and terms.horizon < window:
            yield Refusal(
                "measure",
                f"It would never be published within {terms.horizon} steps.",
                why=f"it comes with the last step of each window, and a window has {window} steps",
                tip=f"horizon = {window}, a shorter window, or no horizon",
            )

    def recipe(self, terms: Terms, loss: EpsilonLoss) -> AnyMechanism:
        """One release, with the best division of epsilon between it and the state."""
        tables = [self._table(loss, part) for part in range(1, PARTS)]
        best = min(tables, key=lambda table: _half(table, self.hit_at_most))
        once = ModularOnce(table=best, horizon=terms.unit.window or terms.horizon or 1)
        return once if terms.unit.window is None else Renewed(inner=once, horizon=terms.horizon)

    def variance(self, terms: Terms, loss: EpsilonLoss) -> float:
        # the half-width of a 95% interval is about two standard deviations
        return (_half(_once(self.recipe(terms, loss)).table, self.hit_at_most) / 2) ** 2

    def half_widths(self, recipe: Recipe, terms: Terms, steps: IntArray) -> NDArray[np.float64]:
        """Half of the interval of a residue that nobody has."""
        half = np.array([_half(_once(recipe).table, self.hit_at_most)])
        low, high = self._ends(-half, half)
        return np.repeat((high - low) / 2 / self.users, len(steps))

    def forecast_of(self, terms: Terms) -> str:
        """There is one release only."""
        return "a fraction that is small, in the one release at the end"

    def why(self, recipe: Recipe, terms: Terms) -> str:
        """Because there is no other way."""
        once = _once(recipe)
        end = f"step {once.horizon}" if once is recipe else "the last step of each window"
        return f"a number that comes and goes for ever can be published once, with {end}"

    def noise_in_words(self, recipe: Recipe, terms: Terms, step: int | None) -> str:
        """The noise of the offsets, and of the bins."""
        table = _once(recipe).table
        return (
            f"each of {table.users:,} cells counts from a random offset, 0 with probability "
            f"{table.error.chances[1]:.3g} and any other with {table.error.chances[0]:.3g}; "
            f"discrete Laplace of scale {float(table.scale):.6g} on each residue"
        )

    def publish(
        self, recipe: Recipe, terms: Terms, outputs: Any, first: int, earlier: IntArray
    ) -> Published:
        once = _once(recipe)
        error = once.table.error
        waiting = outputs == CODE
        counts = np.where(waiting, 0, outputs)
        hits = (counts - error.chances[0] * self.table) * error.unit * self.table
        half = _half(once.table, self.hit_at_most)
        low, high = self._ends(hits - half, hits + half)
        value = np.clip(hits, *self._ends(hits, hits))
        # of residue 0 it is told how many users do not have it
        others = self.table - hits[:, 0]
        some = users_hitting(others - half, self.table)
        most = most_alone(others + half, self.table, self.users)
        low[:, 0], high[:, 0] = self.users - most, self.users - some
        value[:, 0] = self.users - users_hitting(others, self.table)
        steps = np.arange(first, first + len(outputs))
        again = counted_anew(steps, once.horizon, terms.ended)
        label = np.where(waiting, WAITING, np.where(again[:, None], RESTARTED, ""))
        value, low, high = (
            np.where(waiting, np.nan, part / self.users) for part in (value, low, high)
        )
        return Published(value=value, low=low, high=high, label=label)

    def _ends(self, low: Hits, high: Hits) -> tuple[Hits, Hits]:
        """Two users of other residues may add up to this one, and two together may hide one."""
        fewest = fewest_among(low, self.table, self.users)
        return fewest, most_alone(high, self.table, self.users)

    def _table(self, loss: EpsilonLoss, part: int) -> ModularIncidence:
        state = loss.epsilon * part / PARTS
        return ModularIncidence(
            users=self.table,
            modulus=self.modulus,
            neighbours=PRESENCE,
            epsilon_state=state,
            epsilon_output=loss.epsilon - state,
        )


def _once(recipe: Recipe) -> ModularOnce:
    inner: object = recipe.inner if isinstance(recipe, Renewed) else recipe
    return expected(inner, ModularOnce)


@lru_cache(maxsize=256)
def _half(table: ModularIncidence, most: int) -> float:
    """The distance between the estimated cells of a residue and their mean that is exceeded with
    probability at most beta; at most so many cells have users."""
    error = table.error
    peak = error.chances[1] - error.chances[0]
    # a user who is hashed elsewhere moves a bin by at most 2
    hashed = replace(error, rest=most * peak**2)
    return max(hashed.margins(BETA)) * table.users
