"""Totals of tables: the quick SQL adds up exactly what the row-wise SQL of plans does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ameles.connectors.duck import OutOfMemory
from ameles.engine.gathering.temporary_tables import TemporaryTables
from ameles.measures.catalogue import MEASURES
from ameles.measures.keys import Keys
from ameles.measures.measure import Measure
from ameles.measures.table_question import Amount, TableColumns, TableQuestion, constant
from ameles.query import Table
from ameles.query.look import TableLook, looking
from ameles.query.steps import only_booleans
from ameles.query.totals_sql import by_values
from tests.query.tables import truthful

LARGE = 2**53
INTEGERS = [
    None, 0, 1, -1, 9, 10, 11, 20, 21, 49, 50, 99, 100, 101, 2**31, -(2**63), 2**63 - 1, LARGE + 1,
]  # fmt: skip
NUMBERS = [
    None, 0.0, -0.0, 0.1, 0.25, 0.5, 1.5, 2.5, 9.999999999999998, 10.0, 1e300, -1e300, 5e-324,
    float("nan"), float("inf"), -float("inf"),
]  # fmt: skip
TEXTS = [
    "north", "North", "north ", "", None, "south", "a/b", "e\u0301", "\u00e9", "nul\0", "NULL", "7",
]  # fmt: skip
KEYS = ["south", "north", "", "\u00e9", "7", "nothing"]
WHOLE = {"lower": 0, "upper": 100, "granularity": 1}

QUESTIONS: dict[str, dict[str, Any]] = {
    "sum": {"column": "n", **WHOLE},
    "sum of both signs": {"column": "n", "lower": -10, "upper": 11, "granularity": 1},
    "sum on a coarse grid": {"column": "n", "lower": 0, "upper": 100, "granularity": 10},
    "sum on a fine grid": {"column": "x", "lower": 0, "upper": 20, "granularity": "0.25"},
    "sum by keys": {"column": "n", "by": {"t": KEYS, "b": [True, False]}, **WHOLE},
    "sum by keys and other": {"column": "x", "by": {"t": KEYS}, "other": True, **WHOLE},
    "mean": {"column": "n", "lower": -1, "upper": 100, "granularity": 1},
    "mean of numbers": {"column": "x", "lower": -1, "upper": 2, "granularity": "0.5"},
    "mean by keys": {"column": "n", "by": {"b": [False, True]}, **WHOLE},
    "count": {},
    "count by keys": {"by": {"t": KEYS}},
    "count by one key": {"by": {"t": ["north"]}},
    "count by integers": {"by": {"n": [0, -1, 2**63 - 1, "01"]}},
    "count by keys and other": {"by": {"t": KEYS, "n": [0, 1]}, "other": True},
    "top": {"by": {"t": KEYS}, "k": 2},
    "histogram": {"column": "n", "edges": [0, 10, 20, 30]},
    "histogram with other": {"column": "n", "edges": [-10, 0, 10, 20], "other": True},
    "histogram of uneven bins": {"column": "n", "edges": [0, 10, 50]},
    "histogram of halves": {"column": "n", "edges": ["0.5", "1.5", "2.5"]},
    "histogram of many values": {"column": "n", "edges": [-LARGE + 1, 0, LARGE - 1]},
    "histogram of large values": {"column": "n", "edges": [-LARGE, LARGE + 2, 2 * LARGE]},
    "histogram of numbers": {"column": "x", "edges": [0, "0.1", "0.3", 10]},
    "histogram by keys": {"column": "n", "edges": [0, 10, 20], "by": {"t": KEYS}, "other": True},
    "histogram of categories": {"column": "t", "categories": KEYS, "other": True},
    "quantile": {"column": "n", "edges": [0, 10, 20, 30, 40, 50], "q": "0.5"},
    "quantile of one bin": {"column": "n", "edges": [0, 10], "q": "0.5"},
    "quantile of halves": {"column": "n", "edges": ["-0.5", "0.5", "9.5"], "q": "0.5"},
    "quantile by keys": {"column": "n", "edges": [0, 10], "q": "0.5", "by": {"t": KEYS}},
    "quantile of numbers": {"column": "x", "edges": [0, 1, 2], "q": "0.5"},
}


def _measure(name: str) -> Measure:
    kind = name.split()[0]
    return MEASURES[kind].model_validate({"name": "x", "measure": kind, **QUESTIONS[name]})


@pytest.fixture(scope="module")
def table() -> Table:
    """Every value together with several others."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (n BIGINT, x DOUBLE, t VARCHAR, b BOOLEAN)")
    rows = [
        (INTEGERS[at % 18], NUMBERS[at % 16], TEXTS[at % 12], [True, False, None][at // 5 % 3])
        for at in range(450)
    ]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    return Table.from_duckdb(connection, "t", account=truthful(), unit="row")


@pytest.fixture(scope="module")
def look(table: Table) -> Iterator[TableLook]:
    with looking(table.relation) as one:
        yield one


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("name", QUESTIONS)
def test_totals_are_those_of_the_rows(name: str, coded: bool, look: TableLook) -> None:
    measure = _measure(name)
    question = measure.question
    expected = look.totals(question.cell, question.amounts, question.cells).tolist()
    columns = TableColumns(look.relation.columns, coded)
    asked = measure.table_question(columns)
    assert look.totals_of(asked).tolist() == expected
    assert any(expected)
    for grouped in (True, False):
        sql = by_values(look.rows, asked, columns, grouped=grouped)
        if sql is not None:
            cells = look._vector(sql[0], len(asked.amounts), question.cells, sql[1])
            assert cells.tolist() == expected


def test_which_questions_group_rows_by_their_values(look: TableLook) -> None:
    plain = TableColumns(look.relation.columns)
    asked = {name: _measure(name).table_question(plain) for name in QUESTIONS}
    each_row = {name for name, one in asked.items() if by_values("", one, plain) is None}
    assert each_row == {
        "sum", "sum of both signs", "sum on a coarse grid", "sum on a fine grid", "mean", "count",
        "mean of numbers", "histogram of many values", "histogram of large values",
        "histogram of numbers", "quantile of numbers",
    }  # fmt: skip


def test_integers_need_no_floating_point_numbers() -> None:
    columns = TableColumns({"n": "integer"})
    for name in ("sum", "mean"):
        asked = _measure(name).table_question(columns)
        assert "DOUBLE" not in asked.where + "".join(one.value for one in asked.amounts)


def test_totals_wrap_around_64_bits(look: TableLook) -> None:
    keys = Keys({}, other=False)
    amounts = (Amount("CAST(1 AS BIGINT)", 2**62, -(2**60)), constant(2**63))
    totals = look.totals_of(TableQuestion(keys=keys, amounts=amounts))
    wrapped = [(450 * number + 2**63) % 2**64 - 2**63 for number in (2**62 + 2**60, 2**63)]
    assert totals.tolist() == wrapped


def test_too_many_values_for_the_memory_are_looked_up_row_by_row(
    look: TableLook, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _measure("top").table_question(look.columns)
    expected = look.totals_of(asked).tolist()
    fetched, seen = TemporaryTables.fetched, []

    def full(tables: TemporaryTables, query: str, parameters: Any = ()) -> dict[str, Any]:
        seen.append(query)
        if "GROUP BY 1)" in query:
            raise duckdb.OutOfMemoryException("no room")
        return fetched(tables, query, parameters)

    monkeypatch.setattr(TemporaryTables, "fetched", full)
    assert look.totals_of(asked).tolist() == expected
    assert len(seen) == 2


def test_no_memory_at_all_is_an_error_of_ours(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise duckdb.OutOfMemoryException("no room for 'Bob'")

    monkeypatch.setattr(TemporaryTables, "fetched", full)
    with pytest.raises(OutOfMemory) as refused:
        table.top_k(1, by={"t": KEYS}, epsilon=1)
    assert "Bob" not in str(refused.value)


@pytest.mark.parametrize(
    ("condition", "rows"),
    [("b", 150), ("NOT b", 150), ("b OR NOT b", 300), ("b AND NOT b", 0), ("n IS NULL", 25)],
)
def test_rows_are_counted_where_booleans_are_true(
    condition: str, rows: int, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched, seen = TemporaryTables.fetched, []

    def watched(tables: TemporaryTables, query: str, parameters: Any = ()) -> dict[str, Any]:
        seen.append(query)
        return fetched(tables, query, parameters)

    monkeypatch.setattr(TemporaryTables, "fetched", watched)
    assert table.where(condition).noisy_count(epsilon=1).value == rows
    assert ("count_if" in seen[0]) == (condition != "n IS NULL")
    table.where(condition).noisy_sum("n", lower=0, upper=1, epsilon=1)
    assert "count_if" not in seen[1]


def test_a_condition_of_other_columns_is_no_combination_of_booleans() -> None:
    kinds = {"b": "boolean", "n": "integer"}
    assert only_booleans('(NOT ("b"))', kinds)
    for condition in ('("n")', '("b" = "b")', '("c")', '("b" IS NULL)', 'f("b")'):
        assert not only_booleans(condition, kinds)


def test_a_condition_of_booleans_does_not_replace_that_of_the_question(table: Table) -> None:
    with looking(table.where("b").relation) as look:
        asked = TableQuestion(keys=Keys({}, other=False), where="n IS NULL")
        expected = look.totals("0", ("1",), 1, where="n IS NULL").tolist()
        assert look.totals_of(asked).tolist() == expected != [150]


def test_only_tables_of_parquet_alone_are_coded(table: Table, tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    duckdb.sql(f"COPY (SELECT 1 AS n) TO '{file}' (FORMAT parquet)")
    (tmp_path / "t.csv").write_text("n\n1\n")
    about: dict[str, Any] = {"columns": {"n": "integer"}, "account": table.account, "unit": "row"}
    parquet, csv = (Table.from_file(tmp_path / f"t.{kind}", **about) for kind in ("parquet", "csv"))
    for query, coded in ((parquet, True), (csv, False), (parquet.union(csv), False)):
        with looking(query.relation) as look:
            assert look.columns.coded == coded
