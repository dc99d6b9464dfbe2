"""Steps that are due are released piece by piece: what is published does not depend on the pieces,
and the memory does not depend on how many steps are due."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from ameles.connectors.duck import OutOfMemory
from ameles.core.noise import Shape
from ameles.engine.engine import Engine
from ameles.engine.following.follow import follow
from ameles.engine.gathering.pending import Pending
from ameles.engine.releasing.release_run import ReleaseRun
from ameles.engine.running import stored_state
from ameles.noise import Zero
from ameles.noise.arrays import BoolArray, IntArray
from ameles.noise.coin import count_of
from ameles.store import Transaction, open_store
from tests.engine.tags import same_salt
from tests.engine.worlds import COUNT, EVENT, USER, WINDOW, World, day, row

ALL = 1 << 40
# Half-widths are computed for 128 steps at a time, so some steps are beyond the first of them.
STEPS = 140
ROWS = [
    row(1 + 3 * n % STEPS, who=f"u{n % 9}", region=("north", "south")[n % 2], age=n % 90, amount=n)
    for n in range(120)
]
VALUES = 'column = "amount"\nlower = 0\nupper = 10\ngranularity = 1\n'
EDGES = 'column = "age"\nedges = [0, 18, 65, 90]\n'
FOUND = "100\ndelta = 0.01"
KEYS = 'by = { region = ["north", "south"] }\n'
DELTA = '1\ndelta = "1e-6"'


class Sequenced(Zero):
    """Small noise that depends on nothing but how many draws came before."""

    def __init__(self) -> None:
        self.drawn = 0

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        return self._next(size) % 41 - 20

    def gaussian(self, variance: Fraction, size: Shape) -> IntArray:
        return self._next(size) % 41 - 20

    def bernoulli(self, p: Fraction, size: Shape) -> BoolArray:
        fair: BoolArray = self._next(size) % 2 == 0
        return fair

    def truncated_laplace(self, scale: Fraction, within: int, size: Shape) -> IntArray:
        return self._next(size) % 3 - 1

    def _next(self, size: Shape) -> IntArray:
        count = count_of(size)
        place = np.arange(self.drawn, self.drawn + count, dtype=np.int64)
        self.drawn += count
        return (place * 2_654_435_761 % 999_983).reshape(size)


@contextmanager
def pieces_of(steps: int) -> Iterator[None]:
    """Releases so many steps in a transaction."""
    with (
        mock.patch.object(stored_state, "PIECE", steps),
        mock.patch.object(stored_state, "PART_OF_WINDOW", ALL),
        mock.patch.object(stored_state, "GROWING", steps),
    ):
        yield


def released(folder: Path, options: dict[str, Any], steps: int) -> tuple[list[Any], list[str]]:
    """The releases of two runs and the ledger, with pieces of so many steps."""
    world = World(folder, **options).write(ROWS)
    told: list[int] = []
    with same_salt(), pieces_of(steps):
        noise = Sequenced()
        for until in (STEPS - 5, STEPS):
            told.clear()
            world.run(until, noise=noise, batch=ALL, progress=lambda done, of: told.append(done))
    assert told == [*range(min(steps, 5), 5, steps), 5]
    with closing(open_store(str(folder / "s.db"))) as store, store.reading() as transaction:
        (stream,) = transaction.streams()
        ledger = transaction.ledger("people")
        assert ledger is not None
        waiting = transaction.pending(stream)
        assert waiting is None or not Pending.from_bytes(waiting).rows
        spent = [str(len(ledger.entries)), str(ledger.spent)]
    # what is published first has an identity of its own
    return [replace(one, entry=0) for one in world.releases()], spent


def one(text: str, unit: str = EVENT, **options: Any) -> dict[str, Any]:
    release = f'[[release]]\nname = "it"\n{text}\n'
    return {"releases": release, "unit": unit, "horizon": STEPS, **options}


KINDS = {
    "count": one(f'measure = "count"\n{KEYS}'),
    "count of a step": one('measure = "count"\nover = "step"'),
    "count over a window": one(f'measure = "count"\nover = "9d"\n{KEYS}'),
    "count without end": one('measure = "count"', horizon=None),
    "window without end": one('measure = "count"\nover = "9d"', horizon=None),
    "gaussian": one(f'measure = "count"\n{KEYS}', USER.replace("3", "40"), epsilon=DELTA),
    "sum": one(f'measure = "sum"\n{VALUES}'),
    "mean": one(f'measure = "mean"\n{VALUES}{KEYS}'),
    "histogram": one(f'measure = "histogram"\n{EDGES}'),
    "quantile": one(f'measure = "quantile"\nq = 0.5\n{EDGES}'),
    "quantile over a window": one(f'measure = "quantile"\nq = 0.9\nover = "9d"\n{EDGES}'),
    "top": one(f'measure = "top"\nk = 1\n{KEYS}'),
    "alert": one('measure = "alert"\nover = "9d"\nthreshold = 12\ntimes = 3'),
    "users": one(f'measure = "count"\n{KEYS}', USER),
    "users of a window": one('measure = "count"', WINDOW),
    "distinct": one('measure = "distinct"', USER),
    "discovered": one('measure = "count"\nby = { region = "discovered" }', USER, epsilon=FOUND),
    "discovered top": one(
        'measure = "top"\nk = 2\nover = "9d"\nby = { region = "discovered" }', USER, epsilon=FOUND
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_of_any_size_publish_the_same(kind: str, tmp_path: Path) -> None:
    whole, spent = released(tmp_path / "all", KINDS[kind], ALL)
    assert whole
    assert spent
    if "discovered" not in kind:
        assert {one.step for one in whole} == set(range(1, STEPS + 1))
    for steps in (1, 7, 2048):
        assert released(tmp_path / str(steps), KINDS[kind], steps) == (whole, spent)


def test_a_run_that_forgets_its_window_between_pieces_is_found(tmp_path: Path) -> None:
    kind = KINDS["count over a window"]
    whole = released(tmp_path / "all", kind, ALL)
    publish = ReleaseRun.publish

    def forgetting(self: ReleaseRun, *given: Any) -> None:
        self.history = np.zeros_like(self.history)
        publish(self, *given)

    with mock.patch.object(ReleaseRun, "publish", forgetting):
        assert released(tmp_path / "forgotten", kind, 7) != whole


def test_what_waits_is_written_a_few_times_however_many_pieces_there_are(tmp_path: Path) -> None:
    """With each piece it would take time in the square of the steps."""
    written = []
    put = Transaction.set_pending

    def noted(self: Transaction, stream: Any, secret: bytes | None) -> None:
        written.append(0 if secret is None else Pending.from_bytes(secret).rows)
        put(self, stream, secret)

    rows = [row(step) for step in range(1, STEPS + 1)]
    with mock.patch.object(Transaction, "set_pending", noted), pieces_of(1):
        World(tmp_path, horizon=STEPS).write(rows).run(STEPS)
    assert len(written) <= 10
    assert all(2 * after < before for before, after in pairwise(written))
    assert written[-1] == 0


class Died(BaseException):
    """As if the process had been killed."""


def after_deaths(folder: Path) -> tuple[list[Any], list[Any]]:
    """The truth, and what is released if each of the first processes dies after another piece."""

    def die(done: int, of: int) -> None:
        if done < of:
            raise Died

    rows = [row(step, amount=step) for step in range(1, STEPS + 1)]
    truth = World(folder / "truth", horizon=STEPS).write(rows)
    truth.run(STEPS)
    world = World(folder / "died", horizon=STEPS).write(rows)
    with pieces_of(9):
        for _ in range(12):
            with pytest.raises(Died):
                world.run(STEPS, progress=die)
        world.run(STEPS)
    return truth.releases(), world.releases()


def test_whoever_resumes_goes_on_after_the_last_piece(tmp_path: Path) -> None:
    truth, found = after_deaths(tmp_path)
    assert found == truth


def test_a_state_that_is_dropped_before_the_last_piece_is_found(tmp_path: Path) -> None:
    put = Transaction.set_pending

    def once(self: Transaction, stream: Any, secret: bytes | None) -> None:
        waiting = self.pending(stream)
        put(self, stream, secret if waiting is None else None)

    with mock.patch.object(Transaction, "set_pending", once):
        truth, found = after_deaths(tmp_path)
    assert found != truth


class Full(Zero):
    """There is no memory for any noise."""

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        raise MemoryError


def test_a_step_that_does_not_fit_into_memory_is_refused(tmp_path: Path) -> None:
    world = World(tmp_path).write([row(1)])
    with pytest.raises(OutOfMemory, match="do not fit into memory") as refused:
        world.run(3, noise=Full())
    assert "4 numbers" in refused.value.why  # two keys, counted and published
    assert "fewer keys" in refused.value.tip
    assert world.run(3).new == 3  # later, with more memory


MANY, MARGIN = 30_000, 32 << 20
PROGRAM = """
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from ameles.engine.engine import Engine
from ameles.plan.plan import read_plan
from ameles.store import open_store
folder, steps = Path(sys.argv[1]), int(sys.argv[2])
plan = read_plan(folder / "ameles.toml")
with open_store(str(folder / "s.db")) as store:
    report = Engine(plan, store).run(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=steps))
assert report.new == steps
status = Path("/proc/self/status").read_text()
print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
"""


def peak(folder: Path, steps: int) -> int:
    """The most resident memory of a process that releases so many steps, in bytes.

    It is that of the program alone: what ``getrusage`` tells begins with the memory of the process
    that has started it.
    """
    world = World(folder, COUNT, horizon=1 << 24).write([row(1)])
    (folder / "ameles.toml").write_text(world.text.replace('"1d"', '"1s"'), encoding="utf-8")
    command = [sys.executable, "-c", PROGRAM, str(folder), str(steps)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout) << 10


def test_ten_times_as_many_steps_need_the_same_memory(tmp_path: Path) -> None:
    """All at once they took 900 MB more; with pieces the difference is a few MB."""
    few, many = (peak(tmp_path / str(steps), steps) for steps in (MANY // 10, MANY))
    assert many - few < MARGIN


@pytest.mark.parametrize("kind", ["count over a window", "users"])
def test_a_follower_that_is_stopped_ends_with_its_piece(kind: str, tmp_path: Path) -> None:
    """What is due stays due, and the next one goes on with the same numbers."""
    whole, _ = released(tmp_path / "whole", KINDS[kind], ALL)
    world = World(tmp_path / "stopped", **KINDS[kind]).write(ROWS)
    noise, came = Sequenced(), list[int]()
    now = int(day(STEPS - 4, 0).timestamp()) * 1_000_000
    with same_salt(), pieces_of(20):
        for _ in range(4):  # the first reads; the others begin with what is left of it
            stop = threading.Event()
            with closing(open_store(str(world.folder / "s.db"))) as store:
                hit = partial(lambda stop, done, of: stop.set(), stop)
                engine = Engine(world.plan, store, noise=noise, progress=hit)
                report = follow(engine, stop, clock=lambda: now)
            came.append(report.released)
            if report.released == STEPS - 5:
                break  # nothing is due that would stop the next one
        for until in (STEPS - 5, STEPS):
            world.run(until, noise=noise, batch=ALL)
    assert came == [20, 40, 60, 80]
    assert [replace(one, entry=0) for one in world.releases()] == whole
