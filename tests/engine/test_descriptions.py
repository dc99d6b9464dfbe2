"""Texts for readers: those of ``ameles plan`` and ``ameles explain``, stored once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ameles.engine.engine import Engine
from ameles.engine.running import descriptions
from ameles.engine.running.descriptions import Descriptions
from ameles.plan.forecast import forecasts, in_words
from ameles.plan.plan import Plan
from ameles.store import Store, open_store
from tests.engine.worlds import COUNT, World, day, row

BOTH = f"""{COUNT}
[[release]]
name = "outbreak"
measure = "alert"
over = "2d"
threshold = 10
times = 1
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, BOTH, horizon=8).write([row(1)])


@pytest.fixture
def store(world: World) -> Iterator[Store]:
    with closing(open_store(str(world.folder / "s.db"))) as opened:
        Engine(world.plan, opened).run(day(6, 0))
        yield opened


def texts(store: Store) -> dict[str, Any]:
    with store.reading() as transaction:
        stream = transaction.stream("s")
        assert stream is not None
        return {topic: json.loads(t) for topic, t in transaction.descriptions(stream).items()}


def written(plan: Plan, store: Store) -> dict[str, Any]:
    one = Descriptions(plan, store)
    one.begin()
    one.catch_up()
    return texts(store)


def test_the_plan_is_described_as_the_command_says_it(world: World, store: Store) -> None:
    told = written(world.plan, store)["plan"]
    assert told["words"] == in_words(world.plan)
    expected = forecasts(world.plan)
    assert [one["name"] for one in told["releases"]] == [one.release for one in expected]
    assert [tuple(one["half_widths"]) for one in told["releases"]] == [
        one.half_widths for one in expected
    ]
    assert told["guarantee"] == "epsilon 1 for one event"
    beliefs = told["posterior"]
    assert (beliefs[0], beliefs[100]) == (0, 1)
    assert beliefs[50] == pytest.approx(0.7310586)


def test_the_noise_of_every_step_is_described(world: World, store: Store) -> None:
    told, plan = written(world.plan, store), world.plan
    measure = plan.releases[0]
    part = told["noise/visits/0"]
    said = [part["texts"][place] for place in part["of"]]
    recipe, terms = plan.recipes["visits"], plan.terms(measure)
    assert said == [measure.noise_in_words(recipe, terms, step) for step in range(1, 9)]
    assert told["release/visits"]["by_step"] is True
    assert told["release/outbreak"]["by_step"] is False
    assert not any(topic.startswith("noise/outbreak") for topic in told)


def test_parts_are_written_when_the_stream_reaches_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(descriptions, "PART", 3)
    world = World(tmp_path, COUNT, horizon=None).write([row(1)])
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        Engine(world.plan, store).run(day(3, 0))
        one = Descriptions(world.plan, store)
        one.begin()
        one.catch_up()
        assert [len(texts(store)[f"noise/visits/{n}"]["of"]) for n in (0,)] == [3]
        assert "noise/visits/1" not in texts(store)
        Engine(world.plan, store).run(day(9, 0))
        one.catch_up(lambda: True)
        assert "noise/visits/2" not in texts(store), "it was told to stop"
        one.catch_up()
        assert {"noise/visits/1", "noise/visits/2"} <= set(texts(store))


def test_a_restart_changes_the_words_of_later_steps_alone(world: World, store: Store) -> None:
    before = written(world.plan, store)
    with store.writing() as transaction:
        stream = transaction.stream("s")
        assert stream is not None
        transaction.add_epoch(
            replace(stream, released=4), at=datetime.now(UTC), why="the power failed", base=b""
        )
    after = written(world.plan, store)
    old, new = (
        [told["noise/visits/0"]["texts"][place] for place in told["noise/visits/0"]["of"]]
        for told in (before, after)
    )
    assert old[:4] == new[:4]
    assert old[4] != new[4]
    ((step, words),) = after["release/visits"]["restarts"]
    assert step == 4
    assert "the power failed" in words


def test_what_is_known_is_not_written_again(
    world: World, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = written(world.plan, store)
    monkeypatch.setattr(store, "writing", lambda: pytest.fail("nothing has changed"))
    assert written(world.plan, store) == first


def test_after_an_announced_intrusion_no_size_is_claimed(world: World, store: Store) -> None:
    with store.writing() as transaction:
        stream = transaction.stream("s")
        assert stream is not None
        transaction.add_intrusion(stream, at=datetime.now(UTC), why="stolen")
    told = written(world.plan, store)
    assert told["release/visits"]["by_step"] is False


def test_a_stream_that_was_not_launched_has_no_texts(tmp_path: Path) -> None:
    world = World(tmp_path)
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        one = Descriptions(world.plan, store)
        one.begin()
        one.catch_up()
        with store.reading() as transaction:
            assert transaction.stream("s") is None
