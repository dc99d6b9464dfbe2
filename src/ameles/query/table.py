"""Tables: where a query begins, whose data it is, and who pays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from ameles.connectors.format import DEFAULT, Format
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, USER
from ameles.core.parameters import refuse
from ameles.ledger import Budget
from ameles.ledger.arguments import check_text
from ameles.query.account import Account, LedgerAccount
from ameles.query.database_rows import DuckRows, PostgresRows
from ameles.query.file_rows import FileRows
from ameles.query.frame_rows import FrameRows
from ameles.query.privacy_unit import PrivacyUnit, privacy_unit
from ameles.query.query import Query
from ameles.query.row_set import BoundedRows
from ameles.query.row_source import Frame, RowSource


@dataclass(frozen=True, repr=False)
class Table(Query):
    """A table of people's data, with the budget that pays for questions about it.

    ``account`` is a ledger, a child of one, or the account of another table.  ``unit`` says whose
    privacy is protected: "row", or "user" with the column that names the user and ``max_rows``, the
    most rows of one user that count.  ``version`` is a public label that the owner gives to the
    data: the same question about the same version is answered again at no cost.

    >>> import ameles
    >>> people = ameles.Ledger("people", cap=ameles.Pure(1), unit=ameles.EVENT,
    ...                        neighbours=ameles.Neighbours.ADD_REMOVE)
    >>> connection = duckdb.connect()
    >>> _ = connection.execute("CREATE TABLE visits AS SELECT range % 90 AS age FROM range(1000)")
    >>> visits = Table.from_duckdb(connection, "visits", account=people, unit="row")
    >>> answer = visits.where("age >= 18").noisy_count(epsilon="0.5")
    >>> abs(answer.value - 798) < 100
    True
    >>> print(people.left)
    epsilon 0.5
    """

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        columns: Mapping[str, str],
        account: Budget | Account,
        unit: str,
        user: str | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        name: str | None = None,
        version: str | None = None,
        form: Format = DEFAULT,
    ) -> Table:
        """A CSV, JSON lines or Parquet file, or all files that match a pattern."""
        who = privacy_unit(unit, user=user, max_rows=max_rows, max_groups=max_groups)
        rows = FileRows(path, columns, user, form)
        return cls._of(rows, who, account, name or Path(path).stem, version)

    @classmethod
    def from_dataframe(
        cls,
        frame: Frame,
        *,
        account: Budget | Account,
        unit: str,
        name: str,
        columns: Mapping[str, str] | None = None,
        user: str | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        version: str | None = None,
    ) -> Table:
        """A data frame of pandas or Polars, an Arrow table, or anything with Arrow's interface."""
        who = privacy_unit(unit, user=user, max_rows=max_rows, max_groups=max_groups)
        return cls._of(FrameRows(frame, columns, user), who, account, name, version)

    @classmethod
    def from_duckdb(
        cls,
        connection: duckdb.DuckDBPyConnection,
        table: str,
        *,
        account: Budget | Account,
        unit: str,
        columns: Mapping[str, str] | None = None,
        user: str | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        name: str | None = None,
        version: str | None = None,
    ) -> Table:
        """A table or view of an open DuckDB connection; questions run there."""
        who = privacy_unit(unit, user=user, max_rows=max_rows, max_groups=max_groups)
        rows = DuckRows(connection, table, columns, user)
        return cls._of(rows, who, account, name or table, version)

    @classmethod
    def from_postgres(
        cls,
        url: str,
        table: str,
        *,
        account: Budget | Account,
        unit: str,
        columns: Mapping[str, str] | None = None,
        user: str | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        name: str | None = None,
        version: str | None = None,
    ) -> Table:
        """A table of a Postgres database (the ``postgres`` extra)."""
        who = privacy_unit(unit, user=user, max_rows=max_rows, max_groups=max_groups)
        rows = PostgresRows(url, table, columns, user)
        return cls._of(rows, who, account, name or table, version)

    @classmethod
    def _of(
        cls,
        rows: RowSource,
        who: PrivacyUnit,
        account: Budget | Account,
        name: str,
        version: str | None,
    ) -> Table:
        pays = LedgerAccount(account) if isinstance(account, Budget) else account
        if not isinstance(pays, Account):
            raise BadInput(
                "A table needs a ledger, or another account, that pays for its questions.",
                tip="account=ledger",
            )
        _check_unit(who, pays)
        for what, text in {"name": name, "version": version}.items():
            if text is not None:
                check_text(text, what)
            if text == "":
                raise refuse(what, "a text that is not empty", text)
        bounded = BoundedRows(rows, who, name, os.urandom(16).hex())
        return cls(bounded, pays, version)


def _check_unit(who: PrivacyUnit, account: Account) -> None:
    wanted: Any = account.unit
    if wanted not in (EVENT, USER):
        raise BadInput(
            f"The population '{account.population}' protects {wanted}; a table has no windows.",
            tip="a population whose unit is one event or one user",
        )
    if who.unit != wanted:
        kind = "row" if wanted == EVENT else "user"
        raise BadInput(
            f"The population '{account.population}' protects {wanted}, and the table {who.unit}.",
            why="one budget is for one unit",
            tip=f'unit="{kind}"',
        )
