"""``ameles query``: a question in SQL about a file, answered under differential privacy."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ameles.cli.plans import AsJson, say, table
from ameles.cli.query_options import bounds_of, keys_of, kinds_of, tables_of
from ameles.connectors.sources import open_source
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, USER, Neighbours, Unit
from ameles.core.loss import Approx, Loss, Pure
from ameles.core.parameters import exact
from ameles.ledger import Ledger
from ameles.query.account import Account, LedgerAccount
from ameles.query.answer import Answer
from ameles.query.query import Query
from ameles.query.sql import Parsed, parse
from ameles.query.sql_kinds import kinds_for
from ameles.query.sql_query import SqlQuery
from ameles.query.store_account import open_account
from ameles.query.table import Table
from ameles.store import exists, open_store


def query(
    file: Annotated[str, typer.Argument(help="The table: a CSV, JSON lines or Parquet file.")],
    sql: Annotated[str, typer.Argument(help="A SELECT with COUNT, SUM, AVG, MEDIAN or QUANTILE.")],
    epsilon: Annotated[
        str | None, typer.Option(help="What all answers together cost.", metavar="NUMBER")
    ] = None,
    delta: Annotated[
        str, typer.Option(help="Above 0 it allows Gaussian noise.", metavar="NUMBER")
    ] = "0",
    unit: Annotated[
        str | None, typer.Option(help="Who is protected: row or user.", metavar="UNIT")
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="The column with the user's id.", metavar="COLUMN")
    ] = None,
    max_rows: Annotated[
        int | None, typer.Option(help="The most rows of one user that count.", metavar="N")
    ] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(help="The range and granularity of a column: age=0:120:1.", metavar="C=A:B"),
    ] = None,
    keys: Annotated[
        list[str] | None,
        typer.Option(help="The declared keys of a column: region=north,south.", metavar="C=A,B"),
    ] = None,
    private_keys: Annotated[
        list[str] | None,
        typer.Option(
            help="A column of GROUP BY whose keys are discovered; needs a delta.",
            metavar="COLUMN",
        ),
    ] = None,
    max_groups: Annotated[
        int | None, typer.Option(help="The most keys that one user may have.", metavar="N")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(help="Kinds of columns: age=integer,fever=boolean.", metavar="C=KIND"),
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(help="A second table for a JOIN on the user: u=stays.csv.", metavar="T=FILE"),
    ] = None,
    population: Annotated[
        str | None, typer.Option(help="Whose budget pays.", metavar="NAME")
    ] = None,
    store: Annotated[
        str | None, typer.Option(help="The store of that budget.", metavar="FILE")
    ] = None,
    cap: Annotated[
        str | None,
        typer.Option(help="The cap in epsilon, if the population is new.", metavar="NUMBER"),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="The budget below the cap that pays.", metavar="NAME")
    ] = None,
    version: Annotated[
        str | None,
        typer.Option(
            help="A public label of the data: asking the same question about it again is free.",
            metavar="LABEL",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would cost; read and pay nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Ask a question about a table, in SQL, and pay for the answer.

    Declare everything that limits the influence of one row: the bounds of values, the keys of
    groups and, for users, how many rows each may have.
    """
    parsed = parse(sql)
    wanted = {"--epsilon": epsilon, "--unit": unit, "--population": population, "--store": store}
    absent = [name for name, given in wanted.items() if given is None]
    if absent or epsilon is None or unit is None or population is None or store is None:
        raise BadInput(
            f"It needs {' and '.join(absent)}.",
            why="whose privacy is protected, and who pays, is never guessed",
            tip="--unit row --population visitors --store flu.db --epsilon 0.2",
        )
    if unit not in ("row", "user"):
        raise BadInput("The --unit must be row or user.", tip="--unit row")
    ranges, declared_keys = bounds_of(bounds), keys_of(keys)
    _check_keys(declared_keys, parsed.keys, private_keys or ())
    kinds = kinds_for(
        parsed,
        declared=kinds_of(columns),
        bounded=ranges,
        keyed=[*declared_keys, *parsed.keys],
        user=user,
    )
    files = {parsed.table: file, **tables_of(also)}
    protected = unit, user, max_rows, max_groups

    def asked_of(account: Account) -> SqlQuery:
        tables = {
            name: _table(path, kinds, account, version, protected) for name, path in files.items()
        }
        return SqlQuery(
            parsed=parsed,
            tables=tables,
            bounds=ranges,
            keys=declared_keys,
            private_keys=private_keys or (),
            epsilon=epsilon,
            delta=delta,
        )

    who, opened = (EVENT if unit == "row" else USER), _opened(store, population)
    loss = None if cap is None else _cap(cap, delta, opened)
    if (
        loss is not None and opened is None
    ):  # on paper first: a new store or population is permanent
        paper = _on_paper(population, who, loss)
        trial = asked_of(paper)
        trial.check_fits(paper)
        if dry_run and not exists(store):
            say(trial.explain())
            return
    kept = None if dry_run else loss
    with open_account(store, population, unit=who, cap=kept, budget=budget) as account:
        asked = asked_of(account)
        if dry_run:
            say(asked.explain())
            if refused := asked.refusal(account):
                say(f"Asking it would be refused: {refused.what}.", err=True)
            return
        answers = asked.ask(account)
        left = account.left
    if as_json:
        typer.echo(json.dumps([json.loads(answer.to_json()) for answer in answers], indent=2))
        return
    _show(parsed, answers, left)


def _on_paper(population: str, unit: Unit, cap: Loss) -> Account:
    """An account that is not stored."""
    relation = Neighbours.ADD_REMOVE if unit == EVENT else Neighbours.USER_PRESENCE
    return LedgerAccount(Ledger(population, cap=cap, unit=unit, neighbours=relation))


def _opened(store: str, population: str) -> Loss | None:
    """The cap with which a population was opened; None if it is new."""
    if not exists(store):
        return None
    with closing(open_store(store)) as kept, kept.reading() as transaction:
        record = transaction.population(population)
    return None if record is None else record.cap


def _cap(cap: str, delta: str, opened: Loss | None) -> Loss:
    """The cap of a new population, whose delta is that of its first question; or of an old one."""
    if isinstance(opened, Pure | Approx):
        return replace(opened, epsilon=exact(cap, "cap"))
    allowed = exact(delta, "delta")
    return Approx(cap, allowed) if allowed else Pure(cap)


def _check_keys(
    declared: Mapping[str, Sequence[str]], grouped: Sequence[str], discovered: Sequence[str]
) -> None:
    """Refuses keys that nothing would read."""
    for column in declared:
        if column in discovered:
            raise BadInput(
                f"The keys of '{column}' are both declared and discovered.",
                why="only keys that nobody declared are discovered",
                tip=f"either --keys {column}=... or --private-keys {column}",
            )
        if column not in grouped:
            raise BadInput(
                f"--keys names '{column}', which is not in GROUP BY.",
                why="keys are the parts into which GROUP BY divides rows",
                tip=f"GROUP BY {column}, or WHERE {column} IN ('north', 'south') without --keys",
            )


def _table(
    path: str,
    kinds: dict[str, str],
    account: Account,
    version: str | None,
    protected: tuple[str, str | None, int | None, int | None],
) -> Query:
    unit, user, max_rows, max_groups = protected
    there = open_source(path, {}, Path.cwd()).names()
    mine = {name: kind for name, kind in kinds.items() if name in there} or kinds
    return Table.from_file(
        path,
        columns=mine or {there[0]: "text"},  # COUNT(*) reads none, but rows need one
        account=account,
        unit=unit,
        user=user,
        max_rows=max_rows,
        max_groups=max_groups,
        version=version,
    )


def _show(parsed: Parsed, answers: list[Answer], left: Loss | None) -> None:
    heads = [*parsed.keys]
    for one in parsed.aggregates:
        heads += [one.label, "95% interval"]
    rows = []
    for place, row in enumerate(answers[0].rows):
        line = [*row.key]
        for answer in answers:
            answered = answer.rows[place]
            line += [answered.value_in_words, answered.interval_in_words]
        rows.append(line)
    table(heads, rows)
    paid = ", ".join(f"{answer.paid} (entry {answer.entry})" for answer in answers)
    rest = "" if left is None else f"; {left} left"
    say(f"Paid by {answers[0].population}: {paid}{rest}.", err=True)
