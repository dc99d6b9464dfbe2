"""Worlds with sinks of every kind."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

from ameles.engine.engine import Engine
from ameles.engine.running.stream_sinks import SinkState, sink_states
from ameles.store import open_store
from tests.engine.worlds import World, day, row

KINDS = ("csv", "jsonl", "parquet")
ALL = "".join(f'[[sink]]\n{kind} = "out.{kind}"\n' for kind in KINDS)
ROWS = [row(1 + n % 6) for n in range(12)]


def world_in(folder: Path, rest: str = ALL) -> World:
    return World(folder, rest=rest).write(ROWS)


def run(world: World, until: int) -> None:
    with closing(open_store(str(world.folder / "s.db"))) as store:
        Engine(world.plan, store).run(day(until + 1, 1))


def states(world: World) -> dict[str, SinkState]:
    with closing(open_store(str(world.folder / "s.db"))) as store:
        with store.reading() as transaction:
            stream = transaction.stream("s")
        assert stream is not None
        sinks = sink_states(world.plan, store, stream)
    return {state.sink.partition(":")[0]: state for state in sinks}


def remove(world: World, kind: str) -> None:
    path = world.folder / f"out.{kind}"
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
