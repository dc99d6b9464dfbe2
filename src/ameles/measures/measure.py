"""The base of all measures: plan fields, a question to the events, a mechanism, published values.

A measure computes a cell and integer amounts from each event, row by row; the engine adds them up
within a step.  The vector of a step goes into the measure's mechanism.  The measure turns its
outputs into published values, with an interval that covers the privacy noise only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

from ameles.core.guarantee import EVENT, Intrusions, Unit
from ameles.core.loss import EpsilonLoss
from ameles.core.recipe import Recipe
from ameles.measures.fields import Column, ExactNumber, Name, Section, problem
from ameles.measures.key_words import PAIRS, REVEALING, needs_more, not_discovered
from ameles.measures.keys import DISCOVERED, MOST, OTHER, Keys, word_of
from ameles.measures.refusal import Refusal
from ameles.measures.table_question import TableColumns, TableQuestion
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.noise.arrays import IntArray

Numbers: TypeAlias = NDArray[np.int64] | NDArray[np.float64]

# The published intervals miss this share of the noise.
BETA = 0.05

# Kinds of columns whose values have one text each, so that they can be keys.
KEYED = ("text", "integer", "boolean")
NUMERIC = ("integer", "number")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The public parameters of a stream that decide how much noise a release needs."""

    unit: Unit
    per_step: int  # events that one unit may have in a step; 1 for the unit event
    max_steps: int  # steps that one unit may have events in; 1 for the unit event
    horizon: int | None
    window: int | None  # the number of last steps that the release covers; None: all so far
    drop_after: int | None = None  # steps after which a quiet discovered key is dropped
    intrusions: Intrusions = Intrusions.NONE  # how often the state may be seized
    announced: int = 0  # how many intrusions were announced
    ended: tuple[int, ...] = ()  # the last released step of each epoch whose state was lost
    noises: int | None = None  # number of noises in the release, if each batch of events draws one


@dataclass(frozen=True, slots=True, kw_only=True)
class EventQuery:
    """What a measure computes from each event, as row-wise SQL over the plan's columns."""

    cell: str  # from 0; NULL: the event counts nowhere
    amounts: tuple[str, ...] = ("1",)  # BIGINT, each added up in a vector of its own
    cells: int
    once: Literal["step", "life"] | None = None  # a user counts once: in each step, or at all
    word: str | None = None  # the text of a discovered key; NULL: the event counts nowhere

    @property
    def width(self) -> int:
        """The length of a step's vector: first all cells of the first amount."""
        return self.cells * len(self.amounts)


@dataclass(frozen=True, slots=True)
class Values:
    """A column that is read as numbers, and the ends to which they are clamped."""

    column: str
    low: Fraction
    high: Fraction
    ends: str  # the name of these ends in a plan
    missing_counts: bool = False  # an event without a value counts, as other


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Values of several steps, one row a step, one column a key."""

    value: Numbers  # NaN where there is none
    low: Numbers
    high: Numbers
    label: NDArray[np.str_] | None = None  # the meaning of a value that is more than a number


class Measure(Section, ABC):
    """One release of a plan."""

    # Whether its mechanism can have a state that may be seized, of events and of users.
    seizable: ClassVar[bool] = False
    seizable_users: ClassVar[bool] = False
    # Whether its keys can be discovered while the stream runs.
    discovers: ClassVar[bool] = False
    # Whether its totals go on where they were after a restart with an empty state.
    goes_on: ClassVar[bool] = True
    # The quantity that the forecast's half-widths are about.
    forecast: ClassVar[str] = "the value"
    # How the ends of an interval are computed.
    interval: ClassVar[str] = "the value plus or minus the half-width that covers 95% of this noise"

    name: Name
    measure: str
    over: str = "total"
    where: str | None = None
    by: dict[Column, tuple[Any, ...] | Literal["discovered"]] = Field(default_factory=dict)
    other: bool = False
    share: ExactNumber | None = None

    @field_validator("by", mode="before")
    @classmethod
    def _texts(cls, by: object) -> object:
        """Declared values as texts, in the form that DuckDB gives them."""
        if not isinstance(by, dict):
            raise problem("It must be a table of columns, each with its declared keys.", tip=_BY)
        for column, values in by.items():
            if values == DISCOVERED:
                continue
            if not isinstance(values, list | tuple) or not values:
                raise problem(
                    f"It has no declared keys for '{column}'.",
                    why=REVEALING,
                    tip=_BY + (f'; or {{ {column} = "{DISCOVERED}" }}' if cls.discovers else ""),
                )
            if not all(isinstance(value, str | int | bool) for value in values):
                raise problem(f"The keys of '{column}' must be texts or whole numbers.", tip=_BY)
        return {
            column: DISCOVERED
            if values == DISCOVERED
            else tuple(str(v).lower() if isinstance(v, bool) else str(v) for v in values)
            for column, values in by.items()
        }

    @field_validator("share")
    @classmethod
    def _part(cls, share: Any) -> Any:
        if share is not None and not 0 < share <= 1:
            raise problem("It must be a part of epsilon, above 0 and up to 1.", tip="share = 0.5")
        return share

    @model_validator(mode="after")
    def _clear_keys(self) -> Measure:
        self._check_discovered()
        declared = self.declared
        for column, values in declared.columns.items():
            if len(set(values)) < len(values):
                raise problem(f"A key of '{column}' is declared twice.", tip="each key once")
            if self.other and OTHER in values:
                raise problem(
                    f"'{OTHER}' is a key of '{column}', and other = true adds it again.",
                    tip="without other = true, or without that key",
                )
            if self.joins and any("/" in value for value in values):
                raise problem(
                    f"A key of '{column}' has a slash.",
                    why="a slash separates the columns of a key in what is published",
                    tip="keys without slashes, or a release for each column",
                )
        if self.other and not declared.values:
            raise problem("other = true has no meaning without declared keys.", tip=_BY)
        if self.cells > MOST:
            raise problem(
                f"It has {self.cells} cells; a release may have up to {MOST}.",
                tip="fewer keys, or fewer columns in by",
            )
        return self

    def _check_discovered(self) -> None:
        """Refuses discovered columns where there can be none, or only one."""
        discovered = [column for column, values in self.by.items() if values == DISCOVERED]
        if discovered and not self.discovers:
            raise problem(
                not_discovered(discovered[0], f"for {self.measure}"),
                why=needs_more(self.measure),
                tip=f"count, sum, distinct, histogram or top; or {_BY[5:]}",
            )
        if len(discovered) > 1:
            raise problem(
                f"The keys of {len(discovered)} columns are to be discovered.",
                why=PAIRS,
                tip=f'one column "{DISCOVERED}" and declared keys for the others; or a release for '
                "each column",
            )

    @property
    def declared_by(self) -> dict[str, tuple[str, ...]]:
        """The columns of ``by`` with declared keys."""
        return {column: keys for column, keys in self.by.items() if not isinstance(keys, str)}

    @property
    def discovered(self) -> str | None:
        """The column whose keys are discovered while the stream runs, if there is one."""
        return next((column for column, keys in self.by.items() if keys == DISCOVERED), None)

    @property
    def joins(self) -> bool:
        """Whether a published key joins the values of several columns by slashes."""
        return len(self.declared.values) + (self.discovered is not None) > 1

    @cached_property
    def declared(self) -> Keys:
        """The cells that ``by`` declares; each discovered key has all of them."""
        return Keys(self.declared_by, self.other)

    def names_of(self, word: str) -> tuple[str, ...]:
        """The published keys of a discovered key, one for each declared cell.

        They join the values of all columns, in the order of ``by``.
        """
        place = list(self.by).index(self.discovered or "")
        return tuple(
            "/".join((*cell[:place], word, *cell[place:]))
            for cell in product(*self.declared.values)
        )

    @property
    def cells(self) -> int:
        """How many cells the mechanism counts in."""
        return self.declared.size

    @property
    def keys(self) -> tuple[str, ...]:
        """The key of each published column; none that is still to be discovered."""
        return self.declared.names if self.discovered is None else ()

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns whose values a key is made of, in their order; none if it has other keys."""
        declared = self.declared
        bins = () if declared.bins is None else (declared.bins.column,)
        columns = (*self.by, *(one for one in (*declared.columns, *bins) if one not in self.by))
        fixed = () if self.discovered is not None else declared.names
        return columns if self.keys == fixed else ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, beside those of ``where``."""
        return tuple(self.by)

    @property
    def keyed(self) -> Mapping[str, tuple[str, ...]]:
        """The columns whose declared values decide the cell of an event."""
        return self.declared_by

    @property
    def word(self) -> str | None:
        """SQL: the text of an event's discovered key, or NULL; None if all keys are declared."""
        return None if self.discovered is None else word_of(self.discovered, joined=self.joins)

    @property
    def read_values(self) -> Values | None:
        """The column whose values it reads as numbers, if it does."""
        return None

    @property
    def hashed_cells(self) -> int | None:
        """The cells that users are hashed into, where their state may be seized."""
        return None

    def refusals(self, terms: Terms, *, weighted: bool) -> Iterator[Refusal]:
        """Why it cannot be released on these terms; ``weighted`` says that rows have weights."""
        if terms.intrusions is Intrusions.NONE:
            return
        if terms.unit != EVENT:
            if not self.seizable_users:
                yield Refusal(
                    "measure",
                    f"Users whose state may be seized have no {self.measure}.",
                    why="to bound what a user adds, the state would have to tell users apart",
                    tip='a measure with a table of users: "distinct", "density", "cropped_mean", '
                    '"heavy", "incidence" or "modular"; or unit = "event"',
                )
        elif not self.seizable:
            yield Refusal(
                "measure",
                f"The state of {self.measure} cannot be seized without loss.",
                why="it has exact counts of steps that are open",
                tip='measure = "count", or intrusions = "none"',
            )

    def column_refusals(self, kinds: Mapping[str, str]) -> Iterator[Refusal]:
        """Refusals of columns that are declared as a kind that it cannot use."""
        for column in self.by:
            yield from wrong_kind("by", column, kinds, KEYED)

    @property
    @abstractmethod
    def question(self) -> EventQuery:
        """What it computes from each event."""

    def table_question(self, columns: TableColumns) -> TableQuestion:
        """The same for all rows of a table at once, which has these columns."""
        return TableQuestion(keys=self.declared)

    @abstractmethod
    def recipe(self, terms: Terms, loss: EpsilonLoss) -> AnyMechanism:
        """The mechanism with the smallest computed error for this question."""

    @abstractmethod
    def variance(self, terms: Terms, loss: EpsilonLoss) -> float:
        """The mean variance of its noise, in units of what one event adds to one amount."""

    def forecast_of(self, terms: Terms) -> str:
        """The quantity that the forecast's half-widths are about, on these terms."""
        return self.forecast

    @abstractmethod
    def why(self, recipe: Recipe, terms: Terms) -> str:
        """Why this mechanism, in words."""

    @abstractmethod
    def noise_in_words(self, recipe: Recipe, terms: Terms, step: int | None) -> str:
        """The law of the noise, and its size at a step.

        ``step`` is None if the size is not known: nothing says which intrusions came before a step.
        """

    def interval_in_words(self, recipe: Recipe, terms: Terms) -> str:
        """How the ends of an interval are computed, on these terms."""
        return self.interval

    @abstractmethod
    def half_widths(self, recipe: Recipe, terms: Terms, steps: IntArray) -> NDArray[np.float64]:
        """The half-width of the published interval at each of these steps, before there is data.

        If it depends on the data, it is the half-width of the quantity that ``forecast`` names.
        """

    @abstractmethod
    def publish(
        self, recipe: Recipe, terms: Terms, outputs: Any, first: int, earlier: IntArray
    ) -> Published:
        """The published values, from the mechanism's outputs at steps first, first + 1, ...

        ``earlier`` has the outputs of the ``terms.window`` steps before, zeros before the first.
        """


def wrong_kind(
    key: str, column: str, kinds: Mapping[str, str], wanted: tuple[str, ...]
) -> Iterator[Refusal]:
    """A refusal if the column is declared as none of the wanted kinds."""
    kind = kinds.get(column)
    if kind is not None and kind not in wanted:
        allowed = " or ".join([", ".join(wanted[:-1]), wanted[-1]])
        yield Refusal(
            key,
            f"The column '{column}' is declared as {kind} and must be {allowed} here.",
            tip=f'columns = {{ {column} = "{wanted[0]}", ... }}',
        )


_BY = 'by = { region = ["north", "south"] }'
