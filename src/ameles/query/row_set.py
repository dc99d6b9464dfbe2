"""Sets of rows: the rows that a question is about, and how many of them one unit may change.

That number is the *stability* (McSherry 2009, catalogue 44): the noise on a count must hide that
many rows.  Every transformation says how it changes the stability.

    where, select, distinct    not at all
    select_many                times the number of rows that each row becomes
    group_by                   times 2: one row changes a group: its old row goes, a new one comes;
                               grouped by the user, a user has one group
    union, intersect, except   the sum of both sides
    join                       a left row is in at most b pairs, and the b rows of a key that are
                               kept change by two: 2 b times the stability, and the same for the
                               right.  On the user: at most the product of both sides' rows

Expressions are checked by the rules of plans: row-wise, deterministic and total.  No text of a
person is executed; new SQL is written from its syntax tree.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ameles.core.exceptions import BadInput
from ameles.engine.gathering.temporary_tables import TemporaryTables
from ameles.measures.fields import identifier
from ameles.query.privacy_unit import PrivacyUnit
from ameles.query.row_source import RowSource

# Beyond this no answer is useful, and its noise might not fit into 64 bits.
MOST_STABLE = 1 << 30
_HASHES = 1 << 32
_CROWD = "crowd\n"  # no column has such a name
_ALIKE = "CASE WHEN {0} = 0 THEN CAST(0 AS DOUBLE) WHEN NOT isnan({0}) THEN {0} END"


@dataclass(frozen=True)
class Attached:
    """The relations of the sources of a question, on one connection."""

    tables: TemporaryTables
    relations: Mapping[int, str]  # of each source, by its identity
    bounded: dict[int, str] = field(default_factory=dict)  # of each bounded table, made once


class RowSet(ABC):
    """Rows with named columns of known kinds."""

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, str]:
        """The columns with their kinds."""

    @property
    @abstractmethod
    def stability(self) -> int:
        """How many rows one unit may change: add, remove, or either for a changed row."""

    @property
    @abstractmethod
    def monotone(self) -> bool:
        """Whether adding a unit only adds rows; then all counts move the same way."""

    @property
    @abstractmethod
    def user(self) -> str | None:
        """The column that still shows whose row it is; None if there is none."""

    @property
    @abstractmethod
    def sources(self) -> tuple[BoundedRows, ...]:
        """The tables that it is made of."""

    @abstractmethod
    def sql(self, attached: Attached) -> str:
        """SQL: a SELECT of the rows."""

    def flagged(self, attached: Attached) -> tuple[str, str] | None:
        """SQL: more rows than these, and a boolean that is true for these; None without one."""
        return None

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """What was asked, as plain public data."""

    @property
    def listed(self) -> str:
        """SQL: the columns, separated by commas."""
        return names(self.columns)

    @property
    def alike(self) -> str:
        """SQL: the columns, in which values that are equal look the same.

        0.0 and -0.0 are equal, and so are NaN and -NaN.  Where rows are compared, one of several
        equal rows is kept; which one must not matter, because it depends on the other rows.
        """
        return ", ".join(
            f"{_ALIKE.format(identifier(name)) if kind == 'number' else identifier(name)} "
            f"AS {identifier(name)}"
            for name, kind in self.columns.items()
        )


def names(columns: Mapping[str, str]) -> str:
    """SQL: columns, separated by commas."""
    return ", ".join(identifier(name) for name in columns)


@dataclass(frozen=True, eq=False)
class BoundedRows(RowSet):
    """The rows of a table, limited to as many of each unit as it may have.

    ``salt`` is secret and decides which rows of a user count, and nothing else.
    """

    source: RowSource
    unit: PrivacyUnit
    name: str
    salt: str = field(repr=False)

    @property
    def columns(self) -> Mapping[str, str]:
        return self.source.columns

    @property
    def stability(self) -> int:
        return self.unit.stability

    @property
    def monotone(self) -> bool:
        return True

    @property
    def user(self) -> str | None:
        return self.unit.user

    @property
    def sources(self) -> tuple[BoundedRows, ...]:
        return (self,)

    def sql(self, attached: Attached) -> str:
        rows = f"SELECT {self.listed} FROM {attached.relations[id(self.source)]}"
        if self.unit.user is None:
            return rows
        if id(self) not in attached.bounded:
            attached.bounded[id(self)] = self._bounded(attached.tables, rows)
        return attached.bounded[id(self)]

    def _bounded(self, tables: TemporaryTables, rows: str) -> str:
        """SQL: the rows that users keep.

        Counts by a short hash of the user rule out the users that have no more rows than they may.
        Only the rows of the others are sorted.  If two users share a hash, the result is the same.
        """
        who, most = identifier(self.unit.user or ""), self.unit.stability
        crowd = f"CAST(hash({who}) % {_HASHES} AS UINTEGER)"
        owned = f'SELECT {self.alike}, {crowd} AS "{_CROWD}" FROM ({rows}) WHERE {who} IS NOT NULL'
        crowded = tables.create(
            "crowded",
            f'SELECT {crowd} AS "{_CROWD}" FROM ({rows}) WHERE {who} IS NOT NULL '
            f"GROUP BY 1 HAVING count(*) > {most}",
        )
        using = f'{crowded} USING ("{_CROWD}")'
        # Rows with the same hash can be made, whatever the salt is.  Which of them is kept must not
        # depend on the order in which rows are read, so the columns decide.
        place = f"hash('{self.salt}', {self.listed}), {self.listed}"
        nth = f"row_number() OVER (PARTITION BY {who} ORDER BY {place})"
        return (
            f"SELECT {self.listed} FROM ({owned}) ANTI JOIN {using} UNION ALL "
            f"SELECT {self.listed} FROM ({owned}) SEMI JOIN {using} QUALIFY {nth} <= {most}"
        )

    def to_dict(self) -> dict[str, Any]:
        return {"table": self.name, "columns": dict(self.source.columns), **self.unit.to_dict()}


def stable(rows: int) -> int:
    """The stability; refused if no answer could be useful."""
    if rows > MOST_STABLE:
        raise BadInput(
            f"One unit could change {rows} rows of this query; {MOST_STABLE} are the most.",
            why="the noise must hide all of them",
            tip="fewer transformations that multiply rows, or a smaller max_rows",
        )
    return rows
