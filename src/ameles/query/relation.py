"""Relations: the rows that a question is about, and how many of them one unit may change.

That number is the *stability* (McSherry 2009, catalogue 44): noise on a count must hide so many
rows.  Every transformation says how it changes it.

    where, select, distinct    not at all
    select_many                times the number of rows that each row becomes
    group_by                   times 2: one row changes one group, which leaves and comes back;
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
from ameles.engine.gathering.crowded import without_crowds
from ameles.engine.gathering.temporary_tables import TemporaryTables
from ameles.measures.fields import identifier
from ameles.plan.condition_sql import TYPES
from ameles.query.privacy_unit import PrivacyUnit
from ameles.query.row_source import RowSource

# Beyond this no answer is of use, and its noise might not fit into 64 bits.
MOST_STABLE = 1 << 30


@dataclass(frozen=True)
class Attached:
    """The relations of the sources of a question, on one connection."""

    tables: TemporaryTables
    relations: Mapping[int, str]  # of each source, by its identity
    bounded: dict[int, str] = field(default_factory=dict)  # of each bounded table, made once


class Relation(ABC):
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
        """Whether a unit that comes only adds rows; then all counts move the same way."""

    @property
    @abstractmethod
    def user(self) -> str | None:
        """The column that still tells whose row it is; None if there is none."""

    @property
    @abstractmethod
    def sources(self) -> tuple[BoundedRows, ...]:
        """The tables that it is made of."""

    @abstractmethod
    def sql(self, attached: Attached) -> str:
        """SQL: a SELECT of the rows."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """What was asked, as plain public data."""

    @property
    def listed(self) -> str:
        """SQL: the columns, separated by commas."""
        return names(self.columns)


def names(columns: Mapping[str, str]) -> str:
    """SQL: columns, separated by commas."""
    return ", ".join(identifier(name) for name in columns)


@dataclass(frozen=True, eq=False)
class BoundedRows(Relation):
    """The rows of a table, of which each unit keeps as many as it may.

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
        who = identifier(self.unit.user or "")
        placed = (
            f"SELECT {self.listed}, {who} AS who, 1 AS step, "
            f"hash('{self.salt}', {self.listed}) AS place FROM ({rows}) WHERE {who} IS NOT NULL"
        )
        columns = f"{self.listed}, who, step, place"
        kept = without_crowds(tables, placed, columns, self.unit.stability)
        return f"SELECT {self.listed} FROM ({kept})"

    def to_dict(self) -> dict[str, Any]:
        return {"table": self.name, "columns": dict(self.source.columns), **self.unit.to_dict()}


@dataclass(frozen=True, eq=False)
class Step(Relation, ABC):
    """One transformation of the rows of another relation."""

    below: Relation

    @property
    def columns(self) -> Mapping[str, str]:
        return self.below.columns

    @property
    def stability(self) -> int:
        return self.below.stability

    @property
    def monotone(self) -> bool:
        return self.below.monotone

    @property
    def user(self) -> str | None:
        return self.below.user

    @property
    def sources(self) -> tuple[BoundedRows, ...]:
        return self.below.sources


@dataclass(frozen=True, eq=False)
class Where(Step):
    """The rows for which a condition is true."""

    text: str
    condition: str  # SQL, checked

    def sql(self, attached: Attached) -> str:
        rows = self.below.sql(attached)
        return f"SELECT {self.listed} FROM ({rows}) WHERE TRY({self.condition}) IS TRUE"

    def to_dict(self) -> dict[str, Any]:
        return {"where": self.text, "of": self.below.to_dict()}


@dataclass(frozen=True, eq=False)
class FewGroups(Step):
    """The rows of each user that have one of the user's first ``most`` keys, in a secret order."""

    keys: tuple[str, ...]
    most: int

    def sql(self, attached: Attached) -> str:
        who, salt = identifier(self.below.user or ""), self.below.sources[0].salt
        keys = ", ".join(identifier(key) for key in self.keys)
        nth = f"dense_rank() OVER (PARTITION BY {who} ORDER BY hash('{salt}', {keys}), {keys})"
        return (
            f"SELECT {self.listed} FROM ({self.below.sql(attached)}) QUALIFY {nth} <= {self.most}"
        )

    def to_dict(self) -> dict[str, Any]:
        return {"groups": self.most, "by": list(self.keys), "of": self.below.to_dict()}


@dataclass(frozen=True, eq=False)
class Select(Step):
    """Rows with columns that are computed from theirs."""

    texts: Mapping[str, str]
    expressions: Mapping[str, tuple[str, str]]  # SQL and kind, checked

    @property
    def columns(self) -> Mapping[str, str]:
        return {name: kind for name, (_, kind) in self.expressions.items()}

    @property
    def user(self) -> str | None:
        below = self.below.user
        if below is None:
            return None
        return below if self.expressions.get(below, ("", ""))[0] == identifier(below) else None

    def sql(self, attached: Attached) -> str:
        computed = ", ".join(
            f"CAST(TRY({sql}) AS {TYPES[kind]}) AS {identifier(name)}"
            for name, (sql, kind) in self.expressions.items()
        )
        return f"SELECT {computed} FROM ({self.below.sql(attached)})"

    def to_dict(self) -> dict[str, Any]:
        return {"select": dict(self.texts), "of": self.below.to_dict()}


@dataclass(frozen=True, eq=False)
class SelectMany(Step):
    """Each row becomes several: one for each of some expressions that has a value."""

    name: str
    kind: str
    texts: tuple[str, ...]
    expressions: tuple[str, ...]

    @property
    def columns(self) -> Mapping[str, str]:
        return {**self.below.columns, self.name: self.kind}

    @property
    def stability(self) -> int:
        return stable(self.below.stability * len(self.expressions))

    def sql(self, attached: Attached) -> str:
        values = ", ".join(f"CAST(TRY({sql}) AS {TYPES[self.kind]})" for sql in self.expressions)
        kept = names({n: k for n, k in self.below.columns.items() if n != self.name})
        rows = f"SELECT {kept}, unnest([{values}]) AS {identifier(self.name)} "
        rows += f"FROM ({self.below.sql(attached)})"
        return f"SELECT {self.listed} FROM ({rows}) WHERE {identifier(self.name)} IS NOT NULL"

    def to_dict(self) -> dict[str, Any]:
        return {"select_many": {self.name: list(self.texts)}, "of": self.below.to_dict()}


@dataclass(frozen=True, eq=False)
class Distinct(Step):
    """Each different row once."""

    def sql(self, attached: Attached) -> str:
        return f"SELECT DISTINCT {self.listed} FROM ({self.below.sql(attached)})"

    def to_dict(self) -> dict[str, Any]:
        return {"distinct": True, "of": self.below.to_dict()}


# What a group can tell about its rows.  A sum of floats depends on the order of the rows, so that
# the presence of one person could change the sums of others: sums are of integers.
AGGREGATES = {
    "count": "CAST(count(*) AS BIGINT)",
    "sum": "TRY_CAST(sum(CAST({} AS HUGEINT)) AS BIGINT)",
    "min": "min({})",
    "max": "max({})",
}


@dataclass(frozen=True, eq=False)
class GroupBy(Step):
    """One row for each value of some columns, with facts about the rows that have it."""

    keys: tuple[str, ...]
    facts: Mapping[str, tuple[str, str | None]]  # the name of an aggregate, and its column

    @property
    def columns(self) -> Mapping[str, str]:
        below = self.below.columns
        found = {key: below[key] for key in self.keys}
        for name, (fact, column) in self.facts.items():
            found[name] = "integer" if column is None or fact == "sum" else below[column]
        return found

    @property
    def user(self) -> str | None:
        return self.below.user if self.below.user in self.keys else None

    @property
    def stability(self) -> int:
        if self.keys == (self.below.user,):
            return 1  # all rows of a user are in one group, which nobody else is in
        # groups that have the user among their keys are that user's alone: they come or go
        factor = 1 if self.user is not None else 2
        return stable(factor * self.below.stability)

    @property
    def monotone(self) -> bool:
        return self.user is not None and self.below.monotone

    def sql(self, attached: Attached) -> str:
        keys = ", ".join(identifier(key) for key in self.keys)
        facts = [
            f"{AGGREGATES[fact].format(identifier(column or ''))} AS {identifier(name)}"
            for name, (fact, column) in self.facts.items()
        ]
        return (
            f"SELECT {', '.join([keys, *facts])} FROM ({self.below.sql(attached)}) GROUP BY {keys}"
        )

    def to_dict(self) -> dict[str, Any]:
        facts = {name: [*about] for name, about in self.facts.items()}
        return {"group_by": list(self.keys), "facts": facts, "of": self.below.to_dict()}


@dataclass(frozen=True, eq=False)
class Combined(Relation):
    """Two relations with the same columns: all rows of both, or a set made of them."""

    how: str
    left: Relation
    right: Relation

    def __post_init__(self) -> None:
        if dict(self.left.columns) != dict(self.right.columns):
            raise BadInput(
                f"Both sides of {self.how} must have the same columns, of the same kinds.",
                tip="select(...) the same columns on both sides",
            )

    @property
    def columns(self) -> Mapping[str, str]:
        return self.left.columns

    @property
    def stability(self) -> int:
        return stable(self.left.stability + self.right.stability)

    @property
    def monotone(self) -> bool:
        return self.how != "except" and self.left.monotone and self.right.monotone

    @property
    def user(self) -> str | None:
        return self.left.user if self.left.user == self.right.user else None

    @property
    def sources(self) -> tuple[BoundedRows, ...]:
        return (*self.left.sources, *self.right.sources)

    def sql(self, attached: Attached) -> str:
        word = {"union": "UNION ALL", "intersect": "INTERSECT", "except": "EXCEPT"}[self.how]
        left, right = (
            f"SELECT {self.listed} FROM ({side.sql(attached)})" for side in (self.left, self.right)
        )
        return f"({left}) {word} ({right})"

    def to_dict(self) -> dict[str, Any]:
        return {self.how: [self.left.to_dict(), self.right.to_dict()]}


@dataclass(frozen=True, eq=False)
class Join(Relation):
    """Pairs of rows with the same key, of at most ``at_most`` rows of a key on each side."""

    left: Relation
    right: Relation
    on: tuple[str, ...]
    at_most: tuple[int, int] | None  # None: on the user, whose rows are bounded already

    @property
    def columns(self) -> Mapping[str, str]:
        right = {n: k for n, k in self.right.columns.items() if n not in self.on}
        return {**self.left.columns, **right}

    @property
    def stability(self) -> int:
        left, right = self.left.stability, self.right.stability
        if self.at_most is None:
            return stable(left * right)
        most_left, most_right = self.at_most
        return stable(2 * left * most_right + 2 * right * most_left)

    @property
    def monotone(self) -> bool:
        return self.at_most is None and self.left.monotone and self.right.monotone

    @property
    def user(self) -> str | None:
        both = self.left.user is not None and self.left.user == self.right.user
        return self.left.user if both and self.left.user in self.on else None

    @property
    def sources(self) -> tuple[BoundedRows, ...]:
        return (*self.left.sources, *self.right.sources)

    def sql(self, attached: Attached) -> str:
        keys = ", ".join(identifier(key) for key in self.on)
        sides = []
        for place, side in enumerate((self.left, self.right)):
            rows = side.sql(attached)
            if self.at_most is not None:
                salt = side.sources[0].salt
                order = f"hash('{salt}', {side.listed})"
                nth = f"row_number() OVER (PARTITION BY {keys} ORDER BY {order})"
                rows = f"SELECT {side.listed} FROM ({rows}) QUALIFY {nth} <= {self.at_most[place]}"
            sides.append(f"({rows}) AS side_{place}")
        return f"SELECT {self.listed} FROM {sides[0]} JOIN {sides[1]} USING ({keys})"

    def to_dict(self) -> dict[str, Any]:
        return {
            "join": [self.left.to_dict(), self.right.to_dict()],
            "on": list(self.on),
            "at_most": None if self.at_most is None else list(self.at_most),
        }


def stable(rows: int) -> int:
    """The stability, if an answer can be of use at all."""
    if rows > MOST_STABLE:
        raise BadInput(
            f"One unit could change {rows} rows of this query; {MOST_STABLE} are the most.",
            why="the noise must hide all of them",
            tip="fewer transformations that multiply rows, or a smaller max_rows",
        )
    return rows
