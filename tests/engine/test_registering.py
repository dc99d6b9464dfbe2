"""The record of a population for registries: what the launched plans say, nothing secret."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.engine.running.plan_checks import checked_at, mark_checked
from ameles.engine.running.registry_record import deployment, registered
from ameles.store import open_store
from tests.engine.worlds import USER, WINDOW, World, row

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def record(world: World) -> dict[str, Any]:
    with closing(open_store(str(world.folder / "s.db"))) as store, store.reading() as transaction:
        return registered(transaction, "people", implementation="9.9", now=NOW)


def test_a_launched_stream(tmp_path: Path) -> None:
    world = World(tmp_path, unit=USER, stream='late = "drop"\nzone = "Europe/Rome"')
    world.write([row(1, who="canary")]).earnest(3)
    registered = record(world)
    (told,) = registered["deployments"]
    assert (told["name"], told["cadence"], told["horizon"]) == ("s", "1d", 8)
    assert (told["start"], told["end"]) == ("2025-12-31T23:00:00Z", "2026-01-08T23:00:00Z")
    assert told["late_data"] == "drop"
    assert told["intrusions"] == ["none"], "the events themselves lie in a file"
    promised = {entry["guarantee"]["intrusions"] for entry in registered["entries"]}
    assert promised == {"none"}, "its counter could stand them, the stream does not"
    assert registered["implementation"]["version"] == "9.9"
    assert registered["exported"] == "2026-03-01T00:00:00Z"
    assert not registered["implementation"]["noise"].startswith("of a test")
    assert "canary" not in json.dumps(registered)


def test_windows_and_streams_without_end_and_test_noise_are_told(tmp_path: Path) -> None:
    world = World(tmp_path, unit=WINDOW, horizon=None).write([])
    world.run(2)  # without noise
    registered = record(world)
    assert registered["population"]["window"] == "4d"
    assert set(registered["flags"]) >= {"per window", "endless", "not genuine"}
    (told,) = registered["deployments"]
    assert (told["horizon"], told["end"]) == (None, None)


def test_other_populations_streams_are_not_told(tmp_path: Path) -> None:
    first, second = World(tmp_path).write([]), World(tmp_path).write([])
    second.text = second.text.replace('name = "s"', 'name = "t"').replace('"people"', '"others"')
    first.earnest(1)
    second.earnest(1)
    assert [told["name"] for told in record(first)["deployments"]] == ["s"]


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    world = World(tmp_path).write([])
    world.earnest(1)
    with closing(open_store(str(tmp_path / "s.db"))) as store, store.reading() as transaction:
        stream = transaction.stream("s")
        assert stream is not None
        for plan in ("", "{}", '{"stream": {}}', '{"stream": {"every": 1}}', "[]"):
            with pytest.raises(StoreRefused, match="cannot be read"):
                deployment(replace(stream, plan=plan))
        with pytest.raises(StoreRefused, match="no population 'nobody'"):
            registered(transaction, "nobody", implementation="9.9")


def look(world: World, at: datetime) -> None:
    with closing(open_store(str(world.folder / "s.db"))) as store, store.writing() as transaction:
        mark_checked(transaction, world.plan, at)


def test_who_looked_before_the_launch_is_told_with_the_time(tmp_path: Path) -> None:
    world = World(tmp_path).write([])
    now = datetime.now(UTC)
    look(world, now - timedelta(days=2))
    look(world, now - timedelta(days=1))  # the first look stays
    world.earnest(1)
    (told,) = record(world)["deployments"]
    assert told["bounds"] == "after looking"
    assert told["looked"][:10] == f"{now - timedelta(days=2):%Y-%m-%d}"
    assert "looked" in record(world)["flags"]


def test_a_plan_that_was_changed_after_the_look_was_chosen_after_looking_too(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, unit=USER).write([])
    look(world, datetime.now(UTC))
    world.text = world.text.replace("max_steps = 3", "max_steps = 2")
    with closing(open_store(str(tmp_path / "s.db"))) as store, store.reading() as transaction:
        assert checked_at(transaction, world.plan) is None, "this one was not checked"
    world.earnest(1)
    (told,) = record(world)["deployments"]
    assert told["bounds"] == "after looking"


def test_a_look_after_the_launch_or_at_others_changed_nothing(tmp_path: Path) -> None:
    world, others = World(tmp_path).write([]), World(tmp_path).write([])
    others.text = others.text.replace('"people"', '"others"')
    look(others, datetime.now(UTC) - timedelta(days=1))
    world.earnest(1)
    look(world, datetime.now(UTC))
    (told,) = record(world)["deployments"]
    assert (told["bounds"], told["looked"]) == ("declared", None)
    assert "looked" not in record(world)["flags"]
