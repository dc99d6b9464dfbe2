"""A question reads its rows once, and tells texts apart by their bytes, whatever the source is."""

from __future__ import annotations

import os
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import count, product
from pathlib import Path
from typing import Any

import duckdb
import numpy
import pytest

from ameles.connectors.duck import OutOfMemory
from ameles.core.exceptions import AmelesError, BadInput, NoCopy, RunSpent
from ameles.core.guarantee import EVENT, USER
from ameles.core.loss import Approx, Pure
from ameles.engine.gathering import temporary_tables
from ameles.engine.gathering.temporary_tables import TemporaryTables
from ameles.noise import Zero
from ameles.query import Query, Table, frame_values, kept_rows, open_account, partition
from ameles.query.account import PaidQuestion
from ameles.query.database_rows import DuckRows
from ameles.query.ends import ENDS, OF_ONE_QUERY
from ameles.query.look import looking
from ameles.query.row_set import BoundedRows
from ameles.query.row_source import Duck, RowsNow, RowSource
from tests.query.tables import ledger, rows_of, truthful
from tests.query.test_stability import CHAINS, USER_CHAINS

SPELLINGS = ["".join(some) for some in product("nN", "oO", "rR", "tT")]


def spelled(collation: str, *, default: str = "", rows: int = 1) -> duckdb.DuckDBPyConnection:
    """Rows whose keys differ in capitals alone, where a collation thinks that they are equal."""
    connection = duckdb.connect()
    if default:
        connection.execute(f"PRAGMA default_collation='{default}'")
    written = f"VARCHAR COLLATE {collation}" if collation else "VARCHAR"
    connection.execute(f"CREATE TABLE visits (id {written}, region {written}, age INTEGER)")
    for number in range(rows):
        for text in SPELLINGS:
            connection.execute("INSERT INTO visits VALUES (?, ?, ?)", [text, text, number])
    connection.execute("CREATE VIEW seen AS SELECT * FROM visits")
    return connection


COLLATED: dict[str, Callable[..., duckdb.DuckDBPyConnection]] = {
    "a column": lambda **more: spelled("NOCASE", **more),
    "several": lambda **more: spelled("NOCASE.NOACCENT", **more),
    "the connection": lambda **more: spelled("", default="nocase", **more),
    "both": lambda **more: spelled("NOACCENT", default="nocase", **more),
}


@pytest.mark.parametrize("table", ["visits", "seen"])
@pytest.mark.parametrize("name", COLLATED)
def test_texts_that_differ_in_a_byte_are_different(name: str, table: str) -> None:
    connection = COLLATED[name]()
    visits = Table.from_duckdb(connection, table, account=truthful(), unit="row")
    parts = visits.partition(region=SPELLINGS)
    assert [row.value for row in parts.noisy_count(epsilon=1).rows] == [1] * len(SPELLINGS)
    assert [part.noisy_count(epsilon=1).value for part in parts.values()] == [1] * len(SPELLINGS)
    assert visits.where("region = 'nort'").noisy_count(epsilon=1).value == 1
    assert visits.where("region IN ('NORT', 'x')").noisy_count(epsilon=1).value == 1
    assert len(rows_of(visits.select("region").distinct())) == len(SPELLINGS)
    assert len(rows_of(visits.group_by("region", n="count"))) == len(SPELLINGS)
    assert len(rows_of(visits.select("region").intersect(visits.select("region")))) == 16
    pairs = visits.select("region").join(
        visits.select("region", x="age"), on="region", at_most=(9, 9)
    )
    assert len(rows_of(pairs)) == len(SPELLINGS)


@pytest.mark.parametrize("table", ["visits", "seen"])
@pytest.mark.parametrize("name", COLLATED)
def test_users_that_differ_in_a_byte_are_different(name: str, table: str) -> None:
    connection = COLLATED[name](rows=3)
    users: dict[str, Any] = {"unit": "user", "user": "id", "max_rows": 2}
    visits = Table.from_duckdb(connection, table, account=truthful(USER), **users)
    assert Counter(row[0] for row in rows_of(visits)) == dict.fromkeys(SPELLINGS, 2)
    assert visits.distinct_users(epsilon=1).value == len(SPELLINGS)
    assert len(rows_of(visits.group_by("id", n="count"))) == len(SPELLINGS)


# Views whose rows differ from one reading to the next, also by whose they are.
VOLATILE = {
    "random users": "SELECT CAST(random() * 1200 AS INTEGER) AS id, age, region FROM people",
    "a crowd that comes and goes": "SELECT CASE WHEN (SELECT random()) < 0.5 THEN age ELSE id END "
    "AS id, age, region FROM people",
    "a sample": "SELECT id, age, region FROM people USING SAMPLE 75 PERCENT (bernoulli)",
    "a reservoir": "SELECT id, age, region FROM people USING SAMPLE 3000 ROWS",
    "a sequence": "SELECT nextval('numbers') % 1237 AS id, age, region FROM people",
    "uuids": "SELECT CAST(hash(uuid()) % 1200 AS INTEGER) AS id, age, region FROM people",
    "values": "SELECT id, CAST(random() * 40 AS INTEGER) AS age, "
    "['north', 'south'][1 + CAST(floor(random() * 2) AS INTEGER)] AS region FROM people",
}
MOST = 3


def volatile(name: str, **more: Any) -> Table:
    connection = duckdb.connect()
    connection.execute("CREATE SEQUENCE numbers; SELECT setseed(0.5)")
    connection.execute(
        "CREATE TABLE people AS SELECT range % 1000 AS id, range % 100 AS age, "
        "['north', 'south'][1 + range % 2] AS region FROM range(4000)"
    )
    connection.execute(f"CREATE VIEW visits AS {VOLATILE[name]}")
    given = {"unit": "user", "user": "id", "max_rows": MOST, "account": truthful(USER), **more}
    return Table.from_duckdb(connection, "visits", **given)


@pytest.mark.parametrize("name", VOLATILE)
def test_no_user_of_a_volatile_view_has_more_rows_than_the_bound(name: str) -> None:
    visits = volatile(name)
    for _ in range(6):
        rows = Counter(row[0] for row in rows_of(visits))
        assert rows, "nobody is there"
        assert max(rows.values()) <= MOST
        joined = visits.select("id", "age").join(visits.select("id", other="age"), on="id")
        assert max(Counter(row[0] for row in rows_of(joined)).values()) <= MOST * MOST


def test_without_a_copy_the_bound_would_break(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckRows, "_may_stay", lambda *_, **__: True)
    visits = volatile("random users")
    most = max(max(Counter(row[0] for row in rows_of(visits)).values()) for _ in range(6))
    assert most > MOST


def test_a_generated_column_is_read_once() -> None:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE visits (n INTEGER, id INTEGER GENERATED ALWAYS AS "
        "(CAST(random() * 1200 AS INTEGER)) VIRTUAL)"
    )
    connection.execute("INSERT INTO visits SELECT range FROM range(4000)")
    visits = Table.from_duckdb(
        connection, "visits", account=truthful(USER), unit="user", user="id", max_rows=MOST
    )
    for _ in range(6):
        assert max(Counter(row[1] for row in rows_of(visits)).values()) <= MOST


KEYS = {"region": ["north", "south"]}
AGES = {"column": "age", "lower": 0, "upper": 10}
NAMED = {"delta": "0.001"}
ASKED: dict[str, dict[str, Any]] = {
    "noisy_count": {},
    "noisy_sum": AGES,
    "noisy_average": AGES,
    "noisy_variance": AGES,
    "noisy_median": AGES,
    "histogram": {"column": "age", "edges": [0, 5, 10]},
    "quantile": {"column": "age", "q": "0.5", "edges": [0, 5, 10]},
    "distinct_users": {},
    "top_k": {"k": 1, "by": KEYS},
    "most_common": {"column": "region", "keys": KEYS["region"]},
    "above_threshold": {"conditions": ["age > 1", "age > 2"], "threshold": 1},
    "private_keys": {"column": "region", **NAMED},
    "k_means": {"bounds": {"age": (0, 10)}, "clusters": 2, "rounds": 3},
    "synthetic": {"keys": KEYS, "rows": 4, "ways": 1},
}
ROWS = 40


BY_UNIT = [(end, unit) for end in ENDS for unit in ("row", "user")]
BY_UNIT.remove(("distinct_users", "row"))


def counted(account: Any, **unit: Any) -> tuple[duckdb.DuckDBPyConnection, Table]:
    """A view that counts how many of its rows were read."""
    connection = duckdb.connect()
    connection.execute("CREATE SEQUENCE read; CREATE TABLE people AS SELECT range FROM range(40)")
    connection.execute(
        "CREATE VIEW visits AS SELECT range AS id, range % 10 AS age, "
        "['north', 'south'][1 + range % 2] AS region FROM people WHERE nextval('read') > 0"
    )
    return connection, Table.from_duckdb(connection, "visits", account=account, **unit)


def read(connection: duckdb.DuckDBPyConnection) -> int:
    [(number,)] = connection.execute("SELECT nextval('read')").fetchall()
    return int(number) - 1


@pytest.mark.parametrize(("end", "unit"), BY_UNIT)
def test_every_question_reads_its_rows_once(end: str, unit: str) -> None:
    users: dict[str, Any] = {"user": "id", "max_rows": 1} if unit == "user" else {}
    cap = Approx(10, "0.1") if "delta" in ASKED[end] else Pure(10)
    account = ledger(USER if users else EVENT, cap=cap)
    connection, visits = counted(account, unit=unit, **users)
    ending, loss = visits._ending(end, {"epsilon": 1, **ASKED[end]})
    visits._ask(ending, loss, None)
    assert read(connection) == ROWS


def test_a_table_that_a_question_has_twice_is_read_once() -> None:
    for unit in ({"unit": "row"}, {"unit": "user", "user": "id", "max_rows": 1}):
        account = truthful(USER if "user" in unit else EVENT)
        connection, visits = counted(account, **unit)
        both = visits.union(visits.where("age > 3"))
        assert both.noisy_count(epsilon=1).value == 64
        assert read(connection) == ROWS


class Wanders(RowSource, RowsNow):
    """Rows of a source of one's own, with other users at each reading."""

    def rows_now(self) -> RowsNow:
        return self

    @contextmanager
    def attached(self, tables: TemporaryTables, duck: Duck) -> Iterator[str]:
        yield "(SELECT CAST(random() * 1200 AS BIGINT) AS id FROM range(4000))"


def test_rows_of_a_source_of_ones_own_are_read_once() -> None:
    account = truthful(USER)
    rows = Wanders({"id": "integer"}, "id")
    visits = Table.over(rows, account=account, unit="user", max_rows=MOST, name="visits")
    for _ in range(6):
        assert max(Counter(row[0] for row in rows_of(visits)).values()) <= MOST


class Written(RowSource, RowsNow):
    """Rows of a source of one's own, which lie where another program writes them."""

    def __init__(self, frame: Any) -> None:
        super().__init__(dict.fromkeys(frame.column_names, "integer"), None)
        self._frame = frame

    def rows_now(self) -> RowsNow:
        return self

    @contextmanager
    def attached(self, tables: TemporaryTables, duck: Duck) -> Iterator[str]:
        name = f"written_{id(self._frame)}"
        duck.register(name, self._frame)
        yield name


@pytest.mark.parametrize("how", ["a frame", "a source of one's own"])
def test_a_join_keeps_so_many_rows_of_a_key_though_its_rows_are_written(
    monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    arrow = import_module("pyarrow")
    keys, others = numpy.arange(100), numpy.arange(100)
    frames = [arrow.table({"h": keys, "x": others}), arrow.table({"h": others, "y": others})]
    account = truthful()
    left, right = (
        Table.from_dataframe(frame, name="t", account=account, unit="row") if how == "a frame" else
        Table.over(Written(frame), name="t", account=account, unit="row") for frame in frames
    )  # fmt: skip
    create = TemporaryTables.create

    def then_write(tables: TemporaryTables, what: str, query: str) -> str:
        name = create(tables, what, query)
        if what == "crowded":
            keys[:] = 5
        return name

    monkeypatch.setattr(TemporaryTables, "create", then_write)
    joined = left.join(Query(right.relation, left.account), on="h", at_most=(2, 1))
    kept = Counter(row[0] for row in rows_of(joined))
    assert keys.tolist() == [5] * 100
    assert kept == dict.fromkeys(range(100), 1)


@pytest.mark.parametrize("kind", ["Arrow", "pandas"])
def test_a_frame_is_not_written_under_a_table_of_rows(kind: str) -> None:
    ages = numpy.arange(30)
    if kind == "Arrow":
        frame = import_module("pyarrow").table({"age": ages})
    else:
        frame = import_module("pandas").DataFrame({"age": ages}, copy=False)
    people = Table.from_dataframe(frame, name="people", account=truthful(), unit="row")
    ages[:] = 10**9
    assert max(frame["age"].tolist() if kind == "pandas" else frame["age"].to_pylist()) == 10**9
    assert people.noisy_sum("age", lower=0, upper=100, epsilon=1).value == 435
    assert people.noisy_median("age", lower=10, upper=20, epsilon=1).rows


def test_a_frame_that_is_written_while_it_is_checked_is_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arrow = import_module("pyarrow")
    beyond = numpy.iinfo(numpy.int64).max  # no time of DuckDB
    times = numpy.zeros(3, dtype=numpy.int64)
    column = arrow.array(times).view(arrow.timestamp("s"))
    sound = frame_values._sound

    def then_write(*given: Any) -> Any:
        checked = sound(*given)
        times[:] = beyond
        return checked

    monkeypatch.setattr(frame_values, "_sound", then_write)
    for users in ({"unit": "row"}, {"unit": "user", "user": "id", "max_rows": 1}):
        times[:] = 0
        people = Table.from_dataframe(
            arrow.table({"id": numpy.arange(3), "seen": column}), name="people",
            account=truthful(USER if "user" in users else EVENT), **users,
        )  # fmt: skip
        assert times.tolist() == [beyond] * 3
        assert people.where("seen < '1971-01-01'").noisy_count(epsilon=1).value == 3


def test_a_cell_that_a_question_does_not_have_counts_nowhere() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT range AS id, range AS at FROM range(4)")
    connection.execute("INSERT INTO t VALUES (4, 1000000000), (5, -1), (6, NULL)")
    for users in ({"unit": "row"}, {"unit": "user", "user": "id", "max_rows": 1}):
        account = truthful(USER if "user" in users else EVENT)
        visits = Table.from_duckdb(connection, "t", account=account, **users)
        with looking(visits.relation) as look:
            assert look.totals('"at"', ["1", '"at"'], 3).tolist() == [1, 1, 1, 0, 1, 2]
            if "user" in users:
                assert look.users('"at"', 3).tolist() == [1, 1, 1]


def test_a_frame_is_not_written_under_a_table_with_users() -> None:
    arrow = import_module("pyarrow")
    ids = numpy.arange(30)
    frame = arrow.table({"id": ids, "age": ids})
    people = Table.from_dataframe(
        frame, name="people", account=truthful(USER), unit="user", user="id", max_rows=1
    )
    ids[:] = 7  # what the Arrow table has, too
    assert frame["id"].to_pylist() == [7] * 30
    assert people.distinct_users(epsilon=1).value == people.noisy_count(epsilon=1).value == 30


REGIONS = [f"r{number}" for number in range(8)]


def moving(connection: duckdb.DuckDBPyConnection, view: str) -> Any:
    """One person, whose row moves from part to part between the questions."""
    connection.execute("CREATE TABLE people (id INTEGER, region VARCHAR)")
    connection.execute("INSERT INTO people VALUES (1, 'r0')")
    connection.execute(f"CREATE VIEW visits AS {view}")


@pytest.mark.parametrize("unit", ["row", "user"])
@pytest.mark.parametrize("table", ["people", "visits"])
def test_a_row_is_in_one_part_wherever_it_moves(table: str, unit: str) -> None:
    connection = duckdb.connect()
    moving(connection, "SELECT * FROM people WHERE random() >= 0")
    users: dict[str, Any] = {"user": "id", "max_rows": 1} if unit == "user" else {}
    account = ledger(USER if users else EVENT, cap=Pure(1), noise=Zero())
    visits = Table.from_duckdb(connection, table, account=account, unit=unit, **users)
    parts = visits.partition(region=REGIONS)
    seen = []
    for region, part in parts.items():
        connection.execute("UPDATE people SET region = ?", [region])
        seen.append(part.noisy_count(epsilon=1).value)
    assert sorted(map(str, seen)) == ["0"] * 7 + ["1"]
    assert account.left == Pure(0)
    again = truthful(USER if users else EVENT)
    fresh = Table.from_duckdb(connection, table, account=again, unit=unit, **users)
    assert fresh.partition(region=REGIONS)["r7"].noisy_count(epsilon=1).value == 1


def test_all_parts_that_are_asked_have_the_same_account_and_copy() -> None:
    account = ledger(cap=Pure(3))
    connection = duckdb.connect()
    moving(connection, "SELECT * FROM people")
    visits = Table.from_duckdb(connection, "visits", account=account, unit="row")
    parts = visits.partition(region=REGIONS)
    one, other = parts["r0"], parts["r1"]
    asked: list[Callable[[], Query]] = [
        lambda: Query(visits.relation, one.account),
        lambda: Query(other.relation, one.account),
        lambda: Query(one.relation, visits.account),
        lambda: replace(one, relation=visits.relation),
        lambda: replace(visits, account=one.account),
        lambda: one.union(other),
        lambda: one.union(visits),
        lambda: Table.from_duckdb(connection, "visits", account=one.account, unit="row"),
    ]
    for ask in asked:
        with pytest.raises(BadInput, match="part"):
            ask()
    assert not hasattr(visits, "on")
    assert one.union(one.where("id = 1")).noisy_count(epsilon=1).price == ""
    other.noisy_count(epsilon=1)
    assert account.left == Pure(2)


def test_parts_of_parts_are_asked_about_the_copy_of_the_whole() -> None:
    account = truthful()
    connection = duckdb.connect()
    moving(connection, "SELECT * FROM people")
    visits = Table.from_duckdb(connection, "visits", account=account, unit="row")
    outer = visits.partition(region=REGIONS)
    assert outer["r0"].partition(id=["1", "2"])["1"].noisy_count(epsilon=1).value == 1
    connection.execute("UPDATE people SET region = 'r1'")
    assert outer["r1"].partition(id=["1", "2"])["1"].noisy_count(epsilon=1).value == 0


def test_a_copy_of_a_partition_does_not_leave_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    account = ledger(cap=Pure(3))
    connection = duckdb.connect()
    moving(connection, "SELECT * FROM people")
    visits = Table.from_duckdb(connection, "visits", account=account, unit="row")
    parts = visits.partition(region=REGIONS)
    parts["r0"].noisy_count(epsilon=1)
    own = os.getpid()
    monkeypatch.setattr("os.getpid", lambda: own + 1)
    with pytest.raises(RunSpent, match="This partition belongs to the process"):
        parts["r1"].noisy_count(epsilon=1)
    monkeypatch.undo()
    with pytest.raises(NoCopy):
        deepcopy(parts["r0"].relation.read)
    parts["r1"].noisy_count(epsilon=1)
    assert account.left == Pure(2)


def test_a_partition_that_does_not_fit_into_memory_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, new_databases: None
) -> None:
    monkeypatch.setattr(partition, "MEMORY", 1 << 20)
    connection = duckdb.connect()
    connection.execute("CREATE TABLE people AS SELECT uuid()::VARCHAR AS id FROM range(200000)")
    people = Table.from_duckdb(connection, "people", account=truthful(), unit="row")
    with pytest.raises(OutOfMemory, match="rows of a partition do not fit into memory") as refused:
        people.partition(id=["a", "b"])["a"].noisy_count(epsilon=1)
    assert "all parts asked at once" in str(refused.value)


def test_a_part_that_was_paid_for_and_not_answered_is_paid_for_again(tmp_path: Path) -> None:
    # its price was shared with parts whose rows may be other ones by now
    connection = duckdb.connect()
    moving(connection, "SELECT * FROM people")
    with open_account(f"{tmp_path}/p.db", "people", unit=EVENT, cap=Pure(3), noise=Zero()) as paid:
        visits = Table.from_duckdb(connection, "people", account=paid, unit="row", version="v1")
        parts = visits.partition(region=REGIONS)
        assert parts["r0"].noisy_count(epsilon=1).value == 1
        with pytest.MonkeyPatch.context() as broken:
            broken.setattr(PaidQuestion, "answer", lambda *_, **__: 1 // 0)
            with pytest.raises(ZeroDivisionError):
                parts["r1"].noisy_count(epsilon=1)
        assert paid.left == Pure(2)
        connection.execute("UPDATE people SET region = 'r1'")
        again = visits.partition(region=REGIONS)["r1"].noisy_count(epsilon=1)
        assert (again.value, again.entry, paid.left) == (1, 3, Pure(1))
        whole = visits.where("CAST(region AS VARCHAR) = 'r1'").noisy_count(epsilon=1)
        assert (whole.entry, paid.left) == (4, Pure(0))


@pytest.mark.parametrize("end", [end for end in ENDS if end not in OF_ONE_QUERY])
def test_all_other_ends_can_be_asked_of_all_parts(end: str) -> None:
    asked = {name: given for name, given in ASKED[end].items() if name != "by"}
    account = truthful(USER)
    connection, visits = counted(account, unit="user", user="id", max_rows=1)
    parts = visits.partition(**KEYS)
    answer = getattr(parts, end)(epsilon=1, **asked)
    assert {row.key[0] for row in answer.rows} <= {"north", "south", "1"}
    assert read(connection) == ROWS


@pytest.mark.parametrize("end", OF_ONE_QUERY)
def test_an_end_of_one_query_says_what_to_do_about_parts(end: str) -> None:
    account = ledger(cap=Approx(1, "0.1"))
    _, visits = counted(account, unit="row")
    parts = visits.partition(**KEYS)
    asks = [
        partial(getattr(parts, end), epsilon=1, **ASKED[end]),
        partial(parts.explain, end, epsilon=1, **ASKED[end]),
        partial(parts.recipe, end, epsilon=1, **ASKED[end]),
        partial(parts.paid_question, end, epsilon=1, **ASKED[end]),
    ]
    for ask in asks:
        with pytest.raises(BadInput, match=f"{end} is asked of one query") as refused:
            ask()
        assert f"part.{end}(...) for key, part in parts.items()" in str(refused.value)
    with pytest.raises(BadInput):
        getattr(visits.private_partition("region"), end)(epsilon=1, **ASKED[end])
    assert account.left == Approx(1, "0.1")


# Neighbours whose keys differ in capitals: one user more or less changes no more than is said.
PEOPLE = [
    (who, home, 30 + place, region)
    for place, (who, home, region) in enumerate(
        product(["ann", "Ann", "ANN", "bob"], [1, 2], ["north", "North", "NORTH"])
    )
]


def collated_rows(rows: Any, how: str, account: Any, **unit: Any) -> Query:
    connection = duckdb.connect()
    if how == "the connection":
        connection.execute("PRAGMA default_collation='nocase'")
    kind = "VARCHAR COLLATE NOCASE" if how != "the connection" else "VARCHAR"
    connection.execute(f"CREATE TABLE t (id {kind}, household INT, age INT, region {kind})")
    if rows:
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    connection.execute("CREATE VIEW v AS SELECT * FROM t WHERE random() >= 0")
    table = "v" if how == "a volatile view" else "t"
    made = Table.from_duckdb(connection, table, account=account, **unit)
    source = made.relation
    assert isinstance(source, BoundedRows)
    return Query(replace(source, salt="5a"), made.account)


@pytest.mark.parametrize("how", ["a column", "the connection", "a volatile view"])
@pytest.mark.parametrize("name", USER_CHAINS)
def test_one_user_changes_no_more_rows_than_said_whatever_the_collation(
    name: str, how: str
) -> None:
    account = truthful(USER)
    unit = {"unit": "user", "user": "id", "max_rows": 2}
    chain = USER_CHAINS[name]
    every = chain(collated_rows(PEOPLE, how, account, **unit))
    seen = Counter(rows_of(every))
    for who in ("ann", "ANN", "bob"):
        rest = [row for row in PEOPLE if row[0] != who]
        without = Counter(rows_of(chain(collated_rows(rest, how, account, **unit))))
        moved = ((seen - without) + (without - seen)).total()
        assert moved <= every.relation.stability


@pytest.mark.parametrize("how", ["a column", "the connection", "a volatile view"])
@pytest.mark.parametrize("name", CHAINS)
def test_one_row_changes_no_more_rows_than_said_whatever_the_collation(name: str, how: str) -> None:
    account, chain = truthful(), CHAINS[name]
    every = chain(collated_rows(PEOPLE, how, account, unit="row"))
    seen = Counter(rows_of(every))
    for place in (0, 7, 16, 23):
        rest = [*PEOPLE[:place], *PEOPLE[place + 1 :]]
        without = Counter(rows_of(chain(collated_rows(rest, how, account, unit="row"))))
        moved = ((seen - without) + (without - seen)).total()
        assert moved <= every.relation.stability


def _ask_and_write(users: Query, write: Callable[[], None]) -> None:
    with looking(users.relation) as look:
        write()
        look.users("0", 1)


def test_a_file_that_is_written_meanwhile_stops_the_question(tmp_path: Path) -> None:
    file = tmp_path / "visits.parquet"

    def write(times: int) -> None:
        duckdb.execute(f"COPY (SELECT range // {times} AS id FROM range(900)) TO '{file}'")

    for settled in (False, True):
        write(3)
        if settled:
            past = time.time() - 60
            os.utime(file, (past, past))
            monkey = pytest.MonkeyPatch()
            monkey.setattr(kept_rows, "SETTLED_NS", -(10**12))  # the change of the inode is new
        users = Table.from_file(
            file, columns={"id": "integer"}, account=truthful(USER), unit="user", user="id",
            max_rows=3,
        )  # fmt: skip
        with pytest.raises(AmelesError, match="while it was being read"):
            _ask_and_write(users, lambda: write(9))
        if settled:
            monkey.undo()


def test_errors_of_a_view_quote_no_row() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 'secret ' || range AS id FROM range(9)")
    connection.execute("CREATE VIEW v AS SELECT CAST(id AS INTEGER) AS id FROM t")
    users = Table.from_duckdb(
        connection, "v", account=truthful(USER), unit="user", user="id", max_rows=3
    )
    with pytest.raises(AmelesError) as refused:
        users.noisy_count(epsilon=1)
    assert "secret" not in "".join(traceback.format_exception(refused.value))


def test_a_table_of_the_owner_may_have_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE crowded_1 AS SELECT range % 3 AS id FROM range(9)")
    users: dict[str, Any] = {"unit": "user", "user": "id", "max_rows": 2}
    visits = Table.from_duckdb(connection, "crowded_1", account=truthful(USER), **users)
    for end in ("noisy_count", "distinct_users", "noisy_median"):
        monkeypatch.setattr(temporary_tables, "_NUMBERS", count(1))
        asked = {"column": "id", "lower": 0, "upper": 2} if end == "noisy_median" else {}
        assert getattr(visits, end)(epsilon=1, **asked).rows
