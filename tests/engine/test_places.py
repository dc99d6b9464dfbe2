"""The order of a user's events is by SHA-256; streams launched before keep DuckDB's hash."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from ameles.connectors.duck import connect
from ameles.core.rules import CURRENT, PLACES
from ameles.engine.engine import Engine
from ameles.engine.gathering.event_sql import EventSql
from ameles.engine.gathering.moment import Moment
from ameles.noise import Zero
from ameles.plan.plan import Plan
from ameles.store import open_store
from tests.engine.worlds import COUNT, USER, World, day, row

SALT = bytes(range(32))
EVENTS = [
    ("2026-01-01 10:00:00Z", "ada", "north", 40, 1.5, True),
    ("2026-01-01 10:00:00Z", "ada", "north", 40, 1.5, False),
    ("2026-01-02 23:59:59.5Z", "bob", "", None, None, None),
    ("2026-01-02 23:59:59.5Z", "bob", None, -3, -0.25, None),
]
MICROSECONDS = [1767261600000000, 1767261600000000, 1767398399500000, 1767398399500000]


def places(
    plan: Plan,
    zone: str = "UTC",
    events: Sequence[tuple[Any, ...]] = EVENTS,
    salt: bytes = SALT,
) -> list[int]:
    """The place of each event."""
    kinds = ("TIMESTAMPTZ", "VARCHAR", "VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN")
    names = ("at", "who", "region", "age", "amount", "fever")
    columns = ", ".join(f'"{name}" {kind}' for name, kind in zip(names, kinds, strict=True))
    select = EventSql(plan).select("events", Moment(0, 8, 8), salt)
    found = []
    with closing(connect(zone=zone, memory=256 << 20)) as duck:
        for event in events:
            duck.execute(f"CREATE OR REPLACE TEMP TABLE events ({columns})")
            duck.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", event)
            ((place,),) = duck.execute(f"SELECT place FROM ({select})").fetchall()
            found.append(place)
    return found


def plan(folder: Path) -> Plan:
    return World(folder, COUNT, unit=USER).plan


def test_a_place_is_the_sha_256_of_the_salt_and_all_columns(tmp_path: Path) -> None:
    expected = []
    for (_, *rest), at in zip(EVENTS, MICROSECONDS, strict=True):
        texts = ["" if value is None else str(value) for value in (at, *rest)]
        texts = [text.lower() if text in ("True", "False") else text for text in texts]
        joined = "\x1f".join([SALT.hex(), *texts])
        expected.append(int(hashlib.sha256(joined.encode()).hexdigest()[:16], 16))
    assert places(plan(tmp_path)) == expected
    assert places(plan(tmp_path), zone="Asia/Tokyo") == expected  # whatever clock shows the times
    assert len(set(expected)) == len(EVENTS)


def test_under_earlier_rules_it_is_a_hash_of_duckdb(tmp_path: Path) -> None:
    older = replace(plan(tmp_path), rules=PLACES - 1)
    found = places(older)
    assert not set(found) & set(places(plan(tmp_path)))
    for (at, *rest), place in zip(EVENTS, found, strict=True):
        kinds = "?::TIMESTAMPTZ, ?::VARCHAR, ?::VARCHAR, ?::BIGINT, ?::DOUBLE, ?::BOOLEAN"
        asked = f"SELECT hash('{SALT.hex()}', {kinds})"
        assert duckdb.execute(asked, [at, *rest]).fetchall() == [(place,)]


@pytest.mark.parametrize("rules", [PLACES - 1, CURRENT])
def test_a_stream_keeps_the_order_that_it_was_launched_with(tmp_path: Path, rules: int) -> None:
    """Two deliveries of one step, the second by a program that knows newer rules."""
    releases = "".join(
        f'[[release]]\nname = "a{n}"\nmeasure = "count"\nover = "step"\nwhere = "age = {n}"\n'
        for n in range(12)
    )
    world = World(tmp_path, releases, unit=USER)
    world.write([row(2, age=n, hour=n) for n in range(6)])
    launched = replace(world.plan, rules=rules)
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        Engine(launched, store, noise=Zero()).run(day(2, 0))
        with store.reading() as transaction:
            stream = transaction.stream("s")
        assert stream is not None
        assert stream.rules == rules
    world.append([row(2, age=n, hour=n) for n in range(6, 12)])
    world.run(2)
    kept = {n for n in range(12) if sum(value or 0 for value in world.values(f"a{n}", ""))}
    events = [(day(2, n), "ada", "north", n, 1, True) for n in range(12)]
    order = np.argsort(places(launched, events=events, salt=stream.salt))
    assert kept == set(order[:2].tolist())
