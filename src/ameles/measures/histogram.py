"""``histogram``: how many events have which value of a column, in bins or declared categories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import field_validator, model_validator

from ameles.measures.bins import Bins, Edges
from ameles.measures.discovering import DiscoveringMeasure
from ameles.measures.fields import Column, problem
from ameles.measures.keys import Keys
from ameles.measures.measure import KEYED, NUMERIC, EventQuery, Values, wrong_kind
from ameles.measures.refusal import Refusal
from ameles.measures.table_question import TableColumns, TableQuestion

_TIP = 'edges = [0, 18, 65, 120], or categories = ["a", "b"]'


class Histogram(DiscoveringMeasure):
    """Events, counted in each bin; ``other`` also counts those that are in none."""

    measure: Literal["histogram"]
    column: Column
    edges: Edges | None = None
    categories: tuple[str, ...] | None = None

    @field_validator("categories", mode="before")
    @classmethod
    def _texts_of(cls, given: Any) -> Any:
        if not isinstance(given, list | tuple) or not given:
            raise problem("It must be a list of the declared categories.", tip=_TIP)
        if not all(isinstance(value, str | int | bool) for value in given):
            raise problem("Categories must be texts or whole numbers.", tip=_TIP)
        return tuple(str(v).lower() if isinstance(v, bool) else str(v) for v in given)

    @model_validator(mode="after")
    def _one_of_both(self) -> Histogram:
        if (self.edges is None) == (self.categories is None):
            raise problem("It must have exactly one of edges and categories.", tip=_TIP)
        if self.column in self.by:
            raise problem(f"The column '{self.column}' is already divided in by.")
        return self

    @cached_property
    def declared(self) -> Keys:
        """The keys times the bins or categories."""
        return self._declared(whole=False)

    def _declared(self, *, whole: bool) -> Keys:
        if self.edges is not None:
            return Keys(self.declared_by, self.other, Bins(self.column, self.edges, whole=whole))
        return Keys({**self.declared_by, self.column: self.categories or ()}, self.other)

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the keys, and that of the values."""
        return tuple(dict.fromkeys((*self.by, self.column)))

    @property
    def keyed(self) -> Mapping[str, tuple[str, ...]]:
        """Those of the keys, and the categories."""
        by = self.declared_by
        return by if self.categories is None else {**by, self.column: self.categories}

    @property
    def read_values(self) -> Values | None:
        """Those of its column, where it has bins; what is in none may count as other."""
        if self.edges is None:
            return None
        low, high = self.edges[0], self.edges[-1]
        return Values(self.column, low, high, ends="edges", missing_counts=self.other)

    @property
    def reach(self) -> int:
        """One: an event is in one bin."""
        return 1

    @property
    def question(self) -> EventQuery:
        """Its cell."""
        return EventQuery(cell=self.declared.cell, cells=self.cells, word=self.word)

    def table_question(self, columns: TableColumns) -> TableQuestion:
        """The same; bins of integers may need one division only."""
        return TableQuestion(keys=self._declared(whole=columns.kinds.get(self.column) == "integer"))

    def column_refusals(self, kinds: Mapping[str, str]) -> Iterator[Refusal]:
        """Refuses bins of a column without numbers, and categories of values without one text."""
        yield from super().column_refusals(kinds)
        wanted = KEYED if self.edges is None else NUMERIC
        yield from wrong_kind("column", self.column, kinds, wanted)
