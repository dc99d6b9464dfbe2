"""``reports``: how many devices have which category, from reports that the devices randomised.

Or the sum of their values, from reports about a bounded number.  Each event is one report of a
local randomizer: a whole number.  The plan's counters count how often
each number was reported, under the plan's own epsilon, so that nobody learns who reported at all.
What a report says was hidden before it arrived, also from the server: that loss is the randomizer's
and is no part of the plan's epsilon.  The published counts are unbiased: (support - n q) / (p - q)
of the noisy counts (``ameles.mechanisms.local``).

The interval: with probability 1 - beta / 3 each, the noise of the estimate and that of the number
of reports are within their bounds, and the devices' own coins are within theirs for that many
reports.  It assumes that each report was drawn on its own: a device that sends one report twice is
bounded by a user unit, with the report's nonce as the user.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import field_validator, model_validator

from ameles.core.exceptions import AmelesError
from ameles.core.recipe import Recipe
from ameles.measures.expected import counter_of
from ameles.measures.fields import Column, ExactNumber, Section, problem
from ameles.measures.keys import MOST, Keys
from ameles.measures.linear import LinearMeasure, draw_in_words
from ameles.measures.measure import BETA, EventQuery, Published, Terms, wrong_kind
from ameles.measures.ranks import excess_bounds
from ameles.measures.refusal import Refusal
from ameles.mechanisms.local.bounded_mean import MeanResponse
from ameles.mechanisms.local.hadamard import HadamardResponse
from ameles.mechanisms.local.randomizer import FrequencyRandomizer
from ameles.mechanisms.local.response import RandomizedResponse
from ameles.noise.arrays import IntArray

_TIP = 'randomizer = { kind = "hadamard", epsilon = 1 }'
_MEAN_TIP = 'randomizer = { kind = "mean", largest = 100, epsilon = 1 }'
_CATEGORIES_TIP = 'categories = ["home", "work", "school"]'


class RandomizerFields(Section):
    """The randomizer that all devices used."""

    kind: Literal["response", "hadamard", "mean"]
    epsilon: ExactNumber | None = None
    odds: ExactNumber | None = None
    largest: int | None = None

    def recipe(self, categories: int) -> FrequencyRandomizer:
        """The recipe of the devices."""
        if self.kind == "mean":
            return MeanResponse(largest=self.largest or 0, epsilon=self.epsilon, odds=self.odds)
        kind = RandomizedResponse if self.kind == "response" else HadamardResponse
        return kind(categories=categories, epsilon=self.epsilon, odds=self.odds)


class Reports(LinearMeasure):
    """Reports of devices, counted and decoded."""

    forecast: ClassVar[str] = "the server's noise alone, to which that of the devices comes,"
    interval: ClassVar[str] = (
        "the value plus or minus a half-width that covers 95% of the noise of devices and server"
    )
    adds_up: ClassVar[bool] = False

    measure: Literal["reports"]
    column: Column
    categories: tuple[str, ...] = ()
    randomizer: RandomizerFields

    @field_validator("categories", mode="before")
    @classmethod
    def _texts_of(cls, given: Any) -> Any:
        tip = _CATEGORIES_TIP
        if not isinstance(given, list | tuple) or len(given) < 2:
            raise problem("It must be a list of two or more categories.", tip=tip)
        if not all(isinstance(value, str | int) and not isinstance(value, bool) for value in given):
            raise problem("Categories must be texts or whole numbers.", tip=tip)
        texts = tuple(str(value) for value in given)
        if len(set(texts)) < len(texts):
            raise problem("A category is listed twice.", tip=tip)
        return texts

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, given: Any) -> Any:
        """Categories for all but a mean, the largest value for a mean alone."""
        randomizer = given.get("randomizer") if isinstance(given, dict) else None
        if isinstance(randomizer, dict):
            mean = randomizer.get("kind") == "mean"
            if mean and "categories" in given:
                raise problem("A mean has no categories.", tip=_MEAN_TIP)
            if not mean and "categories" not in given:
                raise problem("Reports need the list of categories.", tip=_CATEGORIES_TIP)
            if mean != ("largest" in randomizer):
                raise problem("A mean needs the largest value, and only a mean.", tip=_MEAN_TIP)
        return given

    @model_validator(mode="after")
    def _usable(self) -> Reports:
        if self.other:
            raise problem("Reports have no other.", why="a number that is no report counts nowhere")
        if self.column in self.by:
            raise problem(f"The column '{self.column}' has the reports and cannot be in by.")
        try:
            cells = Keys(self.declared_by, other=False).size * self.local.report_values
        except AmelesError as refused:
            raise problem(f"The randomizer cannot be used. {refused.what}", tip=_TIP) from None
        if cells > MOST:
            raise problem(
                f"It has {cells} cells; a release may have up to {MOST}.",
                tip="fewer categories, or fewer keys in by",
            )
        return self

    @cached_property
    def local(self) -> FrequencyRandomizer:
        """The randomizer of the devices."""
        return self.randomizer.recipe(len(self.categories))

    @cached_property
    def declared(self) -> Keys:
        """The keys times the numbers that can be reported."""
        numbers = tuple(str(number) for number in range(self.local.report_values))
        return Keys({**self.declared_by, self.column: numbers}, other=False)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys times the categories; a mean has none."""
        parts = {self.column: self.categories} if self.categories else {}
        return Keys({**self.declared_by, **parts}, other=False).names

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Those of the keys, and that of the categories."""
        return self.columns if self.categories else tuple(self.by)

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the keys, and that of the reports."""
        return (*self.by, self.column)

    @property
    def keyed(self) -> Mapping[str, tuple[str, ...]]:
        """Those of the keys, and the numbers that can be reported."""
        return self.declared.columns

    @property
    def reach(self) -> int:
        """One: a report is one number."""
        return 1

    @property
    def question(self) -> EventQuery:
        """Its cell."""
        return EventQuery(cell=self.declared.cell, cells=self.cells)

    def column_refusals(self, kinds: Mapping[str, str]) -> Iterator[Refusal]:
        """Refuses reports that are no whole numbers."""
        yield from super().column_refusals(kinds)
        if kinds.get(self.column) not in (None, "integer"):
            yield from wrong_kind("column", self.column, kinds, ("integer", "integer"))

    def noise_in_words(self, recipe: Recipe, terms: Terms, step: int | None) -> str:
        """Both noises: the server's and the devices'."""
        server = draw_in_words(counter_of(recipe))
        return f"{server} on each count of reports, each randomised with {self.local.loss}"

    def half_widths(self, recipe: Recipe, terms: Terms, steps: IntArray) -> NDArray[np.float64]:
        return self._bounds(recipe, terms, steps, share=float(self.local.q)) / self._gap

    @property
    def _gap(self) -> float:
        """How much of a report one published unit is."""
        return float(self.local.p - self.local.q) / (self.randomizer.largest or 1)

    def _bounds(
        self, recipe: Recipe, terms: Terms, steps: IntArray, *, share: float
    ) -> NDArray[np.float64]:
        """The server's noise in an estimate (times p - q), or with share 0 in the number of
        reports."""
        numbers = self.local.report_values
        supporting = numbers // 2 if self.randomizer.kind == "hadamard" else 1
        bounds = excess_bounds(
            counter_of(recipe),
            terms.window,
            steps.tolist(),
            bins=numbers if share else numbers + 1,
            share=share,
            beta=BETA / 3,
            announced=terms.announced,
            ended=terms.ended,
            noises=terms.noises,
        )
        return bounds[:, (supporting if share else numbers) - 1]

    def publish(
        self, recipe: Recipe, terms: Terms, outputs: Any, first: int, earlier: IntArray
    ) -> Published:
        local, numbers = self.local, self.local.report_values
        steps = np.arange(first, first + len(outputs))
        totals = self.spans(terms, outputs, earlier).reshape(len(steps), -1, numbers)
        reports = totals.sum(axis=2)
        counts = totals.astype(np.int64)
        if self.randomizer.kind == "mean":
            support = counts[..., 1:]  # the ones
        else:
            support = np.array(
                [[local.supported(one, int(one.sum())) for one in row] for row in counts]
            )
        value = (support - reports[..., None] * float(local.q)) / self._gap
        worth = self.randomizer.largest or 1
        most = reports + self._bounds(recipe, terms, steps, share=0.0)[:, None]
        own = local.error.bounds(np.maximum(np.ceil(most), 0), BETA / 3)
        half = self.half_widths(recipe, terms, steps)[:, None, None] + worth * own[..., None]
        flat = (len(steps), len(self.keys))
        return Published(
            value=value.reshape(flat),
            low=(value - half).reshape(flat),
            high=(value + half).reshape(flat),
        )
