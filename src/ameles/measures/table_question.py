"""A measure's question about the rows of a table, whose columns have known kinds.

It says which rows count, in which cells, and what each adds up.  Nothing here is a function of a
row yet: a query can group rows by their values first, and compute a cell once for each value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ameles.measures.keys import Keys


@dataclass(frozen=True, slots=True)
class Amount:
    """What a row adds to a total: ``times`` its value, less a constant.

    Both are applied to the sum of the values and the number of rows, and not to every row.
    """

    value: str  # SQL: an integer
    times: int = 1
    less: int = 0

    @property
    def of_each_row(self) -> str:
        """SQL: what one row adds.

        >>> Amount("age", 2, 99).of_each_row, Amount("age").of_each_row, constant(99).of_each_row
        ('age * 2 - (99)', 'age', '99')
        """
        if self.times == 0:
            return str(-self.less)
        if (self.times, self.less) == (1, 0):
            return self.value
        return f"{self.value} * {self.times} - ({self.less})"


def constant(amount: int) -> Amount:
    """The same amount for each row."""
    return Amount("0", 0, -amount)


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The kinds of a table's columns, and whether their values are ``coded``.

    Parquet codes values: it has each different one once, and then only their numbers.  DuckDB runs
    a function of a column once for each coded value, but a CASE for each row.
    """

    kinds: Mapping[str, str]
    coded: bool = False

    def clamped(self, value: str, low: int, high: int) -> str:
        """SQL: an integer that is not NULL, within bounds.

        >>> TableColumns({}).clamped("age", 0, 99)
        'CASE WHEN age < 0 THEN 0 WHEN age > 99 THEN 99 ELSE age END'
        """
        if self.coded:
            return f"least(greatest({value}, {low}), {high})"
        beyond = f"WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high}"
        return f"CASE {beyond} ELSE {value} END"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuestion:
    """The rows that count, their cells, and what they add up."""

    keys: Keys
    amounts: tuple[Amount, ...] = (constant(1),)
    where: str = "true"  # SQL: whether a row counts
