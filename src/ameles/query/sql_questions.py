"""The questions of a SELECT: what each aggregate asks, with the declared bounds and keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ameles.core.exceptions import BadInput
from ameles.core.parameters import Exact, exact
from ameles.measures.bins import MOST_BINS
from ameles.measures.key_words import REVEALING
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.query.account import PaidQuestion
from ameles.query.answer import Answer
from ameles.query.partition import Partition
from ameles.query.private_partition import PrivatePartition
from ameles.query.query import Query
from ameles.query.sql import Aggregate, Parsed

_VALUE = "value"


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """The range of a column's values, and the steps in which they are counted."""

    lower: Fraction
    upper: Fraction
    granularity: Fraction = Fraction(1)

    @property
    def edges(self) -> tuple[Fraction, ...]:
        """Edges for a quantile: every step, or as many as there may be."""
        steps = (self.upper - self.lower) / self.granularity
        bins = max(1, min(int(steps), MOST_BINS))
        width = (self.upper - self.lower) / bins
        return tuple(self.lower + place * width for place in range(bins + 1))


@dataclass(frozen=True, slots=True)
class SqlQuestion:
    """One aggregate, as an end with its arguments."""

    label: str
    query: Query | Partition | PrivatePartition
    end: str
    arguments: Mapping[str, Any]

    def ask(self, epsilon: Exact, delta: Exact = 0) -> Answer:
        """Asks, and pays."""
        asked = {"epsilon": epsilon, "delta": delta, **self.arguments}
        answer: Answer = getattr(self.query, self.end)(**asked)
        return answer

    def paid(self, epsilon: Exact, delta: Exact = 0) -> PaidQuestion:
        """The question as it would be paid for."""
        return self.query.paid_question(self.end, epsilon=epsilon, delta=delta, **self.arguments)

    def recipe(self, epsilon: Exact, delta: Exact = 0) -> AnyMechanism:
        """The mechanism that would answer."""
        return self.query.recipe(self.end, epsilon=epsilon, delta=delta, **self.arguments)

    def explain(self, epsilon: Exact, delta: Exact = 0) -> str:
        """What it would cost."""
        return self.query.explain(self.end, epsilon=epsilon, delta=delta, **self.arguments)


def questions(
    parsed: Parsed,
    tables: Mapping[str, Query],
    *,
    bounds: Mapping[str, ColumnBounds],
    keys: Mapping[str, Sequence[str]],
) -> list[SqlQuestion]:
    """The question of each aggregate; missing declarations are refused."""
    query = _rows(parsed, tables)
    for key in parsed.keys:
        if key not in keys:
            raise BadInput(
                f"The keys of '{key}' in GROUP BY must be declared.",
                why=REVEALING,
                tip=f"--keys {key}=north,south; or --private-keys {key}, with a delta",
            )
    return [_question(one, query, parsed, bounds, keys) for one in parsed.aggregates]


def key_question(parsed: Parsed, tables: Mapping[str, Query], column: str) -> SqlQuestion:
    """Which keys of a column of GROUP BY may be published."""
    if column not in parsed.keys:
        raise BadInput(f"The column '{column}' is not in GROUP BY.", tip=f"GROUP BY {column}")
    joined = {"joined": True} if len(parsed.keys) > 1 else {}
    rows = _rows(parsed, tables)
    return SqlQuestion(column, rows, "private_keys", {"column": column, **joined})


def key_count_question(parsed: Parsed, tables: Mapping[str, Query], label: str) -> SqlQuestion:
    """COUNT(*) by the keys of the one column of GROUP BY, which it discovers itself."""
    counted = _rows(parsed, tables).private_partition(parsed.keys[0])
    return SqlQuestion(label, counted, "noisy_count", {})


def shares(loss: Exact, count: int) -> Fraction:
    """What each of several questions gets of an epsilon or a delta."""
    return exact(loss, "epsilon") / count


def _rows(parsed: Parsed, tables: Mapping[str, Query]) -> Query:
    query = _table(parsed.table, tables)
    if parsed.joined is not None:
        query = query.join(_table(parsed.joined.table, tables), on=parsed.joined.on)
    return query if parsed.where is None else query.where(parsed.where)


def _table(name: str, tables: Mapping[str, Query]) -> Query:
    for known, query in tables.items():
        if known.casefold() == name.casefold():
            return query
    raise BadInput(f"There is no table '{name}'.", tip=f"FROM {', '.join(tables)}")


def _question(
    aggregate: Aggregate,
    query: Query,
    parsed: Parsed,
    bounds: Mapping[str, ColumnBounds],
    keys: Mapping[str, Sequence[str]],
) -> SqlQuestion:
    arguments: dict[str, Any] = {}
    if aggregate.end == "distinct_users":
        if aggregate.expression != query.relation.user:
            raise BadInput(
                f"COUNT(DISTINCT {aggregate.expression}) does not count users.",
                why="one user may have many different values",
                tip=f"COUNT(DISTINCT {query.relation.user})"
                if query.relation.user
                else "--unit user --user id",
            )
    elif aggregate.expression is not None:
        query, column = _valued(query, aggregate.expression, parsed.keys)
        arguments = {"column": column, **_range(aggregate, bounds)}
    asked = query.partition(**{key: keys[key] for key in parsed.keys}) if parsed.keys else query
    return SqlQuestion(aggregate.label, asked, aggregate.end, arguments)


def _valued(query: Query, expression: str, keys: Sequence[str]) -> tuple[Query, str]:
    """The query with the aggregated expression as a column."""
    plain = expression.strip('"')
    for column in query.columns:
        if column.casefold() == plain.casefold():
            return query, column
    kept = dict.fromkeys([*keys, *([query.relation.user] if query.relation.user else [])])
    name = _VALUE
    while name in {one.casefold() for one in kept}:
        name += "_"
    return query.select(*kept, **{name: expression}), name


def _range(aggregate: Aggregate, bounds: Mapping[str, ColumnBounds]) -> dict[str, Any]:
    wanted = str(aggregate.expression)
    declared = bounds.get(wanted) or bounds.get(wanted.strip('"()'))
    if declared is None:
        raise BadInput(
            f"The bounds of {wanted} must be declared.",
            why="without them one row could change the answer by any amount; bounds taken from the "
            "data would reveal the largest value",
            tip=f"--bounds {wanted}=0:120",
        )
    if aggregate.q is not None:
        return {"q": aggregate.q, "edges": declared.edges}
    return {"lower": declared.lower, "upper": declared.upper, "granularity": declared.granularity}
