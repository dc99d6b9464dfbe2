"""Tables in files, data frames, DuckDB and Postgres: the same rows, the same answers."""

from __future__ import annotations

import gzip
import importlib
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import polars
import psycopg
import pytest

from ameles.connectors.format import Format
from ameles.core.exceptions import AmelesError, BadInput, PlanError, SourceUnreadable
from ameles.core.guarantee import EVENT, USER
from ameles.query import Query, Table
from ameles.query.row_source import kinds_of
from tests.postgres import Server
from tests.query.tables import rows_of, truthful

# without types of their own
pandas: Any = importlib.import_module("pandas")
pyarrow: Any = importlib.import_module("pyarrow")

DATA: dict[str, list[Any]] = {
    "id": ["7", "7", "9", None, "", "x"],
    "age": [30, 31, None, 40, 50, 1 << 40],
    "height": [1.5, 2.25, None, float("nan"), float("inf"), -1e300],
    "fever": [True, False, None, True, True, False],
    "at": [datetime(2026, 1, day, 12, 30, tzinfo=UTC) for day in range(1, 7)],
}
KINDS = {"id": "text", "age": "integer", "height": "number", "fever": "boolean", "at": "timestamp"}
AFTER = """\"at\" >= '2026-01-03'"""
USERS: dict[str, Any] = {"unit": "user", "user": "id", "max_rows": 2}


# Made in the tests: the threads of Polars and Arrow do not survive a fork (tests/forking.py).
FRAMES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pandas.DataFrame(DATA),
    "pandas with Arrow types": lambda: pyarrow.table(DATA).to_pandas(
        types_mapper=pandas.ArrowDtype
    ),
    "Polars": lambda: polars.DataFrame(DATA, strict=False),
    "a lazy Polars frame": lambda: polars.DataFrame(DATA, strict=False).lazy(),
    "Arrow": lambda: pyarrow.table(DATA),
    "a batch of Arrow": lambda: pyarrow.table(DATA).to_batches()[0],
}


def in_duckdb() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA clinic")
    connection.register("given", pyarrow.table(DATA))
    connection.execute("CREATE TABLE clinic.visits AS SELECT * FROM given")
    return connection


def as_csv(folder: Path) -> Path:
    file = folder / "visits.csv"
    lines = ["id,age,height,fever,at"]
    for row in zip(*DATA.values(), strict=True):
        lines.append(",".join("" if value is None else str(value) for value in row))
    file.write_text("\n".join(lines))  # the last line has no newline
    return file


def facts(query: Query) -> list[Any]:
    """What is asked of each table, whatever it came from."""
    return [
        query.noisy_count(epsilon=1).value,
        query.noisy_sum("age", lower=0, upper=100, epsilon=1).value,
        query.noisy_sum("height", lower=-10, upper=10, granularity="0.25", epsilon=1).value,
        query.where("fever").noisy_count(epsilon=1).value,
        query.where(AFTER).noisy_count(epsilon=1).value,
    ]


# Six rows; ages 30 + 31 + 40 + 50 + 100; heights 1.5 + 2.25 - 10: what is no number counts nowhere.
ROWS = [6, 251, -6.25, 3, 4]


@pytest.mark.parametrize("name", FRAMES)
def test_a_data_frame(name: str) -> None:
    given = FRAMES[name]()
    plain: dict[str, Any] = {"unit": "row", "name": "visits"}
    people = Table.from_dataframe(given, account=truthful(), **plain)
    # Pandas has no missing integers of its own, and makes them floats; missing booleans make a
    # column of objects, whose values tell no type.
    odd = {"age": "number", "fever": "text"} if name == "pandas" else {}
    assert people.columns == {**KINDS, **odd}
    table = Table.from_dataframe(given, account=truthful(), columns=KINDS, **plain)
    assert facts(table) == ROWS
    assert odd or facts(people) == ROWS
    users = Table.from_dataframe(given, account=truthful(USER), name="visits", **USERS)
    assert users.distinct_users(epsilon=1).value == 3  # a missing and an empty id are no users
    assert facts(table.union(table))[0] == 12


def test_a_table_of_duckdb() -> None:
    connection = in_duckdb()
    table = Table.from_duckdb(connection, "clinic.visits", account=truthful(), unit="row")
    assert facts(table) == ROWS
    connection.execute("INSERT INTO clinic.visits SELECT * FROM clinic.visits LIMIT 1")
    assert table.noisy_count(epsilon=1).value == 7  # a question is about the rows of its moment


IN_SCHEMAS = """
CREATE TABLE visits AS SELECT range AS id FROM range(3);
CREATE SCHEMA s; CREATE TABLE s.visits AS SELECT range AS id FROM range(7);
ATTACH ':memory:' AS o; CREATE TABLE o.visits AS SELECT range AS id FROM range(7);
CREATE VIEW seen AS SELECT * FROM visits; CREATE VIEW apart AS SELECT 1 AS id;
"""


def counted(connection: duckdb.DuckDBPyConnection, table: str) -> Any:
    rows = Table.from_duckdb(connection, table, account=truthful(), unit="row")
    return rows.noisy_count(epsilon=1).value


@pytest.mark.parametrize("goes", ["USE o", "SET schema = 's'", "USE s", "SET schema = 'memory.s'"])
def test_a_table_of_duckdb_is_the_one_that_the_connection_means(goes: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(IN_SCHEMAS)
        before = Table.from_duckdb(connection, "visits", account=truthful(), unit="row")
        connection.execute(goes)
        assert counted(connection, "visits") == counted(connection, "VISITS") == 7
        assert before.noisy_count(epsilon=1).value == 3
        assert counted(connection, "memory.main.visits") == 3
        assert counted(connection, "o.visits") == counted(connection, "memory.s.visits") == 7
        connection.execute("USE memory.main")
        assert counted(connection, "visits") == counted(connection, "main.visits") == 3
        assert counted(connection, "s.visits") == counted(connection, "o.visits") == 7


@pytest.mark.parametrize("how", ["TABLE visits AS", "VIEW visits AS", "registered"])
def test_a_temporary_table_of_duckdb_is_not_taken_for_another(how: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(IN_SCHEMAS)
        if how == "registered":
            connection.register("visits", pyarrow.table({"id": list(range(7))}))
        else:
            connection.execute(f"CREATE TEMP {how} SELECT range AS id FROM range(7)")
        for name in ("visits", "main.visits", "temp.visits", "temp.main.visits", "seen", "apart"):
            with pytest.raises(BadInput, match="temporary") as refused:
                counted(connection, name)
            assert refused.value.why
            assert "from_dataframe" in refused.value.tip
        assert counted(connection, "memory.main.visits") == 3
        connection.execute("ALTER TABLE s.visits RENAME TO stays")
        assert counted(connection, "s.stays") == 7


def test_a_view_of_duckdb_next_to_a_temporary_table_of_another_name() -> None:
    with duckdb.connect() as connection:
        connection.execute(f"{IN_SCHEMAS}; CREATE TEMP TABLE other AS SELECT 1 AS id")
        assert (counted(connection, "seen"), counted(connection, "apart")) == (3, 1)


@pytest.mark.parametrize(
    ("sets", "name"),
    [("", "nothing"), ("SET search_path = 's,main'", "visits"), ("", "memory.visits")],
)
def test_a_name_in_duckdb_that_does_not_lead_to_one_table(sets: str, name: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"{IN_SCHEMAS}; {sets}")
        with pytest.raises(BadInput, match="does not lead to one table") as refused:
            counted(connection, name)
        assert "clinic.main.visits" in refused.value.tip


@pytest.mark.parametrize(("kind", "user"), [("boolean", None), ("text", "id")])
def test_a_column_is_said_to_be_of_its_table(kind: str, user: str | None) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (id INTEGER[])")
        with pytest.raises(PlanError, match=r"The column 'id' of the table 't' is (LIST|INT)"):
            Table.from_duckdb(connection, "t", columns={"id": kind}, user=user, account=truthful(),
                              unit="row")  # fmt: skip


def test_a_file_of_parquet_and_of_csv(tmp_path: Path) -> None:
    polars.DataFrame(DATA, strict=False).write_parquet(tmp_path / "visits.parquet")
    plain = as_csv(tmp_path)
    packed = tmp_path / "packed.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    for file in (tmp_path / "visits.parquet", plain, packed):
        table = Table.from_file(file, columns=KINDS, account=truthful(), unit="row")
        assert facts(table) == ROWS, file.name
        users = Table.from_file(file, columns=KINDS, account=truthful(USER), **USERS)
        assert users.distinct_users(epsilon=1).value == 3, file.name


def test_all_files_of_a_pattern(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("id,age\n1,30\n2,31\n")
    columns = {"id": "integer", "age": "integer"}
    table = Table.from_file(tmp_path / "*.csv", columns=columns, account=truthful(), unit="row")
    assert table.noisy_count(epsilon=1).value == 4
    users = Table.from_file(
        tmp_path / "*.csv", columns=columns, account=truthful(USER), unit="user", user="id",
        max_rows=1,
    )  # fmt: skip
    assert users.noisy_count(epsilon=1).value == 2


def test_a_table_of_postgres(postgres: Server) -> None:
    with psycopg.connect(postgres.url()) as connection:
        connection.execute("DROP TABLE IF EXISTS visits")
        connection.execute(
            "CREATE TABLE visits (id text, age bigint, height double precision, fever boolean, "
            "at timestamptz)"
        )
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO visits VALUES (%s, %s, %s, %s, %s)", zip(*DATA.values(), strict=True)
            )
    table = Table.from_postgres(postgres.url(), "visits", account=truthful(), unit="row")
    assert table.columns == KINDS
    assert facts(table) == ROWS
    users = Table.from_postgres(postgres.url(), "visits", account=truthful(USER), **USERS)
    assert users.distinct_users(epsilon=1).value == 3
    with pytest.raises(BadInput, match="has no column 'weight'"):
        Table.from_postgres(
            postgres.url(), "visits", account=truthful(), unit="row", columns={"weight": "number"}
        )
    with pytest.raises(SourceUnreadable, match="Postgres cannot read the table 'nothing'"):
        Table.from_postgres(postgres.url(), "nothing", account=truthful(), unit="row")
    with pytest.raises(SourceUnreadable) as refused:
        Table.from_postgres("postgresql://nobody@127.0.0.1:1/x", "visits", account=truthful(),
                            unit="row")  # fmt: skip
    assert "127.0.0.1" not in str(refused.value)


def test_postgres_writes_values_in_one_way_whatever_its_settings_are(postgres: Server) -> None:
    with psycopg.connect(postgres.url()) as connection:
        connection.execute("DROP TABLE IF EXISTS stays")
        connection.execute(
            "CREATE TABLE stays (ward varchar(20), price numeric(10, 2), came timestamp(3), "
            "left_at timestamptz(0), born date, bed char(4), beds int[], weight float8)"
        )
        connection.execute(
            "INSERT INTO stays VALUES ('a', 2.50, '2026-02-03 04:05:06', '2026-02-03 04:05:06+00', "
            "'1999-12-31', 'b', '{1}', 0.12345678901234568)"
        )
    url = f"{postgres.url()}&options={quote('-c datestyle=German -c extra_float_digits=-9')}"
    url += quote(" -c timezone=Asia/Kathmandu")
    table = Table.from_postgres(url, "stays", account=truthful(), unit="row")
    assert table.columns == {
        "ward": "text", "price": "number", "came": "timestamp", "left_at": "timestamp",
        "born": "timestamp", "bed": "text", "weight": "number",
    }  # fmt: skip
    for condition in (
        "ward = 'a' AND bed = 'b' AND price = 2.5",
        "came = TIMESTAMP '2026-02-03 04:05:06' AND left_at = came",
        "born = TIMESTAMP '1999-12-31' AND weight = 0.12345678901234568",
    ):
        assert table.where(condition).noisy_count(epsilon=1).value == 1


def test_a_role_of_postgres_with_another_encoding_stops_no_question(postgres: Server) -> None:
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS names; CREATE TABLE names (name text)")
        connection.execute("INSERT INTO names VALUES ('Anna'), ('\u6f22')")
        connection.execute("ALTER ROLE CURRENT_USER SET client_encoding = 'LATIN1'")
        try:
            table = Table.from_postgres(postgres.url(), "names", account=truthful(), unit="row")
            assert table.noisy_count(epsilon=1).value == 2
            assert table.where("name = '\u6f22'").noisy_count(epsilon=1).value == 1
        finally:
            connection.execute("ALTER ROLE CURRENT_USER RESET client_encoding")


def test_no_error_of_postgres_hangs_on_a_refusal(postgres: Server) -> None:
    with psycopg.connect(postgres.url()) as connection:
        connection.execute("DROP VIEW IF EXISTS cast_view; DROP TABLE IF EXISTS cast_raw")
        connection.execute("CREATE TABLE cast_raw (v text); INSERT INTO cast_raw VALUES ('Anna')")
        connection.execute("CREATE VIEW cast_view AS SELECT v::int AS v FROM cast_raw")
    visits = Table.from_postgres(postgres.url(), "cast_view", account=truthful(), unit="row")
    for ask in (
        lambda: visits.noisy_count(epsilon=1),
        lambda: Table.from_postgres(postgres.url(), "no_one", account=truthful(), unit="row"),
    ):
        with pytest.raises(SourceUnreadable) as refused:
            ask()
        linked: list[BaseException | None] = [refused.value]
        while linked:
            if (one := linked.pop()) is not None:
                assert not isinstance(one, psycopg.Error)
                linked += [one.__cause__, one.__context__]
        assert "Anna" not in "".join(traceback.format_exception(refused.value))


def test_tables_of_different_kinds_are_asked_together(tmp_path: Path) -> None:
    account = truthful(USER)
    frame = polars.DataFrame({"id": ["7", "9", "11"], "nights": [3, 4, 5]})
    sources: dict[str, Callable[[], Table]] = {
        "frame": lambda: Table.from_dataframe(frame, account=stays, name="stays", **USERS),
    }
    visits = Table.from_duckdb(in_duckdb(), "clinic.visits", account=account, **USERS)
    stays = visits.account
    both = visits.select("id", "age").join(sources["frame"](), on="id")
    assert both.noisy_count(epsilon=1).value == 3
    assert both.noisy_sum("nights", lower=0, upper=10, epsilon=1).value == 10
    csv = Table.from_file(as_csv(tmp_path), columns=KINDS, account=stays, **USERS)
    assert csv.union(visits).noisy_count(epsilon=1).value == 8


def test_integers_and_texts_name_the_same_user() -> None:
    given = [7, 7, 9]
    frame = pandas.DataFrame({"id": given})
    table = Table.from_dataframe(frame, account=truthful(USER), name="visits", **USERS)
    assert table.distinct_users(epsilon=1).value == 2
    text = {"id": "text"}
    again = Table.from_dataframe(
        frame, account=truthful(USER), name="visits", columns=text, **USERS
    )
    assert again.distinct_users(epsilon=1).value == 2


def test_declared_kinds_are_cast_value_by_value() -> None:
    frame = polars.DataFrame({"age": ["30", "x", " 31", "3.5", None]})
    table = Table.from_dataframe(
        frame, account=truthful(), unit="row", name="visits", columns={"age": "integer"}
    )
    assert [row[0] for row in rows_of(table)] == [30, None, 31, None, None]


def test_columns_without_a_kind_are_left_out() -> None:
    frame = polars.DataFrame({"age": [1], "lists": [[1, 2]], "bytes": [b"x"]})
    table = Table.from_dataframe(frame, account=truthful(), unit="row", name="visits")
    assert table.columns == {"age": "integer"}
    assert kinds_of({"x": "STRUCT(a INTEGER)", "y": "HUGEINT"}) == {"y": "integer"}


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: table_of([1, 2, 3]), "must be a data frame"),
        (lambda: table_of(polars.DataFrame({"x": [[1]]})), "at least one column"),
        (lambda: table_of(polars.DataFrame({"x": [1]}), columns={"y": "text"}), "no column 'y'"),
        (lambda: table_of(polars.DataFrame({"x": [1]}), columns={"x": "real"}), "'real'"),
        (lambda: table_of(polars.DataFrame({"x": [True]}), columns={"x": "number"}), "BOOLEAN"),
        (lambda: table_of(polars.DataFrame({"x": [1]}), name=""), "name"),
        (lambda: table_of(polars.DataFrame({"x": [1]}), name=None), "in memory needs a name"),
        (lambda: table_of(polars.DataFrame({"x": [1]}), account=None), "needs a ledger"),
        (lambda: table_of(polars.DataFrame({"x": [1]}), version=""), "version"),
        (lambda: file_of("nothing.csv"), "nothing.csv"),
        (lambda: file_of("-"), "which can be read again"),
        (lambda: file_of("nothing.txt"), "not of a kind"),
    ],
)
def test_what_is_no_table_is_refused(make: Callable[[], Table], what: str) -> None:
    with pytest.raises(AmelesError, match=what):
        make()


def table_of(frame: Any, **more: Any) -> Table:
    given: dict[str, Any] = {"account": truthful(EVENT), "unit": "row", "name": "visits", **more}
    return Table.from_dataframe(frame, **given)


def file_of(path: str) -> Table:
    return Table.from_file(path, columns={"x": "text"}, account=truthful(), unit="row")


def test_a_file_and_a_table_have_names_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("age\n1\n")
    columns = {"age": "integer"}
    names = [
        Table.from_file(path, columns=columns, account=truthful(), unit="row", name=name)
        .relation.sources[0]
        .name
        for name in (None, "stays")
    ]
    assert names == ["visits", "stays"]
    with duckdb.connect() as clinic:
        clinic.execute("CREATE TABLE stays (age INTEGER)")
        stays = Table.from_duckdb(clinic, "stays", account=truthful(), unit="row")
        assert stays.relation.sources[0].name == "stays"


def test_a_file_without_a_column_is_refused_before_it_costs(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("id\n1\n")
    with pytest.raises(BadInput, match="age"):
        Table.from_file(
            tmp_path / "visits.csv", columns={"age": "integer"}, account=truthful(), unit="row"
        )


def test_no_row_may_decide_the_byte_order_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes('{"n": 1}\n'.encode("utf-16"))

    def table(encoding: Any) -> Table:
        form = Format(encoding=encoding)
        return Table.from_file(
            tmp_path / "a.jsonl",
            columns={"n": "integer"},
            form=form,
            account=truthful(),
            unit="row",
        )

    with pytest.raises(BadInput, match="whose first line is an event"):
        table("utf-16")
    assert table("utf-16-le").noisy_count(epsilon=1).value == 1
