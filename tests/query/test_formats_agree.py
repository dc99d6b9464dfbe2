"""The same rows in all formats, under the same noise: the same answers, to the last number."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import polars
import pytest

from ameles.core.guarantee import EVENT, USER
from ameles.core.loss import Approx
from ameles.noise import System
from ameles.query import Answer, Query, Table
from tests.noise.sources import Stream
from tests.query.tables import ledger

pandas: Any = importlib.import_module("pandas")
KINDS = {"id": "text", "age": "integer", "height": "number", "fever": "boolean", "region": "text"}
# 240 rows of 30 users, most of whom have more than they may; some values are missing
ROWS = [
    {
        "id": f"u{n * n % 30}",
        "age": None if n % 17 == 0 else n * 7 % 90,
        "height": None if n % 19 == 0 else n % 8 / 4 - 0.5,
        "fever": None if n % 23 == 0 else n % 3 == 0,
        "region": None if n % 13 == 0 else ["north", "south", "east"][n % 5 % 3],
    }
    for n in range(240)
]


def as_csv(folder: Path) -> Path:
    file = folder / "rows.csv"
    lines = [
        ",".join("" if value is None else str(value) for value in row.values()) for row in ROWS
    ]
    file.write_text("\n".join([",".join(KINDS), *lines, ""]), encoding="utf-8")
    return file


def as_json_lines(folder: Path) -> Path:
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return file


def as_parquet(folder: Path) -> Path:
    polars.DataFrame(ROWS).write_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


def in_duckdb(_: Path) -> Any:
    connection = duckdb.connect()
    frame = polars.DataFrame(ROWS)
    connection.register("given", frame.to_arrow())
    connection.execute("CREATE TABLE visits AS SELECT * FROM given")
    return connection


FORMATS: dict[str, Callable[[Path], Any]] = {
    "csv": as_csv,
    "json lines": as_json_lines,
    "parquet": as_parquet,
    "pandas": lambda _: pandas.DataFrame(ROWS),
    "polars": lambda _: polars.DataFrame(ROWS),
    "arrow": lambda _: polars.DataFrame(ROWS).to_arrow(),
    "duckdb": in_duckdb,
}


def table(given: Any, user: bool) -> Table:
    noise = System(entropy=Stream("formats"))
    account = ledger(USER if user else EVENT, cap=Approx(100, "0.01"), noise=noise)
    bounds: dict[str, Any] = {"user": "id", "max_rows": 3, "max_groups": 2} if user else {}
    terms: dict[str, Any] = {"account": account, "unit": "user" if user else "row", **bounds}
    if isinstance(given, Path):
        return Table.from_file(given, columns=KINDS, **terms)
    if isinstance(given, duckdb.DuckDBPyConnection):
        return Table.from_duckdb(given, "visits", columns=KINDS, **terms)
    return Table.from_dataframe(given, columns=KINDS, name="rows", **terms)


QUESTIONS: list[Callable[[Query], Answer]] = [  # of rows
    lambda q: q.where("fever AND age >= 18").noisy_count(epsilon=1),
    lambda q: q.noisy_sum("height", lower=-1, upper=1, granularity="0.25", epsilon=1),
    lambda q: q.noisy_variance("age", lower=0, upper=100, epsilon=1),
    lambda q: q.noisy_median("age", lower=0, upper=100, epsilon=1),
    lambda q: q.quantile("height", "0.5", edges=[-1, 0, 1, 2], epsilon=1),
    lambda q: q.most_common("region", keys=["north", "south"], epsilon=1),
    lambda q: q.above_threshold(["age > 40", "fever"], threshold=40, epsilon=1),
    lambda q: q.group_by("region", rows="count").noisy_count(epsilon=1),
    lambda q: q.distinct().noisy_count(epsilon=1),
]
OF_USERS: list[Callable[[Query], Answer]] = [
    lambda q: q.noisy_average("age", lower=0, upper=100, epsilon=1),
    lambda q: q.histogram("age", edges=range(0, 101, 20), epsilon=1),
    lambda q: q.top_k(2, by={"region": ["north", "south", "east"]}, epsilon=1),
    lambda q: q.partition(region=["north", "south", "east"]).distinct_users(epsilon=1),
    lambda q: q.private_keys("region", epsilon=1, delta="1e-3"),
]


def answers(query: Query, user: bool) -> list[str]:
    """What each question publishes, in the order in which they draw their noise."""
    return [str(ask(query).columns()) for ask in (OF_USERS if user else QUESTIONS)]


@pytest.mark.parametrize("user", [False, True], ids=["rows", "users"])
def test_the_answers_are_the_same(
    user: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ameles.query.table.os", SimpleNamespace(urandom=bytes))  # one salt
    found = {name: answers(table(make(tmp_path), user), user) for name, make in FORMATS.items()}
    for name in FORMATS:
        assert found[name] == found["csv"], name
    assert len(set(found["csv"])) == len(found["csv"])
