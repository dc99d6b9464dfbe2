"""Prepared queries of followed steps: the same numbers as queries that are planned anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from ameles.connectors.duck import KeptConnection
from ameles.connectors.source import SeekableSource
from ameles.core.release import Release
from ameles.engine.engine import Engine
from ameles.engine.gathering import exact_totals, few_events, gatherer
from ameles.engine.gathering.prepared_queries import MOST, Numbers, run_prepared
from ameles.noise import Zero
from ameles.store import open_store
from tests.engine.worlds import COUNT, World, day, row

DAILY = COUNT.replace('"visits"', '"daily"') + 'over = "step"\nwhere = "age > 20"\n'
ZONE = 'zone = "Europe/Berlin"\n'


def lines_of(step: int) -> list[str]:
    """Lines of all kinds, in another mixture at every step: late, early, odd and broken ones."""
    odd = f"{day(step):%Y%m%dT%H%M%SZ},bob,south,30,1,true"
    quoted = f'"{day(step):%Y-%m-%dT%H:%M:%SZ}","b,b",north,{10 + step},1,false'
    lines = [
        row(step, age=15 + step),
        row(max(1, step - 2), region="south"),
        row(step + 2, region="north"),
        odd,
        quoted,
        "no event",
        row(step, region="elsewhere"),
    ]
    return [
        line for place, line in enumerate(lines) if (step >> place % 3) & 1 or place == step % 7
    ]


def followed(world: World, steps: int = 12) -> Sequence[Release]:
    """What is released if each step has its lines."""
    world.write([])
    with open_store(str(world.folder / "s.db")) as store:
        engine = Engine(world.plan, store, noise=Zero())
        source = engine.source()
        assert isinstance(source, SeekableSource)
        with engine.session() as session:
            for step in range(1, steps + 1):
                world.append(lines_of(step))
                session.take(source.reading(session.position, source.ends()), step)
    return world.releases()


@pytest.mark.parametrize(
    ("stream", "horizon"), [("", 40), ("", None), ('late = "drop"\n', None), (ZONE, None)]
)
def test_prepared_steps_have_the_same_numbers(
    stream: str, horizon: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def counted(duck: duckdb.DuckDBPyConnection, query: str, *numbers: Numbers) -> object:
        ran.append(query)
        return run_prepared(duck, query, *numbers)

    monkeypatch.setattr(exact_totals, "run_prepared", counted)
    monkeypatch.setattr(few_events, "run_prepared", counted)
    releases = COUNT + DAILY
    few = followed(World(tmp_path / "few", releases, horizon=horizon, stream=stream))
    assert len(ran) > 9
    assert len(set(ran)) <= 3, "with quotes, without, and with the usual times alone"
    ran.clear()
    monkeypatch.setattr(gatherer, "FewLines", duckdb.Statement)  # no relation is one
    quick = followed(World(tmp_path / "quick", releases, horizon=horizon, stream=stream))
    assert len(ran) > 9
    assert len(set(ran)) <= 4, "with quotes and without, in the first step and in later ones"
    ran.clear()
    monkeypatch.setattr(gatherer, "SteadyRelation", duckdb.Statement)
    plain = followed(World(tmp_path / "plain", releases, horizon=horizon, stream=stream))
    assert not ran
    assert few == quick == plain
    assert len({release.value for release in quick}) > 5


def test_only_some_queries_stay_prepared() -> None:
    duck = duckdb.connect().cursor()
    for turn in range(3 * MOST):
        numbers = Numbers()
        query = f"SELECT {turn} AS turn, {numbers.add(turn)} + {numbers.add(2**40)} AS n"
        found = run_prepared(duck, query, numbers).fetchnumpy()
        assert (found["turn"].tolist(), found["n"].tolist()) == ([turn], [turn + 2**40])
    ((kept,),) = duck.execute("SELECT count(*) FROM duckdb_prepared_statements()").fetchall()
    assert kept == MOST
    assert run_prepared(duck, "SELECT 7 AS n", Numbers()).fetchall() == [(7,)]
    assert run_prepared(duck, "SELECT 8 AS n").fetchall() == [(8,)]


def test_a_stream_that_may_be_seized_keeps_no_plans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kept(*_: object) -> None:
        raise AssertionError("the plan of a query keeps exact sums")

    monkeypatch.setattr(exact_totals, "run_prepared", kept)
    monkeypatch.setattr(few_events, "run_prepared", kept)
    world = World(tmp_path, horizon=4)
    with pytest.raises(AssertionError, match="exact sums"):
        followed(world, 2)  # a stream whose state is secret does
    sealed = gatherer.DuckGatherer(world.plan, KeptConnection(zone="UTC", memory=1 << 28))
    assert not sealed.prepares
