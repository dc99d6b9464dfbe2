"""Questions without a sense, or that no noise could hide, are refused before anything is paid."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import USER, Neighbours, user_window
from ameles.core.loss import Pure
from ameles.ledger import Ledger
from ameles.query import Query, Table
from ameles.query.sql import parse
from ameles.query.sql_kinds import kinds_for
from tests.query.tables import ledger, table

AGES: dict[str, Any] = {"column": "age", "lower": 0, "upper": 100}
REGIONS = {"region": ["north", "south"]}
USERS: dict[str, Any] = {"user": "id", "max_rows": 2}

REFUSED: dict[str, tuple[Callable[[Query], Any], str]] = {
    "a computed user": (
        lambda t: t.select_many("id", ["age", "household"]),
        "cannot take the place of the user column",
    ),
    "users that are gone": (
        lambda t: t.select("age").distinct_users(epsilon=1),
        "no longer show which user",
    ),
    "users of groups": (
        lambda t: t.group_by("region", n="count").distinct_users(epsilon=1),
        "no longer show which user",
    ),
    "a join by numbers": (
        lambda t: t.select("id", half="age / 2").join(
            t.select(half="age / 2"), on="half", at_most=(1, 1)
        ),
        "'half' must be text, integer or boolean",
    ),
    "a join of two kinds": (
        lambda t: t.select("id", "age").join(
            t.select(age="CAST(age AS VARCHAR)"), on="age", at_most=(1, 1)
        ),
        "'age' must be text, integer or boolean, and the same on both sides",
    ),
    "a partition by numbers": (
        lambda t: t.select(half="age / 2").partition(half=["1"]),
        "'half' is number and cannot divide rows",
    ),
    "keys of keys": (
        lambda t: t.partition(**REGIONS).top_k(1, by={"age": ["1"]}, epsilon=1),
        "it has no other 'by'",
    ),
    "the median of parts": (
        lambda t: t.partition(**REGIONS).explain("noisy_median", epsilon=1, **AGES),
        "not of all parts of a partition",
    ),
    "an unknown argument": (
        lambda t: t.explain("noisy_median", epsilon=1, colour="red", **AGES),
        "colour",
    ),
    "no error at all": (
        lambda t: t.forecast("noisy_count", error=0),
        "'error' parameter must be above 0",
    ),
    "a variance with a delta": (
        lambda t: t.recipe("noisy_variance", epsilon=1, delta="1e-6", **AGES),
        "it takes no delta",
    ),
    "a variance of a wide range": (
        lambda t: t.noisy_variance("age", lower=0, upper=1 << 22, epsilon=1),
        "too large for a sum of 64 bits",
    ),
    "one bound": (
        lambda t: t.k_means({"age": (0,)}, clusters=2, epsilon=1),
        "must be a lower and an upper one",
    ),
    "three bounds": (
        lambda t: t.k_means({"age": (0, 1, 2)}, clusters=2, epsilon=1),
        "must be a lower and an upper one",
    ),
    "equal bounds": (
        lambda t: t.k_means({"age": (1, 1)}, clusters=2, epsilon=1),
        "must be a lower and an upper one",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_and_costs_nothing(name: str) -> None:
    asked, what = REFUSED[name]
    people = ledger(USER)
    with pytest.raises(BadInput, match=what):
        asked(table(account=people, **USERS))
    assert people.spent == Pure(0)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"unit": "row", "user": "id"}, "The unit 'row' has no user"),
        ({"unit": "row", "max_rows": 3}, "The unit 'row' has no user"),
        ({"unit": "row", "max_groups": 3}, "The unit 'row' has no user"),
        ({"unit": "person"}, "'unit' parameter must be"),
        ({"unit": "user", "user": "id"}, "needs the column that names the user, and max_rows"),
        ({"unit": "user", "max_rows": 3}, "needs the column that names the user, and max_rows"),
    ],
)
def test_a_unit_is_described_completely(tmp_path: Path, given: Any, what: str) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("id,age\n1,2\n")
    columns = {"id": "text", "age": "integer"}
    with pytest.raises(BadInput, match=what):
        Table.from_file(file, columns=columns, account=ledger(USER), **given)


def test_a_population_of_windows_has_no_tables() -> None:
    weekly = Ledger("people", cap=Pure(1), unit=user_window(7), neighbours=Neighbours.USER_PRESENCE)
    with pytest.raises(BadInput, match="a table has no windows"):
        table(account=weekly, **USERS)


def test_a_kind_is_found_if_only_one_fits() -> None:
    parsed = parse("SELECT COUNT(*) FROM t WHERE fever AND age > 3")
    kinds = kinds_for(parsed, declared={"age": "integer"}, bounded=[], keyed=[], user=None)
    assert kinds == {"age": "integer", "fever": "boolean"}


def test_a_column_without_a_kind_is_refused() -> None:
    parsed = parse("SELECT COUNT(*) FROM t WHERE a = b AND c")
    with pytest.raises(BadInput, match="The kind of the column 'a' must be declared"):
        kinds_for(parsed, declared={}, bounded=[], keyed=[], user=None)


def test_a_file_is_looked_at_before_anything_is_paid_in_words_of_tables(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("id\n1\n")
    (tmp_path / "old.csv").write_text("age\r1\r")
    for name, values in {"text": "'x' AS name", "list": "[1] AS age"}.items():
        duckdb.sql(f"COPY (SELECT {values}) TO '{tmp_path / name}.parquet'")
    refused = {
        "visits.csv": "has no column 'age'",
        "nothing.csv": "No file matches",
        "old.csv": "end with a carriage return",
        "text.parquet": "has no column 'age'",
        "list.parquet": "cannot be read as integer",
        "visits.txt": "not of a kind that Ameles can read",
    }
    for name, what in refused.items():
        with pytest.raises(BadInput, match=what) as caught:
            Table.from_file(
                tmp_path / name, columns={"age": "integer"}, account=ledger(), unit="row"
            )
        said = str(caught.value).replace("(in a plan, before a launch: in [stream])", "")
        assert not re.search(r"\bplan|\bstream|launch", said), said


def test_a_file_that_is_gone_when_it_is_asked_about_is_refused_in_the_same_words(
    tmp_path: Path,
) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("age\n1\n")
    visits = Table.from_file(file, columns={"age": "integer"}, account=ledger(), unit="row")
    file.write_text("name\n1\n")
    with pytest.raises(BadInput, match="has no column 'age'"):
        visits.noisy_count(epsilon="0.1")
    file.unlink()
    with pytest.raises(BadInput, match="No file matches"):
        visits.noisy_count(epsilon="0.1")
