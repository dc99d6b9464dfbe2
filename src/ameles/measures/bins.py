"""Bins: a line of numbers cut at declared edges, as labels and as SQL.

Every bin includes its lower edge and not its upper one, except the last, which includes both.  If
bins are clamped, a value beyond an end counts in the bin at that end; otherwise it is in no bin.

>>> Bins("age", (Fraction(0), Fraction(18), Fraction(65))).labels
('[0,18)', '[18,65]')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any

from pydantic import BeforeValidator

from ameles.measures.fields import exact_number, identifier, problem

# The SQL is a tree of comparisons; with more leaves than this DuckDB parses it slowly.
MOST_BINS = 1024
_TIP = "edges = [0, 18, 65, 120]"
# Integers below this are the same as floating-point numbers.
EXACT = 1 << 53


def _edges(given: Any) -> tuple[Fraction, ...]:
    if not isinstance(given, list | tuple) or not 2 <= len(given) <= MOST_BINS + 1:
        raise problem(f"It must be a list of 2 to {MOST_BINS + 1} numbers.", tip=_TIP)
    edges = tuple(exact_number(edge) for edge in given)
    # Values are compared with edges as floating-point numbers, so those must differ too.
    if not all(float(low) < float(high) for low, high in pairwise(edges)):
        raise problem("Each edge must be above the one before.", tip=_TIP)
    if len({shown_edge(edge) for edge in edges}) < len(edges):
        raise problem("Two edges are so close that their labels are the same.", tip=_TIP)
    return edges


Edges = Annotated[tuple[Fraction, ...], BeforeValidator(_edges)]


def shown_edge(edge: Fraction) -> str:
    """An edge in a label: a decimal number of at most 12 digits.

    >>> shown_edge(Fraction(-1, 3)), shown_edge(Fraction(65))
    ('-0.333333333333', '65')
    """
    return f"{float(edge) + 0.0:.12g}"


@dataclass(frozen=True)
class Bins:
    """The bins of one column."""

    column: str
    edges: tuple[Fraction, ...]
    clamped: bool = False
    whole: bool = False  # its values are known to be integers

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.edges) - 1

    @property
    def labels(self) -> tuple[str, ...]:
        """Each bin as a text."""
        shown = [shown_edge(edge) for edge in self.edges]
        pairs = list(pairwise(shown))
        half_open = [f"[{low},{high})" for low, high in pairs[:-1]]
        return (*half_open, f"[{pairs[-1][0]},{pairs[-1][1]}]")

    @property
    def code(self) -> str:
        """SQL: the number of an event's bin, from 0; NULL where it is in none."""
        if self.whole and self._even:
            return self._even_code
        value = real(self.column)
        low, high = real_literal(self.edges[0]), real_literal(self.edges[-1])
        tree = _search(value, self.edges[1:-1])
        outside = f"isnan({value})"
        if not self.clamped:
            # in DuckDB's order NaN is above everything
            outside = f"{value} < {low} OR {value} > {high}"
        return f"CASE WHEN {value} IS NULL OR {outside} THEN NULL ELSE {tree} END"

    @property
    def _even(self) -> bool:
        """Whether the edges are integers at equal distances."""
        exact = all(edge.denominator == 1 and abs(edge) < EXACT for edge in self.edges)
        return exact and len({high - low for low, high in pairwise(self.edges)}) == 1

    @property
    def _even_code(self) -> str:
        """SQL: the same by one division of integers, without a tree."""
        value, width = identifier(self.column), self.edges[1] - self.edges[0]
        low, high = self.edges[0], self.edges[-1]
        # clamped first, so that the difference cannot overflow
        near = f"(least(greatest({value}, {low}), {high}) - ({low})) // {width}"
        outside = "" if self.clamped else f" OR {value} < {low} OR {value} > {high}"
        return (
            f"CASE WHEN {value} IS NULL{outside} THEN NULL ELSE least({near}, {self.size - 1}) END"
        )


def real(column: str) -> str:
    """SQL: a column's value as a floating-point number; NULL where it is none."""
    return f"TRY_CAST({identifier(column)} AS DOUBLE)"


def real_literal(number: Fraction) -> str:
    """SQL: the floating-point number nearest to this one."""
    return f"CAST('{float(number)!r}' AS DOUBLE)"


def _search(value: str, inner: Sequence[Fraction], first: int = 0) -> str:
    """SQL: how many of the inner edges are not above the value, by halving."""
    if not inner:
        return str(first)
    middle = len(inner) // 2
    left = _search(value, inner[:middle], first)
    right = _search(value, inner[middle + 1 :], first + middle + 1)
    return f"CASE WHEN {value} < {real_literal(inner[middle])} THEN {left} ELSE {right} END"
