"""Questions about a table: beside OpenDP, diffprivlib and bare DuckDB, and mechanisms with a goal.

The sides of a ratio run in turns in one process: the median of the seconds on the clock counts, and
the least of the processor's seconds, which depends less on what else the machine does.  Every side
asks the same Parquet file, or the same columns in memory.  OpenDP scans the file by its Polars
interface; it knows its noise scale before, because the search for it takes longer than the
question.  For diffprivlib, which takes arrays, Arrow reads the one column that is asked about.
Bare DuckDB, without noise, shows what is possible.

Ameles and OpenDP protect a row that is added or removed.  diffprivlib protects a row that is
replaced, and publishes the number of rows where it divides by it.  OpenDP and diffprivlib have no
top-k for counts of public keys: theirs is a histogram that is sorted, as is that of Ameles.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import ameles
from ameles.query import Table

Ask = Callable[[], Any]
SHOPS, PER_USER = 1000, 5
KEYS = [f"shop {number}" for number in range(SHOPS)]
COLUMNS = {"person": "integer", "age": "integer", "spend": "number", "shop": "text"}
COLUMNS["fever"] = "boolean"
TENS = list(range(0, 101, 10))
DELTA = "1e-6"
KINDS = ("parquet", "frame", "table", "view")
FASTER, ROWS, USERS = 5.0, 1.3, 2.0
SLOW = 15.0  # seconds


def written(file: Path, count: int) -> None:
    """Visits: four of a person on average, shops of which few are popular."""
    with duckdb.connect() as duck:
        duck.execute(
            f"COPY (SELECT CAST(hash(range, 1) % {max(1, count // 4)} AS BIGINT) AS person, "
            "CAST(hash(range, 2) % 100 AS BIGINT) AS age, "
            "1000 * (hash(range, 3) / pow(2, 64)) AS spend, "
            f"'shop ' || CAST(floor({SHOPS} * pow(hash(range, 4) / pow(2, 64), 3)) AS INTEGER) "
            "AS shop, hash(range, 5) % 10 < 3 AS fever "
            f"FROM range({count})) TO '{file}' (FORMAT parquet)"
        )


def budget(unit: ameles.Unit) -> ameles.Ledger:
    """More than anybody will ask for."""
    users = unit == ameles.USER
    return ameles.Ledger(
        "people",
        cap=ameles.Approx(10**9, "0.9"),
        unit=unit,
        neighbours=ameles.Neighbours.USER_PRESENCE if users else ameles.Neighbours.ADD_REMOVE,
    )


def tables(data: Any) -> tuple[Table, Table]:
    """The table with rows and with users protected: of a file, a data frame or DuckDB."""
    made = []
    for unit in ("row", "user"):
        account = budget(ameles.USER if unit == "user" else ameles.EVENT)
        bounds = {"user": "person", "max_rows": PER_USER} if unit == "user" else {}
        about: dict[str, Any] = {"columns": COLUMNS, "account": account, "unit": unit, **bounds}
        if isinstance(data, Path):
            made.append(Table.from_file(data, **about))
        elif isinstance(data, duckdb.DuckDBPyConnection):
            made.append(Table.from_duckdb(data, "visits", **about))
        else:
            made.append(Table.from_dataframe(data, name="visits", **about))
    return made[0], made[1]


# The same questions, in every library -------------------------------------------------------------


def ours(table: Table, epsilon: str) -> dict[str, Ask]:
    """Ameles."""
    whole = {"lower": 0, "upper": 99, "epsilon": epsilon}

    return {
        "count": lambda: table.where("fever").noisy_count(epsilon=epsilon),
        "sum": lambda: table.noisy_sum("age", **whole),
        "mean": lambda: table.noisy_average("age", **whole),
        "histogram": lambda: table.histogram("age", edges=TENS, epsilon=epsilon),
        "quantile": lambda: table.noisy_median("age", **whole),
        "top-k": lambda: table.top_k(10, by={"shop": KEYS}, epsilon=epsilon),
        "private keys": lambda: table.private_partition("shop").noisy_count(
            epsilon=epsilon, delta=DELTA
        ),
    }


def opendp(file: Path, epsilon: str, wanted: Sequence[str]) -> dict[str, Ask]:
    """OpenDP by its Polars interface, which is its documented way for tables."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    warnings.simplefilter("ignore", FutureWarning)
    age = pl.col("age").fill_null(0)
    shops = pl.LazyFrame({"shop": KEYS})
    bins = pl.LazyFrame({"age": list(range(10))})

    def query(delta: float | None = None) -> Any:
        loss = {"epsilon": float(epsilon)} | ({"delta": delta} if delta else {})
        return dp.Context.compositor(
            data=pl.scan_parquet(file),
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(**loss),
            split_evenly_over=1,
            margins=[dp.polars.Margin(max_length=10**8)],
        ).query()

    def by_shop(asked: Any) -> Any:
        return asked.group_by("shop").agg(dp.len(signed=True))

    def asked(plan: Callable[[], Any]) -> Ask:
        resolved = plan().resolve()  # with the scale of its noise
        return lambda: resolved(pl.scan_parquet(file)).collect()

    tens = (pl.col("age") // 10).alias("age")
    plans = {
        "count": lambda: query().filter(pl.col("fever")).select(dp.len(signed=True)),
        "sum": lambda: query().select(age.dp.sum((0, 99))),
        "mean": lambda: query().select(age.dp.sum((0, 99)), dp.len(signed=True)),
        "histogram": lambda: (
            query().with_columns(tens).group_by("age").agg(dp.len(signed=True)).with_keys(bins)
        ),
        "quantile": lambda: query().select(age.dp.quantile(0.5, list(range(100)))),
        "top-k": lambda: by_shop(query()).with_keys(shops),
        "private keys": lambda: by_shop(query(float(DELTA))),
    }
    return {name: asked(plan) for name, plan in plans.items() if name in (wanted or plans)}


def diffprivlib(file: Path, epsilon: str, *, held: bool = False) -> dict[str, Ask]:
    """diffprivlib's tools; it has no private keys.  ``held``: the columns are in memory before."""
    import diffprivlib.tools as tools
    import pyarrow.parquet as parquet

    warnings.simplefilter("ignore")

    def read(column: str) -> Any:
        values = parquet.read_table(file, columns=[column])[column]
        if column != "shop":
            return values.to_numpy()
        return values.combine_chunks().dictionary_encode().indices.to_numpy()

    kept = {column: read(column) for column in ("age", "fever", "shop")} if held else {}

    def array(column: str) -> Any:
        return kept[column] if held else read(column)

    given = {"epsilon": float(epsilon)}
    return {
        "count": lambda: tools.count_nonzero(array("fever"), **given),
        "sum": lambda: tools.sum(array("age"), bounds=(0, 99), **given),
        "mean": lambda: tools.mean(array("age"), bounds=(0, 99), **given),
        "histogram": lambda: tools.histogram(array("age"), bins=10, range=(0, 100), **given)[0],
        "quantile": lambda: tools.quantile(array("age"), 0.5, bounds=(0, 99), **given),
        "top-k": lambda: tools.histogram(array("shop"), bins=SHOPS, range=(0, SHOPS), **given)[0],
    }


# Errors -------------------------------------------------------------------------------------------


class Truth:
    """The exact answers, and how far a library's answer is from them."""

    def __init__(self, file: Path) -> None:
        def one(query: str) -> Any:
            return duckdb.execute(f"SELECT {query} FROM '{file}'").fetchall()[0][0]

        self.exact = {"count": one("count(*) FILTER (fever)"), "sum": one("sum(age)")}
        self.exact["mean"] = one("avg(age)")
        ages = duckdb.execute(f"SELECT age FROM '{file}'").fetchnumpy()["age"]
        self.ages = np.bincount(np.ma.getdata(ages), minlength=100)
        shops = duckdb.execute(f"SELECT shop, count(*) FROM '{file}' GROUP BY shop").fetchall()
        self.shops = dict(shops)
        # the codes that diffprivlib counts are in the order in which shops appear in the file
        first = duckdb.execute(f"SELECT shop FROM '{file}'").fetchall()
        self.order = list(dict.fromkeys(shop for (shop,) in first))

    def error(self, question: str, answer: Any, library: str) -> float:
        """Of a count, sum, mean or histogram its distance; of a median the difference of ranks;
        of a top-k the visits that its shops have less than the best; of private keys the mean
        distance of the counts of all shops, 0 for a shop that is not named."""
        match question:
            case "count" | "sum" | "mean":
                return abs(self._number(question, answer, library) - self.exact[question])
            case "histogram":
                bins = self.ages.reshape(10, 10).sum(axis=1)
                return float(np.abs(self._bins(answer, library) - bins).mean())
            case "quantile":
                value = int(self._number(question, answer, library))
                below, above = self.ages[:value].sum(), self.ages[value + 1 :].sum()
                return float(max(0, abs(below - above) - self.ages[value]))
            case "top-k":
                best = sorted(self.shops.values())[-10:]
                chosen = self._top(answer, library)
                return float(sum(best) - sum(self.shops.get(shop, 0) for shop in chosen))
            case _:
                counts = self._counts(answer, library)
                return statistics.mean(
                    abs(counts.get(shop, 0) - count) for shop, count in self.shops.items()
                )

    def _number(self, question: str, answer: Any, library: str) -> float:
        if library == "Ameles":
            return float(answer.value)
        if library.startswith("diffprivlib"):
            return float(answer)
        row = answer.row(0)
        return row[0] / row[1] if question == "mean" else float(row[0])

    def _bins(self, answer: Any, library: str) -> Any:
        if library == "Ameles":
            return np.array([row.value for row in answer.rows])
        if library == "OpenDP":
            return answer.sort("age")["len"].to_numpy()
        return np.asarray(answer)

    def _top(self, answer: Any, library: str) -> Sequence[str]:
        if library == "Ameles":
            return [row.key[1] for row in answer.rows]
        if library == "OpenDP":
            return list(answer.sort("len", descending=True)["shop"][:10])
        return [self.order[code] for code in np.argsort(answer)[-10:] if code < len(self.order)]

    def _counts(self, answer: Any, library: str) -> dict[str, float]:
        if library == "Ameles":
            return {row.key[0]: float(row.value) for row in answer.rows}
        return dict(zip(answer["shop"], answer["len"], strict=True))


# The parts of the benchmark -----------------------------------------------------------------------


Spent = list[tuple[float, float]]  # seconds on the clock, and of the processor


def timed(asks: Sequence[Ask], rounds: int) -> list[Spent]:
    """What each takes, in turns, after one round that does not count; what is slow runs once."""
    spent: list[Spent] = [[] for _ in asks]
    slow: set[int] = set()
    for one in range(rounds + 1):
        for place, ask in enumerate(asks):
            if place in slow:
                continue
            start, cpu = time.perf_counter(), time.process_time()
            ask()
            seconds = time.perf_counter() - start, time.process_time() - cpu
            if seconds[0] > SLOW:
                slow.add(place)
            if one or place in slow:
                spent[place].append(seconds)
    return spent


def clock(spent: Spent) -> float:
    """The median of the seconds on the clock."""
    return statistics.median(seconds for seconds, _ in spent)


def processor(spent: Spent) -> float:
    """The fewest seconds of the processor.

    What is more is often the system's work for new memory, which depends on other programs: from
    0.02 to 1.3 s for the same array.
    """
    return min(seconds for _, seconds in spent)


def peers(file: Path, small: Path, rounds: int, repeats: int, wanted: Sequence[str]) -> None:
    """Time on the large table at epsilon 1, mean error on the small one at epsilon 0.1."""
    print("seconds on the clock and of the processor at epsilon 1, as a multiple of Ameles' with")
    print("the same data: a Parquet file, or columns in memory; error at epsilon 0.1")
    visits = duckdb.sql(f"SELECT * FROM '{file}'").to_arrow_table()
    duckdb.execute("SET preserve_insertion_order = false")
    duckdb.register("visits", visits)
    large = {
        "Ameles": ours(tables(file)[0], "1"),
        "DuckDB": bare(f"read_parquet('{file}')"),
        "OpenDP": opendp(file, "1", wanted),
        "diffprivlib": diffprivlib(file, "1"),
        "Ameles, memory": ours(tables(visits)[0], "1"),
        "DuckDB, memory": bare("visits"),
        "diffprivlib, memory": diffprivlib(file, "1", held=True),
    }
    few = {
        "Ameles": ours(tables(small)[0], "0.1"),
        "OpenDP": opendp(small, "0.1", wanted),
        "diffprivlib": diffprivlib(small, "0.1"),
    }
    truth = Truth(small)
    for question in wanted or large["Ameles"]:
        names = [name for name, asks in large.items() if question in asks]
        all_spent = timed([large[name][question] for name in names], rounds)
        spent_by = dict(zip(names, all_spent, strict=True))
        for name, spent in spent_by.items():
            mine = spent_by["Ameles, memory" if name.endswith("memory") else "Ameles"]
            ratios = [what(spent) / what(mine) for what in (clock, processor)]
            told = f"  {question:13} {name:20} {clock(spent):8.3f} s {processor(spent):8.3f} s"
            told += "".join(f" {ratio:7.2f} x" for ratio in ratios)
            if name in few:
                asked = [few[name][question]() for _ in range(repeats)]
                errors = [truth.error(question, one, name) for one in asked]
                told += f"   error {statistics.mean(errors):10.4g}"
            if name.startswith(("OpenDP", "diffprivlib")):
                told += f"   {'reached' if ratios[0] >= FASTER else 'MISSED'}"
            print(told, flush=True)


def bare(source: str) -> dict[str, Ask]:
    """Bare DuckDB."""
    asked = bare_questions(source).items()
    return {name: lambda sql=sql: duckdb.execute(sql).fetchall() for name, sql in asked}


def bare_questions(source: str) -> dict[str, str]:
    """The same questions in SQL, without noise."""
    return {
        "count": f"SELECT count(*) FROM {source} WHERE fever",
        "sum": f"SELECT sum(least(greatest(age, 0), 99)) FROM {source}",
        "mean": f"SELECT avg(least(greatest(age, 0), 99)) FROM {source}",
        "histogram": f"SELECT age // 10 AS bin, count(*) FROM {source} GROUP BY bin",
        "quantile": f"SELECT quantile_disc(age, 0.5) FROM {source}",
        "top-k": f"SELECT shop, count(*) AS n FROM {source} GROUP BY shop ORDER BY n DESC LIMIT 10",
        "private keys": f"SELECT shop, count(*) FROM {source} GROUP BY shop",
    }


def beside_duckdb(file: Path, rounds: int, *, kind: str, units: Sequence[str]) -> None:
    """Ratios to bare DuckDB, of a Parquet file, a data frame, or a table or view of DuckDB."""
    with duckdb.connect() as duck:
        duck.execute("SET preserve_insertion_order = false")
        source, data = "visits", None
        if kind == "frame":
            data = duck.sql(f"SELECT * FROM '{file}'").to_arrow_table()
            duck.register("visits", data)
        elif kind == "table":
            data = duck
            duck.execute(f"CREATE TABLE visits AS SELECT * FROM '{file}'")
        elif kind == "view":
            data = duck
            duck.execute(f"CREATE TABLE kept AS SELECT * FROM '{file}'")
            duck.execute("CREATE VIEW visits AS SELECT * FROM kept")
        else:
            source, data = f"read_parquet('{file}')", file
        bounded = (
            f"(SELECT * FROM {source} QUALIFY row_number() OVER (PARTITION BY person ORDER BY "
            f"hash('salt', person, age, spend, shop, fever)) <= {PER_USER})"
        )
        print(f"{kind}, beside bare DuckDB: seconds on the clock; ratios of these and of the")
        print("processor's")
        for unit, table in zip(("rows", "users"), tables(data), strict=True):
            if unit not in units:
                continue
            asked = ours(table, "1")
            goal = ROWS if unit == "rows" else USERS
            for question, sql in bare_questions(source if unit == "rows" else bounded).items():
                mine, theirs = timed(
                    [asked[question], lambda sql=sql: duck.execute(sql).fetchall()], rounds
                )
                pairs = zip(mine, theirs, strict=False)
                ratio = statistics.median(one[0] / other[0] for one, other in pairs)
                cpu = processor(mine) / processor(theirs)
                print(
                    f"  {unit:6} {question:12} {clock(mine):7.3f} s, bare "
                    f"{clock(theirs):7.3f} s: {ratio:5.2f} x, processor {cpu:5.2f} x, goal "
                    f"{goal:g}: {'reached' if ratio <= goal else 'MISSED'}",
                    flush=True,
                )


def csv(file: Path, copy: Path) -> None:
    """Questions about a CSV file: the first reads it, the others ask the rows in memory."""
    duckdb.execute(f"COPY (SELECT * FROM '{file}') TO '{copy}'")
    time.sleep(3)  # until the file counts as settled
    print(f"a CSV file of {copy.stat().st_size / 1e6:.0f} MB, in seconds")
    for question, ask in ours(tables(copy)[0], "1").items():
        start = time.perf_counter()
        ask()
        print(f"  {question:12} {time.perf_counter() - start:7.3f} s", flush=True)


def mechanisms() -> None:
    """Private multiplicative weights, and choices from a million candidates."""
    from ameles.mechanisms.interactive.tuned_weights import multiplicative_weights
    from ameles.mechanisms.one_shot.exponential import ExponentialMechanism
    from ameles.mechanisms.one_shot.permute_and_flip import PermuteAndFlip
    from ameles.noise import System

    random = np.random.default_rng(1)
    scores = random.integers(0, 10**5, 10**6)
    for kind in (ExponentialMechanism, PermuteAndFlip):
        recipe = kind(epsilon="0.01", candidates=10**6, neighbours="replace")
        (spent,) = timed([lambda recipe=recipe: recipe.start(System()).step(scores)], 5)
        print(f"{kind.__name__} of a million: {clock(spent):.2f} s, goal 1 s")
    universe, asked = 1 << 16, 10_000
    counts = random.multinomial(10**6, random.dirichlet(np.full(universe, 0.001)))
    recipe = multiplicative_weights(epsilon=10, universe=universe, rows=10**6, horizon=asked)
    run, seconds, above = recipe.start(System()), 0.0, 0
    for _ in range(asked):
        query = random.random(universe) < 0.5
        exact = int(counts[query].sum())
        start = time.perf_counter()
        above += str(run.step((query, exact))).startswith("above")
        seconds += time.perf_counter() - start
    print(f"multiplicative weights, 2^16 and {asked:,} queries: {seconds:.1f} s, {above} updates")


def main() -> None:
    """All parts, or one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=20, help="answers for each mean error")
    parser.add_argument("--only", choices=["peers", *KINDS, "csv", "mechanisms"])
    parser.add_argument("--units", nargs="*", default=["rows", "users"], help="beside DuckDB")
    parser.add_argument("--questions", nargs="*", default=[], help="some, beside the peers")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file, small = Path(folder) / "visits.parquet", Path(folder) / "few.parquet"
        written(file, int(given.rows))
        written(small, min(100_000, int(given.rows)))
        time.sleep(3)  # until the files count as settled
        print(f"{int(given.rows):,} rows")
        if given.only in (None, "mechanisms"):
            mechanisms()
        for kind in KINDS:
            if given.only in (None, kind):
                beside_duckdb(file, given.rounds, kind=kind, units=given.units)
        if given.only in (None, "csv"):
            csv(file, Path(folder) / "visits.csv")
        if given.only in (None, "peers"):
            peers(file, small, given.rounds, given.repeats, given.questions)


if __name__ == "__main__":
    main()
