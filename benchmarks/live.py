"""Following live: sustained ingest, durable steps, flat memory and flat cost, beside bare loops.

    ./run bench live                      everything, in a few minutes
    ./run bench live --events 2e7         more events
    ./run bench live --steps 1e5          more steps
    ./run bench live --profile            where the time of a step and of ingest goes

Ingest is compared with a plain DuckDB insert of the same rows, from the same bytes, into a database
on the same disk. A step is compared with as many bare SQLite transactions of one row (synchronous =
FULL) as the step has syncs; those are counted, not assumed. A step that reads files is also
compared with its floor: those transactions, the shortest query on its lines, and one look at each
file; for a step without a sink, its own statements are run with no program around them. Both sides
of a ratio run in turns, and the best round of each counts. Whether the cost of a step grows is told
by the time that its computing takes, on which other users of the machine have less influence.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import resource
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

GOALS = {"ingest": 3.0, "steps": 2.0, "memory": 1.1, "flat": 1.25}
KEYS = 10
CACHE = 16  # MiB that SQLite may keep of a store
TAIL = 1000  # steps whose cost is compared at both ends
TURN = 20  # steps, then as many bare transactions
FILES = 1000  # that a watched folder has
QUIET = 2.5  # seconds after which a file that was just written counts as left alone
PLAN = """
[stream]
name = "bench"
source = "{source}"
{time}columns = {{ at = "timestamp", who = "text", key = "text" }}
start = "{start}"
every = "1s"
horizon = 1000000
[privacy]
population = "people"
unit = "event"
epsilon = 1
{privacy}
[[release]]
name = "count"
measure = "count"
by = {{ key = [{keys}] }}
[store]
url = "bench.db"
{vault}
{sink}
"""


def rows(file: Path, count: int) -> None:
    """Events of the last minute, as CSV."""
    with duckdb.connect() as duck:
        duck.execute(
            "COPY (SELECT strftime(now() AT TIME ZONE 'UTC' - to_seconds(60) "
            "+ to_microseconds(CAST(hash(range) % 60000000 AS BIGINT)), "
            "'%Y-%m-%dT%H:%M:%S.%fZ') AS \"at\", "
            "printf('u%07d', hash(range, 1) % 1000000) AS who, "
            f"'k' || (hash(range, 2) % {KEYS}) AS key FROM range({count})) TO '{file}' (HEADER)"
        )


def plan_of(
    folder: Path, source: str, *, kind: str = "", sink: bool = False, beside: str = ""
) -> Any:
    """A plan with steps of a second that begin a minute ago; ``kind`` may be "sealed".

    Its sink is in the folder ``beside``, from there: a watched folder should not watch that too.
    """
    from ameles.plan.plan import read_plan_text

    start = datetime.now(UTC) - timedelta(seconds=60)
    sealed = kind == "sealed"
    text = PLAN.format(
        source=source,
        time="" if sealed else 'time = "at"\n',
        start=f"{start:%Y-%m-%dT%H:%M:%SZ}",
        privacy='intrusions = "one"' if sealed else "",
        keys=", ".join(f'"k{n}"' for n in range(KEYS)),
        vault=f'vault = "{folder}.keys"' if sealed else "",
        sink=f'[[sink]]\ncsv = "{Path(beside) / "releases.csv"}"' if sink else "",
    )
    plan = read_plan_text(text, base=folder)
    _ = plan.recipes  # chosen before the clock starts
    return plan


def resident() -> float:
    """MiB that this process has in memory now; where that is not known, at its peak."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * resource.getpagesize() / (1 << 20)
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 10)


@contextmanager
def profiled(wanted: bool) -> Iterator[None]:
    """The thirty functions with the most time of their own, on standard error."""
    if not wanted:
        yield
        return
    profile = cProfile.Profile()
    profile.enable()
    try:
        yield
    finally:
        profile.disable()
        stats = pstats.Stats(profile, stream=sys.stderr)
        stats.sort_stats("tottime").print_stats(30)
        stats.sort_stats("cumulative").print_stats(40)


# What a process of its own does -------------------------------------------------------------------


def run_pipe(file: Path, kind: str, profile: bool) -> dict[str, float]:
    """Follows standard input, written as fast as it is read, until everything is durable."""
    from ameles.connectors.standard_input import StandardInput
    from ameles.engine.engine import Engine
    from ameles.engine.following import arrivals
    from ameles.engine.following.follow import follow
    from ameles.store import open_store

    size = file.stat().st_size
    stop, done, figures = threading.Event(), 0, {}
    known = arrivals.Arrivals.counted

    def counted(these: arrivals.Arrivals, more: int) -> None:
        nonlocal done
        known(these, more)
        done += more
        for name, share in (("quarter", 0.25), ("half", 0.5), ("whole", 1.0)):
            if done >= share * size and name not in figures:
                figures[name] = resident()
        if done >= size:
            figures["seconds"] = time.perf_counter() - began
            stop.set()

    arrivals.Arrivals.counted = counted
    read, write = os.pipe()
    with tempfile.TemporaryDirectory() as folder:
        plan = plan_of(Path(folder), "-", kind=kind)
        with (
            open_store(str(Path(folder) / "bench.db")) as store,
            subprocess.Popen(["cat", str(file)], stdout=write) as writer,
        ):
            os.close(write)
            engine = Engine(plan, store)
            given = StandardInput("csv", plan.stream.columns, read)
            vars(engine)["source"] = lambda **waiting: given
            began = time.perf_counter()
            with profiled(profile):
                report = follow(engine, stop)
            writer.terminate()
    return {**figures, "steps": report.new}


def run_file(file: Path, steps: int, profile: bool) -> dict[str, float]:
    """Follows a file that grows by one share in each step; only the follower's time counts."""
    from ameles.engine.engine import Engine
    from ameles.store import open_store

    size = file.stat().st_size
    spent, figures = 0.0, {}
    with tempfile.TemporaryDirectory() as folder:
        growing = Path(folder) / "events.csv"
        plan = plan_of(Path(folder), growing.name, sink=True)
        with open_store(str(Path(folder) / "bench.db")) as store, profiled(profile):
            engine = Engine(plan, store)
            source = engine.source(waiting=True)
            with (
                engine.session() as session,
                file.open("rb") as content,
                growing.open("ab", buffering=0) as writer,
            ):
                for step in range(1, steps + 1):
                    writer.write(content.read(size * step // steps - content.tell()))
                    began = time.perf_counter()
                    session.take(source.reading(session.position, source.ends()), step)
                    session.publish()
                    spent += time.perf_counter() - began
                    for name, part in (("quarter", 4), ("half", 2), ("whole", 1)):
                        if step == steps // part:
                            figures[name] = resident()
    return {**figures, "seconds": spent, "steps": steps}


def run_steps(count: int, kind: str, profile: bool) -> dict[str, float]:
    """So many steps, one by one, each durable; ``kind``: bare, sink, file, folder or sealed."""
    from ameles.connectors.standard_input import StandardInput
    from ameles.engine.engine import Engine
    from ameles.plan.clock import instant
    from ameles.store import open_store

    times, work = array("d"), array("d")  # not lists, whose memory would grow with the steps
    sources = {"file": "events.csv", "folder": "*.csv"}
    with tempfile.TemporaryDirectory() as above, counted_syncs() as syncs:
        folder = Path(above) / "events"
        folder.mkdir()
        source_of = sources.get(kind, "-")
        plan = plan_of(
            folder,
            source_of,
            kind=kind,
            sink=kind != "bare",
            beside=".." if kind == "folder" else "",
        )
        if kind == "folder":
            for number in range(FILES):
                (folder / f"{number:06}.csv").write_bytes(b"at,who,key\n" + lines_of(number))
        with open_store(str(Path(above) / "bench.db")) as store:
            engine = Engine(plan, store)
            (folder / "events.csv").write_bytes(b"at,who,key\n")
            source = engine.source() if kind in sources else None
            given = StandardInput("csv", plan.kinds, form=plan.form)
            given.reading([b"at,who,key\n"])
            with (
                engine.session() as session,
                (folder / "events.csv").open("ab", buffering=0) as growing,
                profiled(profile),
            ):
                first = given.reading([]) if source is None else source.reading(None)
                session.take(first, 1)  # what is done once is not counted
                session.publish()
                if kind == "folder":  # its files were written long ago
                    time.sleep(QUIET)
                bare = Bare(Path(above) / "bare.db")
                floor = Floor(bare, folder if kind == "folder" else None)
                syncs[0], memory = 0, 0.0
                commits = store.writing

                def writing() -> Any:
                    syncs[0] += 1
                    return commits()

                vars(store)["writing"] = writing
                for step in range(2, count + 2):
                    if source is not None:
                        growing.write(lines_of(step, instant(plan.clock.start_of(step))))
                    began, worked = time.perf_counter(), time.process_time()
                    reading = (
                        given.reading([])
                        if source is None
                        else source.reading(session.position, source.ends())
                    )
                    session.take(reading, step)
                    session.publish()
                    times.append(time.perf_counter() - began)
                    work.append(time.process_time() - worked)
                    if step % TURN == 0:  # side by side: others may be using the machine
                        bare.go(TURN)
                        if source is not None:
                            floor.go(TURN)
                    if step == count // 4:
                        memory = resident()
                    if sys.stderr.isatty() and step % TAIL == 0:
                        print(f"{kind}: step {step:,}", end="\r", file=sys.stderr)
                # The longer a stream, the more of its database is in the cache, up to all of that.
                grown = max(resident() - CACHE, memory) / memory
                floor.close()
                bare.close()
        alone = statements_alone(Path(above)) if kind == "bare" else 0.0
    return {
        "alone": alone,
        "seconds": sum(times),
        "syncs": syncs[0] / count,
        "bare": bare.seconds / bare.count,
        "floor": floor.seconds / max(1, floor.count),
        "work": sum(work) / count,
        "first": sum(work[:TAIL]) / TAIL,
        "last": sum(work[-TAIL:]) / TAIL,
        "grown": grown,
    }


def lines_of(number: int, at: datetime = datetime(2020, 1, 1, tzinfo=UTC)) -> bytes:
    """A row for each key; those of different numbers differ, and the earliest count nowhere."""
    return b"".join(
        b"%s,u%d-%d,k%d\n" % (f"{at:%Y-%m-%dT%H:%M:%SZ}".encode(), number, n, n)
        for n in range(KEYS)
    )


@contextmanager
def counted_syncs() -> Iterator[list[int]]:
    """Counts the files and folders that Python itself syncs."""
    count = [0]
    known = {name: getattr(os, name) for name in ("fsync", "fdatasync") if hasattr(os, name)}

    def noted(call: Callable[[int], None]) -> Callable[[int], None]:
        def sync(handle: int) -> None:
            count[0] += 1
            call(handle)

        return sync

    for name, call in known.items():
        setattr(os, name, noted(call))
    try:
        yield count
    finally:
        for name, call in known.items():
            setattr(os, name, call)


class Bare:
    """A bare loop: SQLite transactions of one row each, a few at a time."""

    def __init__(self, file: Path) -> None:
        self._bare = sqlite3.connect(file, isolation_level=None)
        self._bare.execute("PRAGMA journal_mode = WAL")
        self._bare.execute("PRAGMA synchronous = FULL")
        self._bare.execute("CREATE TABLE one (step INTEGER PRIMARY KEY, value INTEGER)")
        self.count, self.seconds = 0, 0.0

    def go(self, count: int) -> None:
        """So many transactions."""
        began = time.perf_counter()
        for step in range(self.count, self.count + count):
            self._bare.execute("BEGIN IMMEDIATE")
            self._bare.execute("INSERT INTO one VALUES (?, ?)", (step, step))
            self._bare.execute("COMMIT")
        self.seconds += time.perf_counter() - began
        self.count += count

    def one(self) -> None:
        """One more, which is not counted."""
        self._bare.execute("INSERT OR REPLACE INTO one VALUES (-1, -1)")

    def close(self) -> None:
        """Lets go of the database."""
        self._bare.close()


class Floor:
    """What a step that reads files cannot do without, besides its transactions: the shortest
    prepared query on its lines, and one look at each file of a folder.

    Each time after a transaction, as in a step: what the processor had in its caches is gone.
    """

    def __init__(self, bare: Bare, folder: Path | None) -> None:
        self._bare, self._folder = bare, folder
        self._duck = duckdb.connect(config={"threads": 1})
        self._duck.register("text", {"chunk": np.array([lines_of(1).decode()], dtype=object)})
        line = "SELECT unnest(string_split(chunk, chr(10))) AS line FROM text"
        self._duck.execute(f"PREPARE least AS SELECT count(*) FROM ({line}) WHERE line <> ''")
        self.count, self.seconds = 0, 0.0

    def go(self, count: int) -> None:
        """So many times."""
        for _ in range(count):
            self._bare.one()
            began = time.perf_counter()
            if self._folder is not None:
                handle = os.open(self._folder, os.O_RDONLY)
                for name in os.listdir(handle):
                    os.stat(name, dir_fd=handle)
                os.close(handle)
            self._duck.execute("EXECUTE least").fetchall()
            self.seconds += time.perf_counter() - began
        self.count += count

    def close(self) -> None:
        """Lets go of the database."""
        self._duck.close()


class Statements:
    """The statements of a step without a sink, on its own store, with no program around them."""

    SETTINGS = (
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        "secure_delete = ON",
    )

    def __init__(self, file: Path) -> None:
        self._store = sqlite3.connect(file, isolation_level=None)
        for setting in self.SETTINGS:
            self._store.execute(f"PRAGMA {setting}").fetchall()
        (self._step,) = self._store.execute("SELECT max(step) FROM step").fetchone()
        (self._state,) = self._store.execute("SELECT snapshot FROM state").fetchone()
        rows = ", ".join(["(1, ?, ?, ?, ?, ?, '')"] * KEYS)
        self._insert = f"INSERT INTO release VALUES {rows}"
        self.count, self.seconds = 0, 0.0

    def go(self, count: int) -> None:
        """So many steps."""
        for _ in range(count):
            step = self._step = self._step + 1
            state = self._state[:20] + os.urandom(8) + self._state[28:-32] + os.urandom(32)
            values = [
                x for key in range(1, KEYS + 1) for x in (step, key, step, step - 9, step + 9)
            ]
            began = time.perf_counter()
            self._store.execute("BEGIN IMMEDIATE")
            self._store.execute("INSERT INTO step VALUES (1, ?, ?, ?)", (step, step, step + 1))
            self._store.execute(self._insert, values)
            self._store.execute("UPDATE state SET snapshot = ?", (state,))
            self._store.execute("UPDATE stream SET released = ?, scheduled = ?", (step, step))
            self._store.execute("COMMIT")
            self.seconds += time.perf_counter() - began
        self.count += count

    def close(self) -> None:
        """Lets go of the database."""
        self._store.close()


def statements_alone(folder: Path) -> float:
    """How many bare transactions the statements of a step without a sink take, in turns."""
    statements, bare = Statements(folder / "bench.db"), Bare(folder / "beside.db")
    for _ in range(TURN):
        statements.go(TURN)
        bare.go(TURN)
    statements.close()
    bare.close()
    return statements.seconds / bare.seconds


def run_insert(file: Path) -> dict[str, float]:
    """The same rows into a DuckDB database, in one insert."""
    with (
        tempfile.TemporaryDirectory() as folder,
        duckdb.connect(str(Path(folder) / "bare.duckdb")) as duck,
    ):
        duck.execute('CREATE TABLE event ("at" TIMESTAMP, who VARCHAR, key VARCHAR)')
        began = time.perf_counter()
        duck.execute(
            f"INSERT INTO event SELECT * FROM read_csv('{file}', header = true, columns = "
            "{'at': 'TIMESTAMP', 'who': 'VARCHAR', 'key': 'VARCHAR'})"
        )
        duck.execute("CHECKPOINT")
        return {"seconds": time.perf_counter() - began}


# The comparison -----------------------------------------------------------------------------------


def measured(job: str, *arguments: object, profile: bool = False) -> dict[str, float]:
    """One job in a process of its own."""
    ended = subprocess.run(
        [sys.executable, __file__, *(["--profile"] if profile else []), "--job", job]
        + [str(argument) for argument in arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if ended.returncode:
        sys.exit(f"The job {job} failed.")
    figures: dict[str, float] = json.loads(ended.stdout)
    return figures


def best(rounds: int, *jobs: tuple[object, ...]) -> list[dict[str, float]]:
    """The best round of each job, run in turns."""
    each: list[list[dict[str, float]]] = [[] for _ in jobs]
    for _ in range(rounds):
        for place, job in enumerate(jobs):
            each[place].append(measured(str(job[0]), *job[1:]))
    return [min(some, key=lambda one: one["seconds"]) for some in each]


def verdict(name: str, ratio: float) -> str:
    """Whether a goal was reached."""
    return f"goal at most {GOALS[name]:g}: {'reached' if ratio <= GOALS[name] else 'NOT reached'}"


def ingest(count: int, rounds: int) -> None:
    """Events through a pipe and through a growing file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        rows(file, count)
        shares = max(4, count // 100_000)
        pipe, sealed, grown, bare = best(
            rounds,
            ("pipe", file, "plain"),
            ("pipe", file, "sealed"),
            ("file", file, shares),
            ("insert", file),
        )
        size = file.stat().st_size / (1 << 20)
        print(f"{count:,} events in CSV, {size:,.0f} MiB, {KEYS} keys, steps of a second")
        print(f"  plain DuckDB insert: {count / bare['seconds']:,.0f} events/s")
        for name, one in (
            ("standard input", pipe),
            ("standard input, pan-private", sealed),
            (f"growing file, {shares} steps", grown),
        ):
            ratio = one["seconds"] / bare["seconds"]
            print(
                f"  {name:28} {count / one['seconds']:>10,.0f} events/s with {one['steps']:.0f} "
                f"releases, {ratio:.2f} x the insert; {verdict('ingest', ratio)}"
            )
            ratio = one["whole"] / one["quarter"]
            print(
                f"  {'':28} memory {one['quarter']:.0f}, {one['half']:.0f}, {one['whole']:.0f} MiB "
                f"after 1/4, 1/2, all: {ratio:.2f} x; {verdict('memory', ratio)}"
            )


def steps(count: int, rounds: int) -> None:
    """Steps one by one, beside the same number of syncs."""
    names = {
        "bare": "nothing comes in, no sink",
        "sink": "the same, with a CSV sink",
        "file": f"{KEYS} rows of a growing file, CSV sink",
        "folder": f"the same, beside {FILES:,} files",
        "sealed": "pan-private, CSV sink",
    }
    print(f"{count:,} steps of {KEYS} keys, one by one")
    for kind, name in names.items():
        (one,) = best(rounds, ("steps", count, kind))
        sync, each = one["bare"], one["seconds"] / count
        ratio = each / (one["syncs"] * sync)
        whole = one["syncs"] * sync + one["floor"]
        above = f"; {each / whole:.2f} x the floor of {whole * 1e3:.2f} ms" if one["floor"] else ""
        print(
            f"  {name:36} {1 / each:>6,.0f} steps/s, {one['syncs']:.1f} syncs each; {ratio:.2f} x "
            f"{one['syncs']:.1f} bare transactions of {sync * 1e3:.2f} ms; "
            f"{verdict('steps', ratio)}{above}"
        )
        if one["alone"]:
            print(f"  {'':36} its statements alone: {one['alone']:.2f} x a bare transaction")
        ratio = one["last"] / one["first"]
        print(
            f"  {'':36} computing: {one['first'] * 1e3:.2f} ms a step in the first thousand, "
            f"{one['last'] * 1e3:.2f} ms in the last: {ratio:.2f} x; {verdict('flat', ratio)}"
        )
        print(
            f"  {'':36} memory from a quarter to the end, but for {CACHE} MiB of cache: "
            f"{one['grown']:.2f} x; {verdict('memory', one['grown'])}"
        )


def main() -> None:
    """The benchmark, or one job of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=float, default=5e6, help="how many go through a source")
    parser.add_argument("--steps", type=float, default=5e3, help="how many are made one by one")
    parser.add_argument("--rounds", type=int, default=2, help="of which the best counts")
    parser.add_argument("--only", choices=("ingest", "steps"), help="one part of it")
    parser.add_argument("--profile", action="store_true", help="say where the time goes")
    parser.add_argument("--job", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        print(json.dumps(job(given.job, given.profile)))
        return
    count, walked = int(given.events), max(2 * TAIL, int(given.steps))
    if given.profile:
        with tempfile.TemporaryDirectory() as folder:
            rows(Path(folder) / "rows.csv", count)
            measured("pipe", Path(folder) / "rows.csv", "plain", profile=True)
        measured("steps", walked, "file", profile=True)
        return
    if given.only != "steps":
        ingest(count, given.rounds)
    if given.only != "ingest":
        steps(walked, given.rounds)


def job(words: list[str], profile: bool) -> dict[str, float]:
    """What a process of its own is asked for."""
    match words:
        case ["pipe", file, kind]:
            return run_pipe(Path(file), kind, profile)
        case ["file", file, shares]:
            return run_file(Path(file), int(shares), profile)
        case ["steps", count, kind]:
            return run_steps(int(count), kind, profile)
        case ["insert", file]:
            return run_insert(Path(file))
    raise SystemExit(f"There is no job {words}.")


if __name__ == "__main__":
    main()
