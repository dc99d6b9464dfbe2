"""Partitions: a query divided by public keys, asked as a whole or part by part.

Asked as a whole, one question answers for all parts, and is charged once: a row is in one part.
Asked part by part, the population pays for the most expensive part if each unit is in one part
only.  If a unit may be in several parts, it pays for that many of the most expensive ones.

This is true only of rows that stay where they are: one that moved between two questions would be in
two parts.  So all parts of a partition are asked about one copy of the rows.  The first question to
a part reads it; it stays in memory as long as the partition or one of its parts does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from threading import Lock
from typing import TYPE_CHECKING, Any

from ameles.connectors.duck import OutOfMemory, connect
from ameles.core.loss import EpsilonLoss
from ameles.core.parameters import Exact
from ameles.core.unique import Unique
from ameles.engine.gathering.temporary_tables import TemporaryTables
from ameles.measures.fields import identifier, literal
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.query.account import Account, PaidQuestion
from ameles.query.answer import Answer
from ameles.query.ending import Ending
from ameles.query.ends import Ends
from ameles.query.look import looking_for_keys
from ameles.query.row_set import Attached, RowSet
from ameles.query.row_source import MEMORY, ZONE, Duck, RowsNow, RowSource, streamed
from ameles.query.steps import FewGroups, Step

if TYPE_CHECKING:
    from ameles.query.query import Query

_COPY = "rows_of_parts"


class PartitionCopy(Unique, RowSource, RowsNow):
    """The rows of a partition, read once and kept in memory."""

    noun = "partition"
    elsewhere = "make a new partition in this process; it is paid for anew"
    still = True

    def __init__(self, relation: RowSet) -> None:
        Unique.__init__(self)
        RowSource.__init__(self, relation.columns, None)
        self._relation = relation
        self._lock = Lock()
        self._kept: Duck | None = None

    def rows_now(self) -> RowsNow:
        return self

    @contextmanager
    def connected(self, paths: tuple[str, ...], *, once: bool) -> Iterator[Duck]:
        with self._lock:  # one question at a time
            if self._kept is None:
                self._kept = self._read()
            yield self._kept

    @contextmanager
    def attached(self, tables: TemporaryTables, duck: Duck) -> Iterator[str]:
        yield _COPY

    def _read(self) -> Duck:
        duck = connect(zone=ZONE, memory=MEMORY)
        try:
            with looking_for_keys(self._relation) as look:
                rows = look.attached.duck.sql(f"SELECT {self.names} FROM ({look.rows})")
                with streamed(rows, duck) as stream:
                    duck.execute(f"CREATE TEMP TABLE {_COPY} AS SELECT * FROM {stream}")
        except OutOfMemory:
            duck.close()
            raise OutOfMemory(
                "The rows of a partition do not fit into memory.",
                why=f"its parts are asked about one copy of them, of up to {MEMORY >> 30} GiB",
                tip="all parts asked at once, or select(...) only the columns that you ask about "
                "before partition",
            ) from None
        except BaseException:
            duck.close()
            raise
        return duck


@dataclass(frozen=True, eq=False)
class PartRows(Step):
    """The rows of one part, from the copy that all parts share; ``payer`` alone pays for them."""

    copy: PartitionCopy
    key: Mapping[str, str]
    account: Account

    @property
    def read(self) -> tuple[RowSource, ...]:
        return (self.copy,)

    @property
    def payer(self) -> object | None:
        return self.account

    def sql(self, attached: Attached) -> str:
        mine = " AND ".join(
            f"CAST({identifier(column)} AS VARCHAR) = {literal(value)}"
            for column, value in self.key.items()
        )
        return f"SELECT {self.listed} FROM {attached.relations[id(self.copy)]} WHERE {mine}"

    def to_dict(self) -> dict[str, Any]:
        return {"part": dict(self.key), "of": self.below.to_dict()}


@dataclass(frozen=True, eq=False)
class Partition(Ends, Mapping[str, "Query"]):
    """The parts of a query: a mapping from keys to queries, and something to ask as a whole.

    >>> import duckdb
    >>> import ameles
    >>> from ameles.query import Table
    >>> people = ameles.Ledger("people", cap=ameles.Pure(1), unit=ameles.EVENT,
    ...                        neighbours=ameles.Neighbours.ADD_REMOVE)
    >>> clinic = duckdb.connect()
    >>> _ = clinic.execute("CREATE TABLE visits AS SELECT range % 90 AS age, "
    ...                    "['north', 'south'][1 + range % 2] AS region FROM range(1000)")
    >>> visits = Table.from_duckdb(clinic, "visits", account=people, unit="row")
    >>> parts = visits.partition(region=["north", "south"])
    >>> isinstance(parts, Partition), list(parts), len(parts.noisy_count(epsilon="0.5"))
    (True, ['north', 'south'], 2)
    >>> answers = [part.noisy_count(epsilon="0.3") for part in parts.values()]
    >>> print(people.left)  # a row is in one part, so both together cost what one costs
    epsilon 0.2
    """

    whole: Query
    keys_of: Mapping[str, tuple[str, ...]]

    def __repr__(self) -> str:
        return f"<{len(self)} parts of {self.whole!r}, by {', '.join(self.keys_of)}>"

    @property
    def _by(self) -> Mapping[str, Sequence[str]]:
        return self.keys_of

    def _ask(self, ending: Ending, loss: EpsilonLoss, why: str | None) -> Answer:
        return self.whole._ask(ending, loss, why)

    def recipe(self, end: str, **arguments: object) -> AnyMechanism:
        """The mechanism that would answer a question to all parts; nothing is read or paid."""
        return self.whole.recipe(end, by=self._lists, **arguments)

    def paid_question(self, end: str, **arguments: object) -> PaidQuestion:
        """A question to all parts as it would be paid for; nothing is read or paid."""
        return self.whole.paid_question(end, by=self._lists, **arguments)

    def explain(self, end: str, *, expected_rows: int | None = None, **arguments: object) -> str:
        """What a question to all parts would cost; nothing is read or paid.

        ``expected_rows`` is about how many rows a part has.
        """
        return self.whole.explain(end, expected_rows=expected_rows, by=self._lists, **arguments)

    def forecast(
        self, end: str, *, error: Exact, expected_rows: int | None = None, **arguments: object
    ) -> Fraction:
        """The epsilon with which each part's interval is this narrow; nothing is read or paid.

        ``expected_rows`` is about how many rows a part has.
        """
        return self.whole.forecast(
            end, error=error, expected_rows=expected_rows, by=self._lists, **arguments
        )

    @property
    def _lists(self) -> dict[str, list[str]]:
        return {column: list(keys) for column, keys in self.keys_of.items()}

    def __getitem__(self, key: str) -> Query:
        return self._parts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @cached_property
    def _names(self) -> dict[str, tuple[str, ...]]:
        return {"/".join(cell): cell for cell in product(*self.keys_of.values())}

    @property
    def touching(self) -> int:
        """How many parts one unit may be in."""
        relation = self._bounded
        most = relation.stability
        if relation.user is not None:
            most = min(most, relation.sources[0].unit.max_groups)
        return min(most, len(self))

    @cached_property
    def _bounded(self) -> RowSet:
        """The rows, limited to as many keys of each user as the user may have."""
        relation = self.whole.relation
        if relation.user is None:
            return relation
        groups = relation.sources[0].unit.max_groups
        if groups >= min(relation.stability, len(self)):
            return relation
        return FewGroups(relation, tuple(self.keys_of), groups)

    @cached_property
    def _parts(self) -> dict[str, Query]:
        """Made together: accounts that count together pay for one copy of the rows alone."""
        rows, copy = self._bounded, PartitionCopy(self._bounded)
        accounts = self.whole.account.parts(list(self._names), touching=self.touching)
        return {
            name: self.whole._part(
                PartRows(rows, copy, dict(zip(self.keys_of, cell, strict=True)), accounts[name]),
                accounts[name],
            )
            for name, cell in self._names.items()
        }
