"""Measures whose keys may be discovered while the stream runs: ``by = { tag = "discovered" }``.

A key becomes public once enough users have brought it; then its totals are published, at every
step.  Which keys are public, and how many, depends on the data through the mechanism alone
(``mechanisms/discovery``).  What one user may add is bounded by public parameters: at most
``max_keys`` events in all, at most ``max_per_key`` of them on one key, and one discovery for each
of the ``slots``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

from ameles.core.guarantee import EVENT
from ameles.core.loss import EpsilonLoss, delta_of
from ameles.core.recipe import Recipe
from ameles.core.words import brief
from ameles.measures.expected import expected
from ameles.measures.fields import problem
from ameles.measures.linear import LinearMeasure, whole
from ameles.measures.measure import BETA, Published, Terms
from ameles.measures.refusal import Refusal
from ameles.mechanisms.discovery.key_discovery import KeyDiscovery
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.noise.arrays import IntArray

MOST_RECORDS = 32  # of a user, unless the plan says otherwise
_FIELDS = ("max_keys", "max_per_key", "slots", "looks", "drop_after")


class DiscoveringMeasure(LinearMeasure):
    """A vector of running counters, of declared keys or of keys that are discovered."""

    discovers: ClassVar[bool] = True

    max_keys: int | None = Field(default=None, ge=1, le=1 << 20)
    max_per_key: int | None = Field(default=None, ge=1, le=1 << 20)
    slots: tuple[int, ...] | None = None
    looks: int | None = Field(default=None, ge=1, le=1000)
    drop_after: str | None = None

    @field_validator("slots", mode="before")
    @classmethod
    def _weights(cls, given: Any) -> Any:
        right = (
            isinstance(given, list | tuple)
            and 1 <= len(given) <= 32
            and all(type(one) is int and 1 <= one <= 1024 for one in given)
            and max(given) == given[0]
        )
        if given is not None and not right:
            raise problem(
                "It must be a list of 1 to 32 whole numbers from 1 to 1024, the largest first.",
                why="they are the weights of a user's first, second, ... discovery",
                tip="slots = [4, 2, 1, 1]",
            )
        return None if given is None else tuple(int(one) for one in given)

    @model_validator(mode="after")
    def _about_discovered_keys(self) -> DiscoveringMeasure:
        given = [name for name in _FIELDS if getattr(self, name) is not None]
        if given and self.discovered is None:
            raise problem(
                f"{', '.join(given)} cannot be used with declared keys.",
                why="declared keys are public from the start",
                tip='by = { tag = "discovered" }, or leave it out',
            )
        return self

    def records(self, terms: Terms) -> int:
        """How many events of a user count on all keys together."""
        return self.max_keys or min(MOST_RECORDS, terms.max_steps * terms.per_step)

    def records_per_key(self, terms: Terms) -> int:
        """How many events of a user count on one key."""
        return self.max_per_key or 1

    def recipe(self, terms: Terms, loss: EpsilonLoss) -> AnyMechanism:
        if self.discovered is None:
            return super().recipe(terms, loss)
        return self._discovery(terms, loss)

    def _discovery(self, terms: Terms, loss: EpsilonLoss) -> KeyDiscovery:
        slots = {} if self.slots is None else {"slots": self.slots}
        return KeyDiscovery(
            epsilon=loss.epsilon,
            delta=delta_of(loss),
            horizon=terms.horizon or 1,
            records=self.records(terms),
            per_key=self.records_per_key(terms),
            bound=self.reach,
            cells=self.question.width,
            looks=self.looks,
            drop_after=terms.drop_after,
            unit=terms.unit.tag,
            **slots,
        )

    def variance(self, terms: Terms, loss: EpsilonLoss) -> float:
        if self.discovered is None:
            return super().variance(terms, loss)
        recipe = self._discovery(terms, loss)
        return (recipe.error.rms(recipe.horizon) / self.largest) ** 2

    def noise(
        self, recipe: Recipe, terms: Terms, steps: IntArray, beta: float = BETA
    ) -> NDArray[np.float64]:
        """Of a key that is discovered, the half-width if it is found at the first look."""
        if self.discovered is None:
            return super().noise(recipe, terms, steps, beta)
        first = expected(recipe, KeyDiscovery).step_of(1)
        since = np.minimum(steps, first)
        return self.noise_since(recipe, terms, steps, since, beta)

    def noise_since(
        self, recipe: Recipe, terms: Terms, steps: IntArray, since: IntArray, beta: float = BETA
    ) -> NDArray[np.float64]:
        """The half-width at each step of a cell whose key was discovered at each ``since``."""
        found, window = expected(recipe, KeyDiscovery), terms.window
        pairs, of = np.unique(np.stack([steps, since]), axis=1, return_inverse=True)
        bounds = [
            found.value_error(first).between(0 if window is None else step - window, step)
            for step, first in pairs.T.tolist()
        ]
        return np.array([law.quantile(beta) for law in bounds], dtype=np.float64)[of.reshape(-1)]

    def first_step(self, terms: Terms, since: IntArray) -> IntArray:
        """The first step at which keys that were discovered at ``since`` have a number.

        A window must begin at the discovery or later: nothing says in which steps the events before
        it were.
        """
        return since if terms.window is None else since + np.int64(terms.window)

    def publish_keys(
        self,
        recipe: Recipe,
        terms: Terms,
        totals: IntArray,
        step: int,
        since: IntArray,
        names: Sequence[str],
    ) -> Published:
        """The published values of one step, in one row.

        ``totals`` has a row for each public key, which was discovered at its ``since``, and a
        column for each cell; ``names`` are those of all cells, one key after the other.
        """
        cells = max(1, totals.size)
        steps = np.full(len(since), step, dtype=np.int64)
        noise = self.noise_since(recipe, terms, steps, since, BETA / self.at_once(cells))
        half = np.repeat(whole(noise), totals.shape[1])[None, :]
        return self.shown(totals.reshape(1, -1), half, names)

    def why(self, recipe: Recipe, terms: Terms) -> str:
        """What only this mechanism does."""
        if self.discovered is None:
            return super().why(recipe, terms)
        looks = expected(recipe, KeyDiscovery).look_count
        times = "once" if looks == 1 else f"{looks:,} times"
        return (
            f"it publishes a key only once enough users have brought it, and looks for keys {times}"
        )

    def noise_in_words(self, recipe: Recipe, terms: Terms, step: int | None) -> str:
        """The law of the noise, and its deviations for keys that were found first and last."""
        if self.discovered is None:
            return super().noise_in_words(recipe, terms, step)
        law = "discrete Gaussian, filtered over the steps since the key was discovered"
        if step is None:
            return law
        found = expected(recipe, KeyDiscovery)
        late = step if terms.window is None else max(1, step - terms.window)
        early = min(found.step_of(1), late)
        before = 0 if terms.window is None else late
        sizes = [
            brief(self.amount * found.value_error(since).between(before, step).std)
            for since in (late, early)
        ]
        told = sizes[0] if sizes[0] == sizes[1] else f"{sizes[0]} to {sizes[1]}"
        return f"{law}; all draws in this number together have standard deviation {told}" + (
            "" if sizes[0] == sizes[1] else ", the longer ago the key was found the more"
        )

    def interval_in_words(self, recipe: Recipe, terms: Terms) -> str:
        if self.discovered is None:
            return super().interval_in_words(recipe, terms)
        return f"{self.interval}, as it is since the key was discovered"

    def forecast_of(self, terms: Terms) -> str:
        if self.discovered is None:
            return super().forecast_of(terms)
        return f"{self.forecast} of a key that is found at the first look"

    def users_needed(
        self, recipe: Recipe, steps: tuple[int, int, int]
    ) -> tuple[int, int, int] | None:
        """How many users a key needs to be found by these steps; None if keys are declared."""
        if self.discovered is None:
            return None
        found = expected(recipe, KeyDiscovery)
        first, middle, last = (found.users_needed(step) for step in steps)
        return first, middle, last

    def looked_for(
        self, recipe: Recipe, steps: tuple[int, int, int]
    ) -> tuple[int, int, int] | None:
        """The steps of the first looks from these steps on; None if keys are declared."""
        if self.discovered is None:
            return None
        found = expected(recipe, KeyDiscovery)
        first, middle, last = (found.step_of(found.next_look(step)) for step in steps)
        return first, middle, last

    def refusals(self, terms: Terms, *, weighted: bool) -> Iterator[Refusal]:
        """Bounds of users that contradict each other."""
        yield from super().refusals(terms, weighted=weighted)
        if self.discovered is None or terms.unit == EVENT:
            return
        most, records = terms.max_steps * terms.per_step, self.records(terms)
        if records > most:
            yield Refusal(
                "max_keys",
                f"It is more than the {most} events that a user has at most.",
                why="noise is drawn for all that a user may add",
                tip=f"max_keys = {most}, or larger max_steps or max_per_step",
            )
        if self.records_per_key(terms) > records:
            yield Refusal(
                "max_per_key",
                f"It is more than the {records} events of a user that count on all keys together.",
                tip=f"max_per_key = {records}, or a larger max_keys",
            )
        if self.looks is not None and terms.horizon is not None and self.looks > terms.horizon:
            yield Refusal(
                "looks",
                f"It is more than the {terms.horizon} steps of the stream.",
                why="keys are looked for at most once a step",
                tip=f"looks = {terms.horizon}",
            )
