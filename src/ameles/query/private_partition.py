"""Partitions by keys that are discovered: their rows are counted, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ameles.core.exceptions import BadInput
from ameles.core.loss import EpsilonLoss
from ameles.core.parameters import Exact
from ameles.measures.key_words import needs_more, not_discovered
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.query.account import PaidQuestion
from ameles.query.answer import Answer
from ameles.query.ending import Ending
from ameles.query.ends import Ends

if TYPE_CHECKING:
    from ameles.query.query import Query


@dataclass(frozen=True)
class PrivatePartition(Ends):
    """The parts by a column whose keys are discovered: ``noisy_count`` publishes and counts them.

    >>> import duckdb
    >>> import ameles
    >>> from ameles.query import Table
    >>> people = ameles.Ledger("people", cap=ameles.Approx(1, "1e-5"), unit=ameles.EVENT,
    ...                        neighbours=ameles.Neighbours.ADD_REMOVE)
    >>> clinic = duckdb.connect()
    >>> _ = clinic.execute("CREATE TABLE visits AS SELECT "
    ...                    "['north', 'south'][1 + range % 2] AS region FROM range(1000)")
    >>> visits = Table.from_duckdb(clinic, "visits", account=people, unit="row")
    >>> regions = visits.private_partition("region")
    >>> isinstance(regions, PrivatePartition), regions
    (True, <private parts of <query of people: one unit may change 1 row>, by region>)
    >>> print(regions.explain("noisy_count", epsilon="0.5", delta="1e-6"))
    noisy_count of people
      charged      epsilon 0.5, delta 1e-06, of epsilon 1, delta 1e-05 left
      protects     one event, which may change 1 row
      mechanism    KeyCounts
      interval     the count of a key that is surely published, give or take 6, with 95%
      keys         a key is published once enough rows have brought it, about 26 rows. Which keys \
are published, and how many, depends on the data through this mechanism alone.
      unit row     one person with many rows could publish a key that nobody else has
      surely       a key of more than 30 rows is published, with 95%
      near 26      intervals reach further down: noise may have lifted a key
    >>> counts = regions.noisy_count(epsilon="0.5", delta="1e-6")
    >>> [row.key for row in counts.rows]
    [('north',), ('south',)]
    >>> list(visits.partition(region=counts))
    ['north', 'south']
    """

    whole: Query
    column: str

    def __repr__(self) -> str:
        return f"<private parts of {self.whole!r}, by {self.column}>"

    def _ask(self, ending: Ending, loss: EpsilonLoss, why: str | None) -> Answer:
        return self.whole._ask(ending, loss, why)

    def _ending(self, end: str, arguments: Mapping[str, Any]) -> tuple[Ending, EpsilonLoss]:
        return super()._ending(end, self._with_keys(end, arguments))

    def recipe(self, end: str, **arguments: object) -> AnyMechanism:
        """The mechanism that would answer; nothing is read or paid."""
        return self.whole.recipe(end, **self._with_keys(end, arguments))

    def paid_question(self, end: str, **arguments: object) -> PaidQuestion:
        """The question as it would be paid for; nothing is read or paid."""
        return self.whole.paid_question(end, **self._with_keys(end, arguments))

    def explain(self, end: str, **arguments: Any) -> str:
        """What a question would cost, and how many rows a key needs; nothing is read or paid."""
        return self.whole.explain(end, **self._with_keys(end, arguments))

    def forecast(self, end: str, *, error: Exact, **arguments: Any) -> Fraction:
        """The epsilon with which the interval of a large key is so narrow; nothing is read."""
        return self.whole.forecast(end, error=error, **self._with_keys(end, arguments))

    def _with_keys(self, end: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if end != "noisy_count":
            raise BadInput(
                not_discovered(self.column, f"for {end}"),
                why=needs_more(end),
                tip="noisy_count; or partition(column=answer), with its answer or that of "
                "private_keys",
            )
        return {**arguments, "private_by": self.column}
