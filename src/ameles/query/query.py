"""Queries: a lazy chain of transformations, ended by a question that is paid for.

Nothing is read until a question ends the chain.  A chain can be asked more than once, and branched.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ameles.connectors.typed_columns import check_kinds
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Neighbours
from ameles.core.loss import EpsilonLoss, Pure, loss_to_dict
from ameles.core.parameters import Exact, exact, refuse, whole
from ameles.core.unique import Unique
from ameles.core.words import brief
from ameles.measures.key_words import not_published
from ameles.measures.measure import KEYED
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.query.account import Account, PaidQuestion
from ameles.query.answer import Answer
from ameles.query.chain import Chain
from ameles.query.ending import Ending
from ameles.query.ends import Ends
from ameles.query.look import looking, looking_for_keys
from ameles.query.measure_ending import check_column
from ameles.query.partition import Partition
from ameles.query.private_partition import PrivatePartition
from ameles.query.row_set import RowSet, stable

_REPLACING = (Neighbours.REPLACE, Neighbours.USER_SUBSTITUTION)


@dataclass(frozen=True)
class Query(Chain, Ends):
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

    relation: RowSet
    account: Account
    version: str | None = None

    def __post_init__(self) -> None:
        if self.relation.payer is not (self.account if self.account.of_part else None):
            raise BadInput(
                "The account of a part of a partition pays for that part alone.",
                why="the parts are charged together, like the costliest of them, because no row is "
                "in two; the rows of another table would be in all of them",
                tip="the account of the whole table; to join parts, join first and partition then",
            )

    def __repr__(self) -> str:
        stable = self.relation.stability
        rows = "1 row" if stable == 1 else f"{stable} rows"
        return f"<query of {self.account.population}: one unit may change {rows}>"

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns with their kinds."""
        return dict(self.relation.columns)

    def partition(self, /, **keys: Sequence[str | int] | Answer) -> Partition:
        """The parts into which some columns divide the rows, by public keys: all that may occur.

        A key that appears only when data arrives reveals who is in the data; ``private_partition``
        and ``private_keys`` discover keys that may be published, and their answers can be given
        here.
        """
        if not keys:
            raise BadInput("A partition needs keys.", tip='partition(region=["north", "south"])')
        declared = {}
        for column, given in keys.items():
            check_column(column, self.relation)
            kind = self.relation.columns[column]
            if kind not in KEYED:
                raise BadInput(f"The column '{column}' is {kind} and cannot divide rows.")
            if isinstance(given, Answer):
                given = chosen_keys(column, given)
            values = [str(v).lower() if isinstance(v, bool) else str(v) for v in given]
            if isinstance(given, str) or not values or len(set(values)) < len(values):
                raise BadInput(
                    f"The keys of '{column}' must be a list, each key once.",
                    tip=f'partition({column}=["north", "south"]), or private_partition("{column}")',
                )
            if len(keys) > 1 and any("/" in value for value in values):
                raise BadInput(
                    f"A key of '{column}' has a slash.",
                    why="a slash separates the columns of a key in what is published",
                    tip="keys without slashes, or a partition by one column",
                )
            declared[column] = tuple(values)
        return Partition(self, declared)

    def private_partition(self, column: str) -> PrivatePartition:
        """The parts by the keys of a column that enough rows have, discovered in the data.

        Only ``noisy_count`` can be asked of it: one noise decides which keys are published, and how
        often each occurs.  Its answer can be given to ``partition``, for other questions.
        """
        return PrivatePartition(self, column)

    def _part(self, rows: RowSet, account: Account) -> Query:
        return Query(rows, account, self.version)

    def _with(self, relation: RowSet) -> Query:
        stable(relation.stability)
        check_kinds(relation.columns)
        return Query(relation, self.account, self.version)

    def _with_version(self, version: str | None) -> Query:
        return Query(self.relation, self.account, version)

    def recipe(self, end: str, **arguments: Any) -> AnyMechanism:
        """The mechanism that would answer a question; nothing is read or paid."""
        ending, loss = self._ending(end, arguments)
        ending.check(self.relation, self.account.unit)
        return ending.recipe(self.relation, self.account.unit, self._halved(loss))

    def explain(self, end: str, *, expected_rows: int | None = None, **arguments: Any) -> str:
        """What a question would cost and how exact it would be; nothing is read or paid.

        ``expected_rows`` is about how many rows you think there are: the interval of an average
        depends on it.
        """
        ending, _ = self._ending(end, arguments)
        recipe = self.recipe(end, **arguments)
        price, charge = self.account.price(recipe), self.account.charge(recipe)
        half = ending.half_width(self.relation, recipe)
        interval = ending.interval_in_words(recipe, half)
        if ending.per_row and expected_rows is not None:
            half /= whole(expected_rows, "expected_rows", low=1, high=1 << 40)
            interval = (
                f"the {ending.value_name}, if there are about {brief(expected_rows)} rows, "
                f"give or take {brief(half)}, with 95%"
            )
        left = self.account.left
        return "\n".join(
            [
                f"{end} of {self.account.population}",
                f"  charged      {charge}" + (f", of {left} left" if left is not None else ""),
                *([] if charge == price else [f"  price        {price}, shared with other parts"]),
                f"  protects     {recipe.guarantee.unit}, which may change "
                f"{self.relation.stability} row{'s' if self.relation.stability > 1 else ''}",
                f"  mechanism    {type(recipe).__name__}",
                f"  interval     {interval}",
                *(f"  {head:12} {text}" for head, text in ending.notes(recipe)),
            ]
        )

    def forecast(
        self, end: str, *, error: Exact, expected_rows: int | None = None, **arguments: Any
    ) -> Fraction:
        """The smallest epsilon, to three digits, with which the interval is this narrow.

        ``error`` is the half-width of a 95% interval.  An average, a variance and k_means need
        ``expected_rows``, about how many rows you think there are.  Nothing is read or paid.
        """
        target = exact(error, "error")
        if target <= 0:
            raise refuse("error", "above 0", error)
        ending, _ = self._ending(end, {**arguments, "epsilon": 1})
        if ending.per_row:
            if expected_rows is None:
                raise BadInput(
                    f"The forecast of {end} needs expected_rows.",
                    why="its interval shrinks with the number of rows, which is secret",
                    tip="expected_rows=1000, your guess from what is public",
                )
            target *= whole(expected_rows, "expected_rows", low=1, high=1 << 40)
        low, high = Fraction(1, 10**9), Fraction(1000)
        if self._half_width(end, high, arguments) > target:
            raise BadInput(
                "No epsilon up to 1000 makes the interval so narrow.",
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

    def paid_question(self, end: str, **arguments: Any) -> PaidQuestion:
        """A question as it would be paid for and stored; nothing is read or paid."""
        return self._question(*self._ending(end, arguments), None)

    def _question(self, ending: Ending, loss: EpsilonLoss, why: str | None) -> PaidQuestion:
        relation, unit = self.relation, self.account.unit
        ending.check(relation, unit)
        question = {"loss": loss_to_dict(loss), **ending.to_dict(), "of": relation.to_dict()}
        return PaidQuestion(
            question=json.dumps(question, sort_keys=True, default=str, ensure_ascii=False),
            version=self.version,
            recipe=ending.recipe(relation, unit, self._halved(loss)),
            asked=ending.name,
            key_names=ending.key_names,
            value_name=ending.value_name,
            on=relation.sources[0].name,
            why=why or f"{ending.name} of {relation.sources[0].name}",
            interval_of=ending.interval_of,
            interval_if=ending.interval_if,
        )

    def _ask(self, ending: Ending, loss: EpsilonLoss, why: str | None) -> Answer:
        relation, purchase = self.relation, self._question(ending, loss, why)
        for rows in relation.read:
            if isinstance(rows, Unique):  # the copy of a partition
                rows.check_process()

        def compute(run: Any) -> Any:
            with (looking_for_keys if ending.key_names else looking)(relation) as look:
                return ending.answer(look, purchase.recipe, run)

        return self.account.ask(purchase, compute)

    def _halved(self, loss: EpsilonLoss) -> EpsilonLoss:
        """The loss of the mechanism, chosen so that exactly the requested loss is charged.

        If neighbours replace a row, one row is removed and one is added, and the ledger charges
        twice.
        """
        if self.account.neighbours not in _REPLACING:
            return loss
        if not isinstance(loss, Pure):
            raise BadInput(
                "If neighbours replace rows, only a pure epsilon can be asked for.",
                tip="delta=0, or a population whose rows are added or removed",
            )
        return Pure(loss.epsilon / 2)


def chosen_keys(column: str, answer: Answer) -> tuple[str, ...]:
    """The keys of a column that ``private_keys`` or ``private_partition`` published."""
    if answer.key_names != (column,):
        raise BadInput(f"This answer does not have keys of the column '{column}'.")
    if not answer.rows:
        raise BadInput(
            f"There are no parts: {not_published(column)}.",
            why="a key is published once enough users or rows have brought it; explain says how "
            "many",
            tip="a larger epsilon or delta for the keys, or declared keys",
        )
    return tuple(row.key[0] for row in answer.rows)


def _three_digits(number: Fraction) -> Fraction:
    return Fraction(f"{float(number):.3g}")
