"""On one tape, tasks and one process publish the same."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ameles.core.exceptions import AmelesError
from ameles.core.release import Release
from ameles.engine.distributed.bucket_gatherer import Cluster
from ameles.engine.distributed.tasks_here import TasksHere
from ameles.engine.engine import Engine, check_cluster
from ameles.measures.catalogue import MEASURES
from ameles.noise import System, Tape
from ameles.plan.plan import Plan, read_plan
from ameles.simulate import season
from ameles.store import open_store
from tests.engine.distributed.clusters import (
    AUTUMN,
    EVENT,
    SPRING,
    STEPS,
    USER,
    WINDOW,
    Site,
    cluster,
    replayed,
    same,
)
from tests.engine.neighbours import Pretender
from tests.test_examples_plans import PLANS, WRITERS, each_plan, plan

SEIZED = {"density", "cropped_mean", "heavy", "incidence", "modular"}  # of states that may be seen


@pytest.mark.parametrize(
    ("unit", "late", "start", "buckets"),
    [
        (EVENT, "next", SPRING, 1),
        (EVENT, "drop", AUTUMN, 1),
        (USER, "next", SPRING, 7),
        (USER, "drop", AUTUMN, 3),
        (WINDOW, "next", AUTUMN, 1),
        (WINDOW, "drop", SPRING, 3),
    ],
)
def test_tasks_publish_what_one_process_does(
    unit: str, late: str, start: str, buckets: int, tmp_path: Path
) -> None:
    """In several deliveries, whatever the order of rows, the files and the number of buckets."""
    one = Site(tmp_path / "one", unit, late, start).run_all()
    folder = tmp_path / "other"
    there = cluster(folder, buckets, TasksHere(at_once=1 + buckets % 2))
    other = Site(folder, unit, late, start, there, replayed(one.tape), swapped=True).run_all()
    same(one, [other])
    assert len(one.releases()) > 6 * 10


def test_a_run_may_go_from_one_window_far_into_the_next(tmp_path: Path) -> None:
    """What users added in the window before is forgotten, also if no run ended with it."""

    def ran(site: Site) -> Site:
        for deliveries, until in ((1, 1), (3, 5), (4, STEPS)):
            for delivery in range(until // 2, deliveries):
                site.deliver(delivery)
            site.run(until)
        return site

    one = ran(Site(tmp_path / "one", WINDOW, "next", SPRING))
    there = cluster(tmp_path / "other", 1)
    same(one, [ran(Site(tmp_path / "other", WINDOW, "next", SPRING, there, replayed(one.tape)))])


@pytest.fixture(scope="module")
def season_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, site = tmp_path_factory.mktemp("season"), season(visitors=300)
    for name, write in WRITERS.items():
        write(folder / name, site)
    return folder


@each_plan
def test_every_example_publishes_the_same(file: Path, season_files: Path, tmp_path: Path) -> None:
    quiet = replace(read_plan(file), sinks=(), base=season_files)
    if any(release.discovered is not None for release in quiet.releases):
        with pytest.raises(AmelesError, match="cannot run on a cluster"):
            check_cluster(quiet)
        return
    tape = Pretender(beyond=System.direct())  # the order of draws is that of real noise
    one = _published(quiet, tmp_path / "one.db", tape)
    again = replayed(tape)
    other = _published(quiet, tmp_path / "other.db", again, cluster(tmp_path, 3))
    assert other == one
    assert again.draws == tape.draws


def _published(quiet: Plan, file: Path, tape: Tape, there: Cluster | None = None) -> list[Release]:
    with closing(open_store(str(file))) as store:
        Engine(quiet, store, noise=tape, cluster=there).run()
        with store.reading() as transaction:
            stream = transaction.stream(quiet.stream.name)
            assert stream is not None
            return list(transaction.releases(stream))


def test_every_measure_is_among_them() -> None:
    asked = {table["measure"] for file in PLANS for table in plan(file)["release"]}
    assert asked == MEASURES.keys() - SEIZED
