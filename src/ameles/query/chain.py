"""The transformations of a query; each is checked when it is added and run when a question is
asked."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

from ameles.core.exceptions import BadInput
from ameles.core.parameters import refuse, whole
from ameles.measures.fields import identifier
from ameles.measures.measure import KEYED
from ameles.plan.condition import check_condition
from ameles.query.account import Account
from ameles.query.expressions import checked, checked_expression
from ameles.query.measure_ending import check_column
from ameles.query.pairs import Combined, Join
from ameles.query.row_set import RowSet
from ameles.query.steps import AGGREGATES, DistinctRows, GroupBy, Select, SelectMany, Where


class Chain(ABC):
    """Rows that can be transformed."""

    relation: RowSet
    account: Account
    version: str | None

    @abstractmethod
    def _with(self, relation: RowSet) -> Self:
        """The same with other rows."""

    @abstractmethod
    def _with_version(self, version: str | None) -> Self:
        """The same with another label of the data, or none."""

    def where(self, condition: str) -> Self:
        """The rows for which a condition is true, written as after WHERE in SQL."""
        sql = checked(check_condition, condition, self.relation)
        return self._with(Where(self.relation, condition, sql))

    def select(self, /, *columns: str, **computed: str) -> Self:
        """Only these columns, and columns that are computed from a row by SQL expressions."""
        for column in columns:
            check_column(column, self.relation)
        if clash := set(columns) & set(computed):
            raise BadInput(f"'{min(clash)}' is the name of a column and of a computed one.")
        texts = {**{name: identifier(name) for name in columns}, **computed}
        if not texts:
            raise BadInput("A select must have columns.", tip='select("age", older="age + 1")')
        # columns exactly as they are, so that the user column stays one
        expressions = {name: (identifier(name), self.relation.columns[name]) for name in columns}
        for name, text in computed.items():
            expressions[name] = checked_expression(text, self.relation)
        return self._with(Select(self.relation, texts, expressions))

    def select_many(self, name: str, expressions: Sequence[str]) -> Self:
        """Each row as several rows: one for each expression that has a value, in column ``name``.

        The stability grows by a factor of the number of expressions.
        """
        if isinstance(expressions, str) or not expressions:
            raise refuse("expressions", 'a list such as ["first", "second"]', expressions)
        parsed = [checked_expression(text, self.relation) for text in expressions]
        kinds = {kind for _, kind in parsed}
        if len(kinds) > 1:
            raise BadInput(
                "All expressions of select_many must be of the same kind.",
                tip="CAST(... AS VARCHAR)",
            )
        sqls = tuple(sql for sql, _ in parsed)
        if name == self.relation.user:
            raise BadInput("A computed column cannot take the place of the user column.")
        return self._with(SelectMany(self.relation, name, kinds.pop(), tuple(expressions), sqls))

    def group_by(self, /, *keys: str, **facts: str) -> Self:
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
        return self._with(GroupBy(self.relation, keys, parsed))

    def distinct(self) -> Self:
        """Each different row once."""
        return self._with(DistinctRows(self.relation))

    def union(self, other: Chain) -> Self:
        """All rows of both."""
        return self._combined("union", other)

    def intersect(self, other: Chain) -> Self:
        """The different rows that both have."""
        return self._combined("intersect", other)

    def except_(self, other: Chain) -> Self:
        """The different rows that the other does not have."""
        return self._combined("except", other)

    def join(
        self, other: Chain, on: str | Sequence[str], *, at_most: tuple[int, int] | None = None
    ) -> Self:
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
        pairs = Join(self.relation, other.relation, keys, most)
        return self._with(pairs)._with_version(self._both(other))

    def _combined(self, how: str, other: Chain) -> Self:
        self._same_account(other, how)
        rows = Combined(self.relation, other.relation, how)
        return self._with(rows)._with_version(self._both(other))

    def _both(self, other: Chain) -> str | None:
        """The label of the data of two tables; None if one has no label, because it may have
        changed."""
        if self.version is None or other.version is None:
            return None
        return json.dumps([self.version, other.version])

    def _same_account(self, other: Chain, how: str) -> None:
        if not isinstance(other, Chain):
            raise refuse(how, "of another query", other)
        if other.account is not self.account:
            part = self.account.of_part or other.account.of_part
            raise BadInput(
                f"Both sides of {how} must be tables of the same population and budget.",
                why="one person may be in both, and one budget must pay for both",
                tip=f"{how} first, and partition then"
                if part
                else "Table.from_file(..., account=table.account) for the second table",
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


def _check_alike(keys: Sequence[str], left: RowSet, right: RowSet) -> None:
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
