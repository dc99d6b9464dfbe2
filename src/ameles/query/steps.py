"""Transformations of one set of rows; ``row_set.py`` says what each does to the stability."""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ameles.measures.fields import identifier
from ameles.plan.condition_sql import TYPES
from ameles.query.row_set import Attached, BoundedRows, RowSet, fair_values, names, stable
from ameles.query.row_source import RowSource

# Comparisons of columns and constants, and what combines them.
_NAMES = re.compile(r'"[^"]*"')
_TOKENS = re.compile(
    r'(?:"[^"]*"|CAST\((?:-?[0-9]+|"[^"]*"|\'-?[0-9.]+\') AS (?:BIGINT|DOUBLE)\)'
    r"|AND|OR|NOT|IS|NULL|IN|BETWEEN|true|false|<=|>=|<>|!=|[=<>(), ])+"
)
_COMBINED = re.compile(r'(?:"[^"]*"|AND|OR|NOT|[() ])+')
_SAFE = ("integer", "number", "boolean")


@dataclass(frozen=True, eq=False)
class Step(RowSet, ABC):
    """One transformation of the rows of another relation."""

    below: RowSet

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

    @property
    def read(self) -> tuple[RowSource, ...]:
        return self.below.read

    @property
    def payer(self) -> object | None:
        return self.below.payer


@dataclass(frozen=True, eq=False)
class Where(Step):
    """The rows for which a condition is true."""

    text: str
    condition: str  # SQL, checked

    def sql(self, attached: Attached) -> str:
        rows = self.below.sql(attached)
        plain = cannot_fail(self.condition, self.columns)
        condition = self.condition if plain else f"TRY({self.condition}) IS TRUE"
        return f"SELECT {self.listed} FROM ({rows}) WHERE {condition}"

    def flagged(self, attached: Attached) -> tuple[str, str] | None:
        if not only_booleans(self.condition, self.columns):
            return None
        return self.below.sql(attached), self.condition

    def to_dict(self) -> dict[str, Any]:
        return {"where": self.text, "of": self.below.to_dict()}


@dataclass(frozen=True, eq=False)
class FewGroups(Step):
    """The rows of each user that have one of ``most`` of the user's keys, in a secret order."""

    keys: tuple[str, ...]
    most: int

    def sql(self, attached: Attached) -> str:
        who, keys = identifier(self.below.user or ""), [identifier(key) for key in self.keys]
        rows, pair = self.below.sql(attached), ", ".join(dict.fromkeys([who, *keys]))
        few = fair_values(
            f"SELECT DISTINCT {pair} FROM ({rows})",
            who, keys, self.most, self.below.sources[0].salt, "groups",
        )  # fmt: skip
        same = " AND ".join(f"own.{one} IS NOT DISTINCT FROM kept.{one}" for one in (who, *keys))
        return f"SELECT {self.listed} FROM ({rows}) AS own SEMI JOIN {few} AS kept ON {same}"

    def to_dict(self) -> dict[str, Any]:
        return {"groups": self.most, "by": list(self.keys), "of": self.below.to_dict()}


@dataclass(frozen=True, eq=False)
class Select(Step):
    """Rows with computed columns."""

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
        kept += ", " if kept else ""  # the only column may be replaced
        rows = f"SELECT {kept}unnest([{values}]) AS {identifier(self.name)} "
        rows += f"FROM ({self.below.sql(attached)})"
        return f"SELECT {self.listed} FROM ({rows}) WHERE {identifier(self.name)} IS NOT NULL"

    def to_dict(self) -> dict[str, Any]:
        return {"select_many": {self.name: list(self.texts)}, "of": self.below.to_dict()}


@dataclass(frozen=True, eq=False)
class DistinctRows(Step):
    """Each different row once."""

    def sql(self, attached: Attached) -> str:
        return f"SELECT DISTINCT {self.alike} FROM ({self.below.sql(attached)})"

    def to_dict(self) -> dict[str, Any]:
        return {"distinct": True, "of": self.below.to_dict()}


# The facts about the rows of a group.  A sum of floats depends on the order of the rows, so that
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
        kinds = {key: below[key] for key in self.keys}
        for name, (fact, column) in self.facts.items():
            kinds[name] = "integer" if column is None or fact == "sum" else below[column]
        return kinds

    @property
    def user(self) -> str | None:
        return self.below.user if self.below.user in self.keys else None

    @property
    def stability(self) -> int:
        if self.keys == (self.below.user,):
            return 1  # all rows of a user are in one group, which nobody else is in
        # groups with the user among their keys belong to that user alone: they come or go
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
        rows = f"SELECT {self.below.alike} FROM ({self.below.sql(attached)})"
        return f"SELECT {', '.join([keys, *facts])} FROM ({rows}) GROUP BY {keys}"

    def to_dict(self) -> dict[str, Any]:
        facts = {name: [*about] for name, about in self.facts.items()}
        return {"group_by": list(self.keys), "facts": facts, "of": self.below.to_dict()}


def cannot_fail(condition: str, columns: Mapping[str, str]) -> bool:
    """Whether SQL that was checked only compares numbers and booleans; then it needs no TRY.

    >>> cannot_fail('("age" >= CAST(18 AS BIGINT))', {"age": "integer"})
    True
    >>> cannot_fail('("name" < CAST(18 AS BIGINT))', {"name": "text"})
    False
    """
    return _TOKENS.fullmatch(condition) is not None and _names_only(condition, columns, _SAFE)


def only_booleans(condition: str, columns: Mapping[str, str]) -> bool:
    """Whether SQL that was checked only combines booleans, so that no part of a table is skipped.

    >>> only_booleans('("fever" AND (NOT "cough"))', {"fever": "boolean", "cough": "boolean"})
    True
    >>> only_booleans('("age" >= CAST(18 AS BIGINT))', {"age": "integer"})
    False
    """
    plain = _COMBINED.fullmatch(condition) is not None
    return plain and _names_only(condition, columns, ("boolean",))


def _names_only(condition: str, columns: Mapping[str, str], kinds: Sequence[str]) -> bool:
    named = {identifier(name) for name, kind in columns.items() if kind in kinds}
    return set(_NAMES.findall(condition)) <= named
