"""Which rows of a user count is a fair choice, whatever they contain and whatever others have.

Salts are fixed, so each test gives the same every time; a limit of chi-square is exceeded by a fair
choice with the probability that is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from ameles.core.exceptions import AmelesError
from ameles.core.guarantee import USER
from ameles.query import Query, Table, row_set
from ameles.query.look import looking
from ameles.query.row_set import BoundedRows
from tests.postgres import Server
from tests.query.tables import rows_of, truthful

Row = tuple[Any, ...]
SALT = "3f" * 16


def salted(table: Table) -> Query:
    assert isinstance(table.relation, BoundedRows)
    return Query(replace(table.relation, salt=SALT), table.account)


def made(select: str, max_rows: int, **more: Any) -> Query:
    """A table of a SELECT, with users."""
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE visits AS {select}")
    return salted(
        Table.from_duckdb(
            connection, "visits",
            account=truthful(USER), unit="user", user="id", max_rows=max_rows, **more,
        )
    )  # fmt: skip


def chi_square(seen: Iterable[int], expected: Sequence[float]) -> float:
    return float(sum((n - e) ** 2 / e for n, e in zip(seen, expected, strict=True)))


FORTY = "SELECT u AS id, n % 20 = 0 AS rare FROM range(2000) AS users(u), range(40) AS rows(n)"


def test_rare_values_have_no_better_chance() -> None:
    # 200 of 4,000 are expected, with a standard deviation of 13.6: 5 of them, one test in 10^6
    kept = rows_of(made(FORTY, 2))
    assert len(kept) == 4000
    assert abs(sum(rare for _, rare in kept) - 200) < 68


def test_equal_rows_without_numbers_would_clump(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = row_set.secret_place
    # the broken version: all but the number of a row among its equals, which is the last value
    monkeypatch.setattr(
        row_set, "secret_place", lambda salt, what, values: plain(salt, what, [*values][:-1])
    )
    kept = rows_of(made(FORTY, 2))
    assert sum(rare for _, rare in kept) > 1000


@pytest.mark.parametrize("others", [0, 1, 5])
def test_each_row_has_the_same_chance_whatever_it_contains(others: int) -> None:
    # 12 rows of 6 contents: 1, 1, 1, 2, 3 and 4 equal ones, among them NULL, an empty text and -0.0
    more = "".join(f", 'same' AS c{place}" for place in range(others))
    sizes = {None: 1, "": 1, "-": 1, "b": 2, "0": 3, "1:b": 4}
    rows = " UNION ALL ".join(
        f"SELECT {'NULL' if text is None else repr(text)}::VARCHAR AS text FROM range({size})"
        for text, size in sizes.items()
    )
    users, most = 4000, 3
    query = made(
        f"SELECT u AS id, text, -0.0::DOUBLE AS x{more} FROM range({users}) AS people(u), ({rows})",
        most,
    )
    kept = Counter(row[1] for row in rows_of(query))
    expected = [users * most * size / 12 for size in sizes.values()]
    assert sum(kept.values()) == users * most
    # 5 degrees of freedom: above 30.9 once in 10^5; rows without replacement vary less
    assert chi_square((kept[text] for text in sizes), expected) < 30.9


def test_users_choose_independently() -> None:
    # all users have the same ten rows; how often each place is chosen, and pairs of neighbours
    users = 4000
    query = made(
        f"SELECT u AS id, n AS age FROM range({users}) AS people(u), range(10) AS rows(n)", 1
    )
    chosen = dict(rows_of(query))
    each = Counter(chosen.values())
    # 9 degrees of freedom: above 39.3 once in 10^5
    assert chi_square((each[n] for n in range(10)), [users / 10] * 10) < 39.3
    pairs = Counter((chosen[u], chosen[u + 1]) for u in range(0, users, 2))
    # 99 degrees of freedom: above 170 once in 10^5
    assert (
        chi_square((pairs[a, b] for a in range(10) for b in range(10)), [users / 200] * 100) < 170
    )


def test_what_a_user_keeps_depends_on_nobody_else_and_on_no_order() -> None:
    base = "SELECT u AS id, n % 7 AS age FROM range(60) AS people(u), range(30) AS rows(n)"
    alone = Counter(rows_of(made(f"{base} WHERE u = 7", 4)))
    assert sum(alone.values()) == 4
    for order in ("age, id", "age DESC, id DESC", "hash(age, id)"):
        kept = Counter(rows_of(made(f"{base} ORDER BY {order}", 4)))
        assert Counter({row: n for row, n in kept.items() if row[0] == 7}) == alone
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"CREATE TABLE visits AS {base}")
    single = Table.from_duckdb(
        connection, "visits", account=truthful(USER), unit="user", user="id", max_rows=4
    )
    assert Counter(rows_of(salted(single))) == kept


def test_a_row_that_comes_takes_the_place_of_one_at_the_most() -> None:
    rows = [f"SELECT 1 AS id, {n % 3} AS age" for n in range(12)]
    before = Counter(rows_of(made(" UNION ALL ".join(rows), 5)))
    for age in range(4):
        after = Counter(rows_of(made(" UNION ALL ".join([*rows, f"SELECT 1, {age}"]), 5)))
        assert (before - after).total() == (after - before).total() <= 1


DATA: dict[str, list[Any]] = {
    "id": [str(n % 5) for n in range(200)],
    "age": [None if n % 11 == 0 else n % 7 for n in range(200)],
    "height": [(-0.0, 0.1 + 0.2, 1e300, 2.0)[n % 4] for n in range(200)],
    "fever": [(True, False, None)[n % 3] for n in range(200)],
    "note": [("", "ä", None, "a,b")[n % 4] for n in range(200)],
}
KINDS = {
    "id": "text", "age": "integer", "height": "number", "fever": "boolean", "note": "text",
}  # fmt: skip


def test_the_same_rows_whatever_the_source_is(tmp_path: Path, postgres: Server) -> None:
    frame = import_module("pyarrow").table(DATA)
    connection = duckdb.connect()
    connection.register("given", frame)
    connection.execute("CREATE TABLE visits AS SELECT * FROM given ORDER BY hash(age)")
    connection.execute("CREATE VIEW seen AS SELECT * FROM visits")
    for kind, file in (
        ("CSV, FORCE_QUOTE (note)", "v.csv"),
        ("PARQUET", "v.parquet"),
        ("JSON", "v.jsonl"),
    ):
        connection.execute(f"COPY visits TO '{tmp_path / file}' (FORMAT {kind})")
    with psycopg.connect(postgres.url()) as server:
        server.execute("DROP TABLE IF EXISTS fair")
        server.execute(
            "CREATE TABLE fair (id text, age bigint, height float8, fever boolean, note text)"
        )
        with server.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO fair VALUES (%s, %s, %s, %s, %s)", zip(*DATA.values(), strict=True)
            )
    terms: dict[str, Any] = {"unit": "user", "user": "id", "max_rows": 9, "columns": KINDS}
    tables: dict[str, Callable[[Any], Table]] = {
        "DuckDB": lambda a: Table.from_duckdb(connection, "visits", account=a, **terms),
        "a view": lambda a: Table.from_duckdb(connection, "seen", account=a, **terms),
        "Arrow": lambda a: Table.from_dataframe(frame, name="v", account=a, **terms),
        "pandas": lambda a: Table.from_dataframe(frame.to_pandas(), name="v", account=a, **terms),
        "Parquet": lambda a: Table.from_file(tmp_path / "v.parquet", account=a, **terms),
        "JSON": lambda a: Table.from_file(tmp_path / "v.jsonl", account=a, **terms),
        "Postgres": lambda a: Table.from_postgres(postgres.url(), "fair", account=a, **terms),
    }
    kept = {
        name: Counter(map(str, rows_of(salted(table(truthful(USER))))))
        for name, table in tables.items()
    }
    assert kept["DuckDB"].total() == 45
    for name, rows in kept.items():
        assert rows == kept["DuckDB"], name
    # an empty text of a CSV file is missing, or a text; the other columns decide the same
    plain = {name: kind for name, kind in KINDS.items() if name != "note"}
    terms["columns"] = plain
    csv = Table.from_file(tmp_path / "v.csv", account=truthful(USER), **terms)
    duck = tables["DuckDB"](truthful(USER))
    assert Counter(map(str, rows_of(salted(csv)))) == Counter(map(str, rows_of(salted(duck))))


KEYS = [f"k{n}" for n in range(6)]
KEYED = (
    "SELECT u AS id, 'k' || (CASE WHEN n < 6 THEN n ELSE 0 END) AS region "
    "FROM range(3000) AS people(u), range(12) AS rows(n)"
)  # seven rows of the first key, and one of each other


def test_a_user_is_in_each_group_with_the_same_chance() -> None:
    query = made(KEYED, 12, max_groups=2)
    with looking(query.relation) as look:
        keys, units = look.units_of_keys("region")
    assert sorted(keys) == KEYS
    assert sum(units) == 6000
    # 5 degrees of freedom: above 30.9 once in 10^5; pairs without replacement vary less
    assert chi_square(units.tolist(), [1000.0] * 6) < 30.9
    parts = query.partition(region=KEYS)
    users = [part.distinct_users(epsilon=1).value for part in parts.values()]
    assert sum(int(str(n)) for n in users) == 6000
    assert chi_square([int(str(n)) for n in users], [1000.0] * 6) < 30.9


def test_a_user_is_in_each_cell_with_the_same_chance() -> None:
    users = made(KEYED, 12).partition(region=KEYS).distinct_users(epsilon=1)
    seen = [int(str(row.value)) for row in users.rows]
    assert sum(seen) == 3000
    assert chi_square(seen, [500.0] * 6) < 30.9


def test_choices_of_groups_and_of_cells_are_not_the_same_choice() -> None:
    query = made("SELECT u AS id, 'k' || n AS region FROM range(2000) AS p(u), range(2) AS r(n)", 2,
                 max_groups=1)  # fmt: skip
    parts = query.partition(region=["k0", "k1"])
    grouped = {row[0] for row in rows_of(parts["k0"])}
    rows = {row[0] for row in rows_of(made(
        "SELECT u AS id, 'k' || n AS region FROM range(2000) AS p(u), range(2) AS r(n)", 1
    )) if row[1] == "k0"}  # fmt: skip
    both = len(grouped & rows)
    # about 500 of 2,000; a standard deviation of 19.4, and 5 of them
    assert abs(both - 500) < 97


def test_rows_of_a_household_have_the_same_chance_in_a_join() -> None:
    # each household has 9 equal rows and one other; two are kept
    query = made(
        "SELECT h * 10 + n AS id, h AS household, n = 0 AS first "
        "FROM range(3000) AS homes(h), range(10) AS rows(n)", 1,
    )  # fmt: skip
    rows = query.select("household", "first")
    homes = query.where("first").select("household", home="id")
    pairs = rows.join(homes, on="household", at_most=(2, 1))
    kept = Counter(row[1] for row in rows_of(pairs))
    assert kept.total() == 6000
    # 600 are expected; a standard deviation of 21.9, and 5 of them
    assert abs(kept[True] - 600) < 110


def test_crowds_are_the_only_ones_to_be_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_salt: str, _what: str, values: Iterable[str]) -> str:
        return f"CAST(concat('no number', {next(iter(values))}) AS UBIGINT)"

    monkeypatch.setattr(row_set, "secret_place", fails)
    query = made("SELECT range // 3 AS id, 'k' || range % 3 AS region FROM range(900)", 3)
    assert query.noisy_count(epsilon=1).value == 900
    counts = query.partition(region=["k0", "k1"]).noisy_count(epsilon=1)
    assert [row.value for row in counts.rows] == [300, 300]
    with looking(query.relation) as look:
        assert look.units_of_keys("region")[1].tolist() == [300] * 3
    with pytest.raises(AmelesError, match="ConversionException"):
        made("SELECT range // 3 AS id FROM range(900)", 2).noisy_count(epsilon=1)
