"""Jobs: what other processes give back adds up to what one process counts."""

from __future__ import annotations

import ast
import itertools
import math
import pickle
from collections import Counter
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ameles.connectors.duck import KeptConnection
from ameles.connectors.reading import Reading
from ameles.connectors.source import SeekableSource
from ameles.engine.distributed.bucket_folder import BucketFolder
from ameles.engine.distributed.demanded_versions import OtherVersion, Versions
from ameles.engine.distributed.manifest import BucketFiles, UsersFile
from ameles.engine.distributed.map_job import MapJob, for_tasks
from ameles.engine.distributed.reduce_job import ReduceJob
from ameles.engine.distributed.results import Shard
from ameles.engine.distributed.user_runs import find_users, read_run
from ameles.engine.gathering.contribution_bounds import SeenUsers
from ameles.engine.gathering.gatherer import DuckGatherer
from ameles.engine.gathering.moment import Moment
from ameles.engine.gathering.pending import GathererState
from ameles.plan.plan import Plan
from ameles.plan.source import plan_source
from tests.engine.worlds import COUNT, EVENT, USER, World, row
from tests.warm_processes import run

MEMORY = 256 << 20
SALT = b"a salt"
STEP = COUNT.replace('"visits"', '"daily"') + 'over = "step"\n'
EVER = '[[release]]\nname = "ever"\nmeasure = "distinct"\nwhere = "amount > 3"\n'
SINK = '[[sink]]\ncsv = "out.csv"\n'
BUCKETS = 3
MOMENT = Moment(0, 5, 8)
COUNTED = """
import pickle, sys
job, pieces = pickle.loads(sys.stdin.buffer.read())
for piece in pieces:
    result = job.count([piece])
    for name, some in result.totals.items():
        for step, cell, amounts in zip(some.step, some.cell, some.amounts):
            print((result.pieces, name, int(step), int(cell), *map(int, amounts)))
"""
SPLIT = """
import pickle, sys
job, pieces = pickle.loads(sys.stdin.buffer.read())
for piece in pieces:
    for shard in job.split([piece]):
        print((shard.bucket, shard.piece, shard.rows))
"""
BOUND = """
import pickle, sys
job, shards = pickle.loads(sys.stdin.buffer.read())
for bucket in range(len(job.buckets)):
    result = job.bound(bucket, [shard for shard in shards if shard.bucket == bucket])
    for name, some in result.totals.items():
        for step, cell, amounts in zip(some.step, some.cell, some.amounts):
            print((result.pieces, name, int(step), int(cell), *map(int, amounts)))
"""


def elsewhere(program: str, *given: object) -> list[Any]:
    """What another process makes of a job and its data, a value from each line."""
    ran = run("-c", program, given=pickle.dumps(given))
    assert ran.returncode == 0, ran.stderr
    return [ast.literal_eval(line) for line in ran.stdout.decode().splitlines()]


def summed(lines: list[Any]) -> dict[str, list[tuple[int, ...]]]:
    """The totals of each release, added up."""
    sums: dict[str, Counter[tuple[int, int]]] = {}
    for _, name, step, cell, amount in lines:
        sums.setdefault(name, Counter())[step, cell] += amount
    return {name: sorted((*at, n) for at, n in some.items()) for name, some in sums.items()}


def in_two_files(folder: Path, unit: str) -> tuple[Plan, Reading]:
    world = World(folder, COUNT + STEP + EVER * (unit == USER), unit=unit, rest=SINK)
    rows = [
        row(1 + n % 6, who=f"user-{min(n % 40, n % 11)}", hour=n % 24, amount=n % 7)
        for n in range(120)
    ]
    world.write(rows[:70]).file.rename(folder / "a.csv")
    world.write(rows[70:]).file.rename(folder / "b.csv")
    world.text = world.text.replace("events.csv", "?.csv")
    source = plan_source(world.plan)
    assert isinstance(source, SeekableSource)
    return world.plan, source.reading(None)


def map_job(plan: Plan) -> MapJob:
    return MapJob(
        plan=for_tasks(plan),
        moment=MOMENT,
        buckets=BUCKETS,
        salt=SALT,
        versions=Versions.here(),
        memory=MEMORY,
    )


def reduce_job(plan: Plan, folder: Path) -> ReduceJob:
    return ReduceJob(
        plan=for_tasks(plan),
        moment=MOMENT,
        salt=SALT,
        versions=Versions.here(),
        memory=MEMORY,
        folder=folder,
        generation=1,
        buckets=(BucketFiles(),) * BUCKETS,
    )


def gathered(plan: Plan, reading: Reading) -> dict[str, list[tuple[int, ...]]]:
    """The totals that one process counts."""
    with closing(DuckGatherer(plan, KeptConnection(zone="UTC", memory=MEMORY))) as gatherer:
        totals = gatherer.gather(reading, MOMENT, SALT, GathererState()).totals
    return {
        name: sorted(
            (int(step), int(cell), *map(int, amounts))
            for step, cell, amounts in zip(some.step, some.cell, some.amounts, strict=True)
        )
        for name, some in totals.items()
    }


def test_events_that_other_processes_count_add_up(tmp_path: Path) -> None:
    plan, reading = in_two_files(tmp_path, EVENT)
    made = elsewhere(COUNTED, map_job(plan), list(enumerate(reading.pieces)))
    assert {pieces for pieces, *_ in made} == {(0,), (1,)}
    assert summed(made) == gathered(plan, reading)


def test_users_that_other_processes_split_and_bound_add_up(tmp_path: Path) -> None:
    plan, reading = in_two_files(tmp_path, USER)
    folder = BucketFolder(tmp_path / "state")
    folder.create()
    made = elsewhere(SPLIT, map_job(plan), list(enumerate(reading.pieces)))
    shards = [Shard(*each) for each in made]
    assert [(s.piece, s.bucket) for s in shards] == [(p, b) for p in (0, 1) for b in range(BUCKETS)]
    assert not any(b"user-" in shard.rows for shard in shards)  # no id leaves a task
    bounded = elsewhere(BOUND, reduce_job(plan, folder.path), shards)
    assert {pieces for pieces, *_ in bounded} == {(0, 1)}
    assert summed(bounded) == gathered(plan, reading)


@pytest.mark.parametrize("name", ["DuckDB", "Ameles"])
def test_a_process_with_another_version_is_refused(name: str, tmp_path: Path) -> None:
    plan, reading = in_two_files(tmp_path, EVENT)
    other = {"DuckDB": {"duckdb": "9.9.9"}, "Ameles": {"ameles": "9.9.9"}}[name]
    versions = replace(Versions.here(), **other)
    job = replace(map_job(plan), versions=versions)
    reduce = replace(reduce_job(plan, tmp_path), versions=versions)
    for work in (
        lambda: job.count(enumerate(reading.pieces)),
        lambda: list(job.split(enumerate(reading.pieces))),
        lambda: reduce.bound(0, []),
    ):
        with pytest.raises(OtherVersion, match=f"has {name} .*; .* has 9.9.9"):
            work()


def test_a_job_tells_nothing_about_itself_and_knows_neither_store_nor_sinks(tmp_path: Path) -> None:
    plan, _ = in_two_files(tmp_path, USER)
    job, reduce = map_job(plan), reduce_job(plan, tmp_path)
    assert (repr(job), repr(reduce)) == ("<MapJob>", "<ReduceJob>")
    assert b"s.db" not in pickle.dumps((job, reduce))
    assert b"out.csv" not in pickle.dumps((job, reduce))


def test_runs_are_merged_so_that_few_are_left_and_users_are_rarely_rewritten(
    tmp_path: Path,
) -> None:
    plan, _ = in_two_files(tmp_path, USER)
    folder = BucketFolder(tmp_path / "state")
    folder.create()
    job, rewritten, batches = reduce_job(plan, folder.path), 0, 64
    runs: tuple[UsersFile, ...] = ()
    again = [sha256(b"0 0").digest()[:16]]  # one user comes again each time
    for batch in range(batches):
        users = [sha256(f"{batch} {n}".encode()).digest()[:16] for n in range(20)]
        some = [*again, *users[batch == 0 :]]
        steps = np.full(len(some), batch, dtype=np.int64)
        seen = [SeenUsers(0, some, steps, np.zeros_like(steps))]
        runs = job._remembered(folder, 0, runs, seen)
        rewritten += runs[-1].users
        folder.remove_unnamed(frozenset(run.name for run in runs), 1)
    assert len(runs) <= math.log2(batches) + 1
    assert all(older.users > 2 * newer.users for older, newer in itertools.pairwise(runs))
    assert rewritten <= batches * 21 * 2 * math.log2(batches)
    known = find_users(folder, runs, 0, again)
    assert known.steps.tolist() == [batches - 1]
    everyone = {(r["high"], r["low"]) for run in runs for r in read_run(folder, run)}
    assert len(everyone) == batches * 20
