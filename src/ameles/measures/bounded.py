"""Values between declared bounds, on a grid: what one event can add is then known.

Each value is rounded to the nearest multiple of the granularity and clamped, row by row and in
whole numbers at the end, so that no rounding of floating-point numbers can pass the bound.  An
event whose value is missing or not a number counts nowhere.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from pydantic import model_validator

from ameles.core.exceptions import BadInput
from ameles.measures.bins import EXACT, real, real_literal
from ameles.measures.fields import Column, ExactNumber, identifier, problem
from ameles.measures.linear import LinearMeasure
from ameles.measures.measure import NUMERIC, EventQuery, Terms, Values, wrong_kind
from ameles.measures.refusal import Refusal
from ameles.measures.table_question import Amount, TableColumns, TableQuestion
from ameles.mechanisms.counters.grid import Grid
from ameles.mechanisms.counters.recipe import EVENTS

_TIP = "lower = 0, upper = 120, granularity = 1"


class BoundedMeasure(LinearMeasure):
    """A measure of the values of one column."""

    column: Column
    lower: ExactNumber
    upper: ExactNumber
    granularity: ExactNumber

    @model_validator(mode="before")
    @classmethod
    def _bounds_given(cls, table: Any) -> Any:
        if isinstance(table, dict):
            missing = [name for name in ("lower", "upper", "granularity") if name not in table]
            if missing:
                raise problem(
                    f"It has no {' and no '.join(missing)}.",
                    why="without bounds one event could add any amount, which no noise hides; "
                    "bounds taken from the data would reveal the largest value",
                    tip=_TIP,
                )
        return table

    @model_validator(mode="after")
    def _on_a_grid(self) -> BoundedMeasure:
        try:
            _ = self.grid
        except BadInput as refusal:
            raise problem(refusal.what, why=refusal.why, tip=refusal.tip or _TIP) from None
        return self

    @property
    def grid(self) -> Grid:
        """The range of values and the steps in which they are counted."""
        return _grid(self.lower, self.upper, self.granularity)

    @property
    def ends(self) -> tuple[int, int]:
        """The bounds in grid units."""
        grid = self.grid
        return int(grid.lower / grid.granularity), int(grid.upper / grid.granularity)

    @property
    def parts(self) -> int:
        """The number of units of its amount that make one grid unit."""
        return 1

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the keys, and that of the values."""
        return tuple(dict.fromkeys((*self.by, self.column)))

    @property
    def read_values(self) -> Values:
        """Those of its column, within the bounds."""
        return Values(self.column, self.grid.lower, self.grid.upper, ends="bounds")

    @property
    def amount(self) -> float:
        """A grid unit."""
        return float(self.grid.granularity)

    @property
    def question(self) -> EventQuery:
        """The cell of an event that has a value, and its amounts."""
        amounts = tuple(one.of_each_row for one in self._amounts(self.units))
        return EventQuery(cell=self.cell, amounts=amounts, cells=self.cells, word=self.word)

    def table_question(self, columns: TableColumns) -> TableQuestion:
        """The rows that have a value, and their amounts."""
        units, where = self.table_units(columns)
        return TableQuestion(keys=self.declared, amounts=self._amounts(units), where=where)

    def table_units(self, columns: TableColumns) -> tuple[str, str]:
        """SQL: a row's value in grid units, and whether it has one.

        Integers on a grid of integers need no floating-point numbers, and no rounding.
        """
        low, high = self.ends
        exact = self.grid.granularity == 1 and max(-low, high) < EXACT
        if columns.kinds.get(self.column) == "integer" and exact:
            value = identifier(self.column)
            return columns.clamped(value, low, high), f"{value} IS NOT NULL"
        value = real(self.column)
        return self.units, f"{value} IS NOT NULL AND NOT isnan({value})"

    @abstractmethod
    def _amounts(self, units: str) -> tuple[Amount, ...]:
        """The amounts of a row, from its value in grid units."""

    @property
    def cell(self) -> str:
        """SQL: the cell of an event that has a value."""
        value = real(self.column)
        has_none = f"{value} IS NULL OR isnan({value})"
        return f"CASE WHEN {has_none} THEN NULL ELSE {self.declared.cell} END"

    @property
    def units(self) -> str:
        """SQL: an event's value in grid units, never beyond the ends, never an error."""
        low, high = self.ends
        lower, upper = (real_literal(end) for end in (self.grid.lower, self.grid.upper))
        # Clamped before the division, so that it cannot overflow, and after the rounding, so
        # that the bound holds whatever floating-point arithmetic does in between.
        clamped = f"least(greatest({real(self.column)}, {lower}), {upper})"
        step = self.grid.granularity
        share = clamped if step == 1 else f"{clamped} / {real_literal(step)}"
        rounded = f"CAST(round({share}) AS BIGINT)"
        return f"least(greatest({rounded}, {low}), {high})"

    def refusals(self, terms: Terms, *, weighted: bool) -> Iterator[Refusal]:
        """Too fine a grid for 64 bits."""
        yield from super().refusals(terms, weighted=weighted)
        _, bound = self.contributions(terms)
        # the counters keep room for noise, which is small beside this many events
        if EVENTS * bound >= 1 << 62:
            yield Refusal(
                "granularity",
                f"One unit could add {bound} grid units to a step; there may be fewer than "
                f"{(1 << 62) // EVENTS}.",
                why="totals of 2**40 events would not fit into 64 bits",
                tip="a larger granularity, or a narrower range",
            )

    def column_refusals(self, kinds: Mapping[str, str]) -> Iterator[Refusal]:
        """Values must be numbers."""
        yield from super().column_refusals(kinds)
        yield from wrong_kind("column", self.column, kinds, NUMERIC)


@lru_cache(maxsize=1024)
def _grid(lower: Fraction, upper: Fraction, granularity: Fraction) -> Grid:
    """Made once: a plan asks for it for every question about an event."""
    return Grid(lower=lower, upper=upper, granularity=granularity)
