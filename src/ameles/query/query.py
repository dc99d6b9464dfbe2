"""Queries: a lazy chain of transformations, ended by a question that is paid for.

Nothing is read until a question ends the chain.  A chain can be asked more than once, and branched.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ameles.core.exceptions import BadInput, PlanError
from ameles.core.guarantee import Neighbours
from ameles.core.loss import EpsilonLoss, Pure
from ameles.core.parameters import Exact, exact, refuse, whole
from ameles.core.words import brief
from ameles.measures.fields import identifier
from ameles.measures.measure import KEYED
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.plan.condition import check_condition, check_expression
from ameles.plan.condition_sql import NULL
from ameles.query import relation as rel
from ameles.query.account import Account, Purchase
from ameles.query.answer import Answer
from ameles.query.ending import Ending
from ameles.query.ends import WholeEnds
from ameles.query.look import looking
from ameles.query.measure_ending import check_column
from ameles.query.partition import Partition
from ameles.query.relation import AGGREGATES, Relation

_REPLACING = (Neighbours.REPLACE, Neighbours.USER_SUBSTITUTION)


@dataclass(frozen=True)
class Query(WholeEnds):
    """Rows that can be transformed, and asked about.

    >>> import duckdb
    >>> import ameles
    >>> from ameles.query import Table
    >>> people = ameles.Ledger("people", cap=ameles.Pure(1), unit=ameles.EVENT,
    ...                        neighbours=ameles.Neighbours.ADD_REMOVE)
    >>> clinic = duckdb.connect()
    >>> _ = clinic.execute("CREATE TABLE visits AS SELECT range % 90 AS age, "
    ...                    "['north', 'south'][1 + range % 2] AS region FROM range(1000)")
    >>> visits = Table.from_duckdb(clinic, "visits", account=people, unit="row")
    >>> adults = visits.where("age >= 18")
    >>> isinstance(adults, Query), adults
    (True, <query of people: one unit may change 1 row>)
    >>> print(adults.explain("noisy_count", epsilon="0.5"))
    noisy_count of people
      charged      epsilon 0.5, of epsilon 1 left
      protects     one event, which may change 1 row
      mechanism    SimpleTwoCounter
      interval     the value, give or take 6, with 95%
    >>> adults.forecast("noisy_count", error=10)
    Fraction(57, 200)
    """

    relation: Relation
    account: Account
    version: str | None = None

    def __repr__(self) -> str:
        stable = self.relation.stability
        rows = "1 row" if stable == 1 else f"{stable} rows"
        return f"<query of {self.account.population}: one unit may change {rows}>"

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns with their kinds."""
        return dict(self.relation.columns)

    # transformations

    def where(self, condition: str) -> Query:
        """The rows for which a condition is true, written as after WHERE in SQL."""
        sql = _checked(check_condition, condition, self.relation)
        return self._with(rel.Where(self.relation, condition, sql))

    def select(self, *columns: str, **computed: str) -> Query:
        """Only these columns, and columns that are computed from a row by SQL expressions."""
        for column in columns:
            check_column(column, self.relation)
        texts = {**{name: f'"{name}"' for name in columns}, **computed}
        if not texts:
            raise BadInput("A select must have columns.", tip='select("age", older="age + 1")')
        expressions = {name: _expression(text, self.relation) for name, text in texts.items()}
        for column in columns:  # exactly as they are, so that the user column stays one
            expressions[column] = identifier(column), self.relation.columns[column]
        return self._with(rel.Select(self.relation, texts, expressions))

    def select_many(self, name: str, expressions: Sequence[str]) -> Query:
        """Each row as several rows: one for each expression that has a value, in column ``name``.

        One unit changes as many times more rows as there are expressions.
        """
        if isinstance(expressions, str) or not expressions:
            raise refuse("expressions", 'a list such as ["first", "second"]', expressions)
        found = [_expression(text, self.relation) for text in expressions]
        kinds = {kind for _, kind in found}
        if len(kinds) > 1:
            raise BadInput(
                "All expressions of select_many must be of the same kind.",
                tip="CAST(... AS VARCHAR)",
            )
        sqls = tuple(sql for sql, _ in found)
        if name == self.relation.user:
            raise BadInput("A computed column cannot take the place of the user column.")
        return self._with(
            rel.SelectMany(self.relation, name, kinds.pop(), tuple(expressions), sqls)
        )

    def group_by(self, *keys: str, **facts: str) -> Query:
        """One row for each value of the keys, with facts about its rows.

        A fact is "count", or "sum", "min" or "max" with a column: ``oldest="max age"``.  Sums are
        of integers.  One row changes one group, so the stability doubles; grouped by the user
        column alone it is one.
        """
        if not keys:
            raise BadInput(
                "A group_by must have keys.", tip='group_by("household", people="count")'
            )
        for key in keys:
            check_column(key, self.relation)
        parsed = {name: self._fact(name, text) for name, text in facts.items()}
        clash = set(parsed) & set(keys)
        if clash:
            raise BadInput(f"'{min(clash)}' is the name of a key and of a fact.")
        return self._with(rel.GroupBy(self.relation, keys, parsed))

    def distinct(self) -> Query:
        """Each different row once."""
        return self._with(rel.Distinct(self.relation))

    def union(self, other: Query) -> Query:
        """All rows of both."""
        return self._combined("union", other)

    def intersect(self, other: Query) -> Query:
        """The different rows that both have."""
        return self._combined("intersect", other)

    def except_(self, other: Query) -> Query:
        """The different rows that the other does not have."""
        return self._combined("except", other)

    def join(
        self, other: Query, on: str | Sequence[str], *, at_most: tuple[int, int] | None = None
    ) -> Query:
        """Pairs of rows with the same values of the columns ``on``.

        ``at_most`` says how many rows of one key are kept on each side: without such a bound one
        row could be in any number of pairs.  Joined on the user column it is not needed.
        """
        keys = (on,) if isinstance(on, str) else tuple(on)
        self._same_account(other, "join")
        for key in keys:
            check_column(key, self.relation)
            check_column(key, other.relation)
        _check_alike(keys, self.relation, other.relation)
        users = {self.relation.user, other.relation.user}
        if at_most is None and (None in users or len(users) > 1 or not users <= set(keys)):
            raise BadInput(
                "A join needs to know how many rows of one key it keeps.",
                why="otherwise one row could be in any number of pairs, which no noise hides",
                tip='join(other, on="household", at_most=(1, 1)), or a join on the user column',
            )
        most = None
        if at_most is not None:
            left, right = at_most
            most = (
                whole(left, "at_most", low=1, high=1 << 20),
                whole(right, "at_most", low=1, high=1 << 20),
            )
        return self._with(rel.Join(self.relation, other.relation, keys, most), self._both(other))

    def partition(self, **keys: Sequence[str | int]) -> Partition:
        """The parts that some columns divide the rows into, by public keys: all that may occur.

        Keys that are looked up in the data would tell who is in it.
        """
        if not keys:
            raise BadInput("A partition needs keys.", tip='partition(region=["north", "south"])')
        declared = {}
        for column, given in keys.items():
            check_column(column, self.relation)
            kind = self.relation.columns[column]
            if kind not in KEYED:
                raise BadInput(f"The column '{column}' is {kind} and cannot divide rows.")
            values = [str(v).lower() if isinstance(v, bool) else str(v) for v in given]
            if isinstance(given, str) or not values or len(set(values)) < len(values):
                raise BadInput(f"The keys of '{column}' must be a list, each key once.")
            declared[column] = tuple(values)
        return Partition(self, declared)

    def on(self, relation: Relation, account: Account) -> Query:
        """Another relation of the same data, paid for by another account."""
        return Query(relation, account, self.version)

    # asking

    def recipe(self, end: str, **arguments: Any) -> AnyMechanism:
        """The mechanism that would answer a question; nothing is read or paid."""
        ending, loss = self._ending(end, arguments)
        ending.check(self.relation, self.account.unit)
        return ending.recipe(self.relation, self.account.unit, self._halved(loss))

    def explain(self, end: str, **arguments: Any) -> str:
        """What a question would cost and how exact it would be; nothing is read or paid."""
        ending, _ = self._ending(end, arguments)
        recipe = self.recipe(end, **arguments)
        price = self.account.price(recipe)
        half = ending.half_width(self.relation, recipe)
        left = self.account.left
        return "\n".join(
            [
                f"{end} of {self.account.population}",
                f"  charged      {price}" + (f", of {left} left" if left is not None else ""),
                f"  protects     {recipe.guarantee.unit}, which may change "
                f"{self.relation.stability} row{'s' if self.relation.stability > 1 else ''}",
                f"  mechanism    {type(recipe).__name__}",
                f"  interval     {ending.about}, give or take {brief(half)}, with 95%",
            ]
        )

    def forecast(self, end: str, *, error: Exact, **arguments: Any) -> Fraction:
        """The smallest epsilon, to three digits, with which the interval is so narrow.

        ``error`` is the half-width of a 95% interval.  Nothing is read or paid.
        """
        target = exact(error, "error")
        if target <= 0:
            raise refuse("error", "above 0", error)
        low, high = Fraction(1, 10**9), Fraction(1000)
        if self._half_width(end, high, arguments) > target:
            raise BadInput(
                f"No epsilon up to 1000 makes the interval so narrow as {brief(float(target))}.",
                tip="a larger error",
            )
        while high > low * Fraction(1001, 1000):
            middle = _three_digits((low + high) / 2)
            if middle in (low, high):
                break
            fits = self._half_width(end, middle, arguments) <= target
            low, high = (low, middle) if fits else (middle, high)
        return high

    def _half_width(self, end: str, epsilon: Fraction, arguments: Mapping[str, Any]) -> float:
        given = {**arguments, "epsilon": epsilon}
        ending, _ = self._ending(end, given)
        return ending.half_width(self.relation, self.recipe(end, **given))

    def _ask(self, ending: Ending, loss: EpsilonLoss, why: str | None) -> Answer:
        relation, unit = self.relation, self.account.unit
        ending.check(relation, unit)
        recipe = ending.recipe(relation, unit, self._halved(loss))
        question = {"loss": str(loss), **ending.to_dict(), "of": relation.to_dict()}
        purchase = Purchase(
            question=json.dumps(question, sort_keys=True, default=str, ensure_ascii=False),
            version=self.version,
            recipe=recipe,
            asked=ending.name,
            key_names=ending.key_names,
            value_name=ending.value_name,
            on=relation.sources[0].name,
            why=why or f"{ending.name} of {relation.sources[0].name}",
        )

        def compute(run: Any) -> Any:
            with looking(relation) as look:
                return ending.answer(look, recipe, run)

        return self.account.ask(purchase, compute)

    def _halved(self, loss: EpsilonLoss) -> EpsilonLoss:
        """The loss of the mechanism, so that the loss that is asked for is the one charged.

        Where a row is replaced, one goes and one comes, and the ledger charges twice.
        """
        if self.account.neighbours not in _REPLACING:
            return loss
        if not isinstance(loss, Pure):
            raise BadInput(
                "Where rows are replaced, only a pure epsilon can be asked for.",
                tip="delta=0, or a population whose rows are added or removed",
            )
        return Pure(loss.epsilon / 2)

    # helpers

    def _with(self, relation: Relation, version: str | None = None) -> Query:
        rel.stable(relation.stability)
        return Query(relation, self.account, self.version if version is None else version)

    def _combined(self, how: str, other: Query) -> Query:
        self._same_account(other, how)
        return self._with(rel.Combined(how, self.relation, other.relation), self._both(other))

    def _both(self, other: Query) -> str | None:
        if self.version is None or other.version is None:
            return None
        return json.dumps([self.version, other.version])

    def _same_account(self, other: Query, how: str) -> None:
        if not isinstance(other, Query):
            raise refuse(how, "of another query", other)
        if other.account is not self.account:
            raise BadInput(
                f"Both sides of {how} must be tables of the same population and budget.",
                why="one person may be in both, and one budget must pay for both",
                tip="Table.from_file(..., account=table.account) for the second table",
            )

    def _fact(self, name: str, text: str) -> tuple[str, str | None]:
        fact, _, column = text.partition(" ")
        column = column.strip()
        if fact not in AGGREGATES or (fact == "count") == bool(column):
            raise BadInput(
                f"The fact '{name}' must be count, or sum, min or max with a column.",
                tip='people="count", oldest="max age"',
            )
        if not column:
            return fact, None
        check_column(column, self.relation)
        if fact == "sum" and self.relation.columns[column] != "integer":
            raise BadInput(
                f"The sum of '{column}' in a group must be of integers.",
                why="a sum of floating-point numbers depends on the order of all rows",
                tip='select(..., cents="CAST(round(price * 100) AS BIGINT)") first',
            )
        return fact, column


def _checked(check: Callable[[str, Mapping[str, str]], Any], text: str, relation: Relation) -> Any:
    try:
        return check(text, relation.columns)
    except PlanError as refusal:
        raise BadInput(f"{text[:80]!r}: {refusal.what}", why=refusal.why, tip=refusal.tip) from None


def _expression(text: str, relation: Relation) -> tuple[str, str]:
    sql, kind = _checked(check_expression, text, relation)
    if kind == NULL:
        raise BadInput(f"{text[:80]!r} has no kind: it is always NULL.")
    return sql, kind


def _check_alike(keys: Sequence[str], left: Relation, right: Relation) -> None:
    for key in keys:
        kind = left.columns[key]
        if kind not in KEYED or right.columns[key] != kind:
            raise BadInput(
                f"The column '{key}' must be text, integer or boolean, and the same on both sides."
            )
    both = set(left.columns) & set(right.columns) - set(keys)
    if both:
        raise BadInput(
            f"Both sides of the join have a column '{min(both)}'.",
            tip="select(...) the columns that you need, under different names",
        )


def _three_digits(number: Fraction) -> Fraction:
    return Fraction(f"{float(number):.3g}")
