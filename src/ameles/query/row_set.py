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

Where only some rows or keys of a user can be kept, each has the same chance, whatever it contains
and whatever others have: a keyed hash of the user and the row decides, and equal rows of a user are
numbered, so that each has a hash of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ameles.core.exceptions import BadInput
from ameles.engine.gathering.temporary_tables import TemporaryTables
from ameles.measures.fields import identifier, literal
from ameles.query.privacy_unit import PrivacyUnit
from ameles.query.row_source import Duck, RowSource

# Beyond this no answer is useful, and its noise might not fit into 64 bits.
MOST_STABLE = 1 << 30
_HASHES = 1 << 32
# No column or table has such a name.
_CROWD, _COPY, _PAIRS, _CROWDED = "crowd\n", "copy\n", '"pairs\n"', '"crowded\n"'
_ALIKE = "CASE WHEN {0} = 0 THEN CAST(0 AS DOUBLE) WHEN NOT isnan({0}) THEN {0} END"


@dataclass(frozen=True)
class Attached:
    """The relations of the sources of a question, on one connection."""

    duck: Duck
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

    @property
    @abstractmethod
    def read(self) -> tuple[RowSource, ...]:
        """What its SQL reads, once for each time that it reads it."""

    @property
    def payer(self) -> object | None:
        """The account of the part of a partition that it is; None if it is no part."""
        return None

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


def secret_place(salt: str, what: str, values: Iterable[str]) -> str:
    """SQL: a keyed hash of values, a UBIGINT: the place of something in a secret order.

    ``what`` names the choice, so that no choice depends on another one.  As JSON no two lists of
    values look the same.
    """
    written = f"CAST(json_array({', '.join([literal(what), *values])}) AS VARCHAR)"
    return f"CAST('0x' || left(sha256(concat('{salt}', {written})), 16) AS UBIGINT)"


def fair_rows(
    tables: TemporaryTables, rows: RowSet, sql: str, by: Sequence[str], most: int, salt: str
) -> str:
    """SQL: of the rows that have the same values ``by``, all, or ``most`` in a secret order.

    Each of them has the same chance.  A row's place depends on the row alone, and on its number
    among equal rows: if a row comes, it takes the place of one at the most.

    Counts by a short hash of the values rule out those that have no more rows than they may.  Only
    the rows of the others are hashed and sorted.  If two values share a short hash, the result is
    the same.
    """
    keys = ", ".join(identifier(key) for key in by)
    crowd = f"CAST(hash({keys}) % {_HASHES} AS UINTEGER)"
    known = " AND ".join(f"{identifier(key)} IS NOT NULL" for key in by)
    owned = f'SELECT {rows.alike}, {crowd} AS "{_CROWD}" FROM ({sql}) WHERE {known}'
    crowded = tables.create(
        "crowded",
        f'SELECT {crowd} AS "{_CROWD}" FROM ({sql}) WHERE {known} '
        f"GROUP BY 1 HAVING count(*) > {most}",
    )
    using = f'{crowded} USING ("{_CROWD}")'
    numbered = (
        f'SELECT {rows.listed}, row_number() OVER (PARTITION BY {rows.listed}) AS "{_COPY}" '
        f"FROM ({owned}) SEMI JOIN {using}"
    )
    values = [
        f"epoch_us({identifier(name)})" if kind == "timestamp" else identifier(name)
        for name, kind in rows.columns.items()
    ]
    place = secret_place(salt, f"rows by {keys}", [*values, f'"{_COPY}"'])
    # Rows with the same hash can be made, whatever the salt is.  Which of them is kept must not
    # depend on the order in which rows are read, so the columns decide.
    nth = f'row_number() OVER (PARTITION BY {keys} ORDER BY {place}, {rows.listed}, "{_COPY}")'
    return (
        f"SELECT {rows.listed} FROM ({owned}) ANTI JOIN {using} UNION ALL "
        f"SELECT {rows.listed} FROM ({numbered}) QUALIFY {nth} <= {most}"
    )


def fair_values(
    pairs: str, who: str, values: Sequence[str], most: int, salt: str, what: str
) -> str:
    """SQL: of different pairs of a user and some values, all of a user, or ``most`` of them.

    Each of a user's pairs has the same chance, whatever the values are that others have.
    """
    order = ", ".join([secret_place(salt, what, [who, *values]), *values])
    return (
        f"(WITH {_PAIRS} AS MATERIALIZED ({pairs}), {_CROWDED} AS MATERIALIZED "
        f"(SELECT {who} FROM {_PAIRS} GROUP BY {who} HAVING count(*) > {most}) "
        f"SELECT * FROM {_PAIRS} ANTI JOIN {_CROWDED} USING ({who}) UNION ALL "
        f"SELECT * FROM {_PAIRS} SEMI JOIN {_CROWDED} USING ({who}) "
        f"QUALIFY row_number() OVER (PARTITION BY {who} ORDER BY {order}) <= {most})"
    )


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

    @property
    def read(self) -> tuple[RowSource, ...]:
        return (self.source,)

    def sql(self, attached: Attached) -> str:
        rows = f"SELECT {self.listed} FROM {attached.relations[id(self.source)]}"
        if self.unit.user is None:
            return rows
        if id(self) not in attached.bounded:
            attached.bounded[id(self)] = fair_rows(
                attached.tables, self, rows, [self.unit.user], self.unit.max_rows, self.salt
            )
        return attached.bounded[id(self)]

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
