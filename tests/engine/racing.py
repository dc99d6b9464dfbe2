"""Several processes that run plans on one store at the same moment."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from contextlib import closing
from multiprocessing import forkserver
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ameles.core.exceptions import AmelesError
from ameles.engine.engine import Engine
from ameles.plan.plan import read_plan
from ameles.store import open_store
from tests.engine.worlds import day
from tests.stand_in import SERVER, install

PATIENCE = 600  # seconds until a process that hangs fails the test


def race(plans: Sequence[Path]) -> list[str]:
    """What came of each plan: "launched", "went on", or the code of a refusal."""
    # A server that has imported everything forks quickly, and has no threads to lose.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.engine.racing"])
    with patch.dict(os.environ):
        os.environ.pop(SERVER, None)  # it goes on for tests with other stores
        forkserver.ensure_running()
    start = context.Barrier(len(plans))
    told: Any = context.SimpleQueue()
    server = os.environ.get(SERVER, "")
    runners = [context.Process(target=_runner, args=(plan, start, told, server)) for plan in plans]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join(PATIENCE)
    assert [runner.exitcode for runner in runners] == [0] * len(plans)
    outcomes = dict(told.get() for _ in runners)
    return [outcomes[runner.pid] for runner in runners]


def _runner(file: Path, start: Any, told: Any, server: str) -> None:
    install(server)
    process = multiprocessing.current_process().pid
    plan = read_plan(file)
    _ = plan.recipes  # what takes time is done before
    start.wait(PATIENCE)
    try:
        with closing(open_store(str(file.parent / plan.store.url), patience=PATIENCE)) as store:
            report = Engine(plan, store).run(day(3, 0))
    except AmelesError as refusal:
        told.put((process, refusal.code))
    else:
        told.put((process, "launched" if report.launched else "went on"))
