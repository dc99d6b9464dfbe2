"""Kills of Ameles, of Postgres, of Redis and of connections, for a plan from a table to two sinks.

    .venv/bin/python -m tests.faults.databases 300

In each round writers go on with overlapping transactions, a process of Ameles runs the plan, and
one thing is killed at an instant that the seed decides.  At the end every committed row must have
counted once, and the table and the stream must have each stored release once, as it is stored.
The noise is real, at an epsilon with which it is not zero once in e^100 draws.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ameles.store import open_store
from tests.concurrent_writers import Writers
from tests.engine.worlds import day
from tests.event_tables import EventTable, url_of
from tests.faults.choices import Choices
from tests.postgres import Server
from tests.postgres import serving as serving_postgres
from tests.redis_server import RedisServer
from tests.redis_server import serving as serving_redis
from tests.warm_processes import start

FAULTS = ("kill", "kill", "kill", "connections", "postgres", "redis", "nothing")
LONGEST = 0.4  # seconds until a fault
_PATIENCE = 600.0
PLAN = """
[stream]
name = "s"
source = "{source}"
connection = "postgres.toml"
columns = {{ at = "timestamp", who = "text" }}
time = "at"
start = "2026-01-01"
every = "1d"
horizon = 400
[privacy]
population = "people"
unit = "event"
epsilon = 1000
[[release]]
name = "visits"
measure = "count"
[store]
url = "{store}"
[[sink]]
postgres = "{table}"
{connection}
[[sink]]
redis = "{stream}"
"""


@dataclass
class Figures:
    """What was done, and what was wrong."""

    done: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        told = ", ".join(f"{name} {number}" for name, number in sorted(self.done.items()))
        return f"{told}; violations: {len(self.violations)}"


class DatabaseWorld:
    """One stream; ``beside`` says that its store is in Postgres, and its table has no key."""

    def __init__(
        self, postgres: Server, redis: RedisServer, folder: Path, seed: object, *, beside: bool
    ) -> None:
        self.postgres, self.redis, self.folder, self.beside = postgres, redis, folder, beside
        self.draw = Choices("databases", seed, beside)
        self.table = EventTable(postgres, folder)
        self.sink = f"{self.table.name}_releases"
        schema = f"s_{self.table.name}"
        self.store = postgres.url(schema=schema) if beside else str(folder / "s.db")
        self.steps = 0
        text = PLAN.format(
            source=self.table.url,
            store=self.store,
            table=url_of(postgres, self.sink),
            stream=redis.url(self.sink),
            connection="" if beside else 'connection = "postgres.toml"',
        )
        (folder / "plan.toml").write_text(text, encoding="utf-8")

    def rounds(self, many: int, figures: Figures) -> None:
        """Launches, goes through some faults, and looks at the end."""
        self._finish()
        if self.beside:
            with self.postgres.admin(self.postgres.database) as admin:
                admin.execute(f"ALTER TABLE {self.sink} DROP CONSTRAINT {self.sink}_pkey")
        with Writers(self.table, self.draw, many=4) as writers:
            for _ in range(many):
                for _ in range(self.draw.below(8)):
                    writers.move()
                self._round(writers, figures)
        self._finish()
        figures.violations += self.violations()

    def close(self) -> None:
        """Ends the connection of the writer."""
        self.table.connection.close()

    def _run(self) -> subprocess.Popen[bytes]:
        """A run of one more step, or of several."""
        self.steps += 1 + self.draw.below(2)
        until = f"{day(self.steps + 1, 0):%Y-%m-%d}"
        script = (
            "import sys; from ameles.cli import main; "
            "from ameles.engine.running import remote_delivery as r; r.FIRST = r.LONGEST = 0.05; "
            f"sys.argv[1:] = ['run', 'plan.toml', '--yes', '--until', '{until}']; main()"
        )
        return start(
            "-c", script, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def _round(self, writers: Writers, figures: Figures) -> None:
        fault = FAULTS[self.draw.below(len(FAULTS))]
        process = self._run()
        self.draw.sleep(LONGEST)
        if fault == "kill":
            process.kill()
        elif fault == "connections":
            with self.postgres.admin() as admin:
                ended = admin.execute(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                    "WHERE application_name LIKE 'ameles%'"
                ).fetchall()
            figures.done["connections ended"] += ended[0][0]
        elif fault == "postgres":
            self.postgres.restart(signal.SIGQUIT)
            writers.lost()
        elif fault == "redis":
            self.redis.kill()
            self.redis.start()
        code = process.wait(_PATIENCE)
        figures.done["rounds"] += 1
        figures.done[f"fault {fault}"] += 1
        figures.done["killed while it ran"] += code == -signal.SIGKILL
        figures.done["ended with an error"] += code > 0
        if fault == "nothing" and code:
            figures.violations.append(f"a run without a fault ended with {code}")

    def _finish(self) -> None:
        code = self._run().wait(_PATIENCE)
        if code:
            raise RuntimeError(f"a run without a fault ended with {code}")

    def violations(self) -> list[str]:
        """What is not as it must be."""
        with closing(open_store(self.store)) as store, store.reading() as transaction:
            stream = transaction.stream("s")
            if stream is None:
                return ["there is no stream"]
            stored = [(row[3], int(row[6])) for row in transaction.release_rows(stream)]
        with self.postgres.admin(self.postgres.database) as admin:
            ((rows,),) = admin.execute(f"SELECT count(*) FROM {self.table.name}").fetchall()
            table = [
                (step, int(value))
                for step, value in admin.execute(f"SELECT step, value FROM {self.sink}").fetchall()
            ]
        with self.redis.client() as client:
            found: Any = client.xrange(self.sink)
        entries = [(int(fields[b"step"]), int(fields[b"value"])) for _, fields in found]
        wrong = []
        if stored[-1][1] != rows:
            wrong.append(f"{rows} rows were committed, {stored[-1][1]} counted")
        if [step for step, _ in stored] != list(range(1, self.steps + 1)):
            wrong.append("steps are missing in the store")
        for name, has in {"table": table, "stream": entries}.items():
            if sorted(has) != stored:
                wrong.append(f"the {name} has {len(has)} releases, the store {len(stored)}")
        return wrong


def faults(
    rounds: int, seed: object, figures: Figures, postgres: Server, redis: RedisServer
) -> None:
    """A world of each kind."""
    for beside in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            world = DatabaseWorld(postgres, redis, Path(folder), seed, beside=beside)
            with closing(world):
                world.rounds(rounds, figures)


def main() -> None:
    """As many rounds as the command line says, 25 in a world."""
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    figures = Figures()
    with (
        tempfile.TemporaryDirectory() as folder,
        serving_postgres() as postgres,
        serving_redis(Path(folder)) as redis,
    ):
        for seed in range(-(-many // 50)):
            faults(25, seed, figures, postgres, redis)
            sys.stdout.write("\n  ".join([str(figures), *figures.violations]) + "\n")
            sys.stdout.flush()
    sys.exit(bool(figures.violations))


if __name__ == "__main__":
    main()
