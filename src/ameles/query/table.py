"""Tables: where a query begins, whose data it is, and who pays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Required, TypedDict, Unpack

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


class TableKeywords(TypedDict, total=False):
    """Whose data a table has and who pays: keywords that every constructor takes."""

    account: Required[Budget | Account]
    unit: Required[str]
    max_rows: int | None
    max_groups: int | None
    name: str | None
    version: str | None


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
    def over(
        cls,
        rows: RowSource,
        *,
        account: Budget | Account,
        unit: str,
        max_rows: int | None = None,
        max_groups: int | None = None,
        name: str | None = None,
        version: str | None = None,
    ) -> Table:
        """Rows of any kind.  All other constructors take the keywords of this one, too.

        ``name`` is public and says in the ledger which table was asked; a file or a table of a
        database has a name already.  ``max_groups`` is the most parts of a partition that rows of
        one user may be in.
        """
        who = privacy_unit(unit, user=rows.user, max_rows=max_rows, max_groups=max_groups)
        pays = LedgerAccount(account) if isinstance(account, Budget) else account
        if not isinstance(pays, Account):
            raise BadInput(
                "A table needs a ledger, or another account, that pays for its questions.",
                tip="account=ledger",
            )
        _check_unit(who, pays)
        called = rows.label if name is None else name
        if called is None:
            raise BadInput("A table in memory needs a name.", tip='name="visits"')
        for what, text in {"name": called, "version": version}.items():
            if text is not None:
                check_text(text, what)
            if text == "":
                raise refuse(what, "a text that is not empty", text)
        bounded = BoundedRows(rows, who, called, os.urandom(16).hex())
        return cls(bounded, pays, version)

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        columns: Mapping[str, str],
        user: str | None = None,
        form: Format = DEFAULT,
        **terms: Unpack[TableKeywords],
    ) -> Table:
        """A CSV, JSON lines or Parquet file, or all files that match a pattern.

        The other keywords, ``terms``, are those of ``over``.
        """
        return cls.over(FileRows(path, columns, user, form), **terms)

    @classmethod
    def from_dataframe(
        cls,
        frame: Frame,
        *,
        columns: Mapping[str, str] | None = None,
        user: str | None = None,
        **terms: Unpack[TableKeywords],
    ) -> Table:
        """A data frame of pandas or Polars, an Arrow table, or anything with Arrow's interface.

        The other keywords, ``terms``, are those of ``over``; ``name`` is one that it needs.
        """
        return cls.over(FrameRows(frame, columns, user), **terms)

    @classmethod
    def from_duckdb(
        cls,
        connection: duckdb.DuckDBPyConnection,
        table: str,
        *,
        columns: Mapping[str, str] | None = None,
        user: str | None = None,
        **terms: Unpack[TableKeywords],
    ) -> Table:
        """A table or view of an open DuckDB connection; questions run there.

        The other keywords, ``terms``, are those of ``over``.
        """
        return cls.over(DuckRows(connection, table, columns, user), **terms)

    @classmethod
    def from_postgres(
        cls,
        url: str,
        table: str,
        *,
        columns: Mapping[str, str] | None = None,
        user: str | None = None,
        **terms: Unpack[TableKeywords],
    ) -> Table:
        """A table of a Postgres database (the ``postgres`` extra).

        The other keywords, ``terms``, are those of ``over``.
        """
        return cls.over(PostgresRows(url, table, columns, user), **terms)


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
