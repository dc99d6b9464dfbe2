"""A server that crashes under a writer: what was told as kept is there, whatever its defaults."""

from __future__ import annotations

import signal
import subprocess

from tests.postgres import Server
from tests.store.places import PostgresPlace
from tests.store.stores import launch, new_store
from tests.store.test_kill import ROOT, WRITE
from tests.warm_processes import start

# The broken version: commits as the careless server has them by default, and nobody asks.
CARELESS = """
from ameles.store.postgres import connection as postgres_wire
postgres_wire.SETTINGS["synchronous_commit"] = "off"
postgres_wire.DEMANDS["synchronous_commit"] = ("off", "")
"""


def steps_lost(server: Server, program: str, wait_for: int) -> int:
    """Crashes the server under a writer; how many steps that were told are not there."""
    place = PostgresPlace(server)
    with new_store(place) as store, store.writing() as transaction:
        launch(transaction, keys=[str(key) for key in range(200)])
    with start(
        *("-c", program, place.url), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        told = [int(process.stdout.readline()) for _ in range(wait_for)]
        server.restart(signal.SIGQUIT)
        told += [int(line) for line in process.stdout]
        assert "error[store]" in process.stderr.read()
    assert process.returncode == 1
    with new_store(place) as store, store.reading() as transaction:
        stream = transaction.stream("flu")
        assert stream is not None
        assert transaction.position(stream) in (str(stream.released), None)
        values = [row[6] for row in transaction.release_rows(stream)]
        assert values == [step for step in range(1, stream.released + 1) for _ in range(200)]
    return max(0, told[-1] - stream.released)


def test_no_step_that_was_told_is_lost_in_a_crash_of_the_server(postgres: Server) -> None:
    for wait_for in (5, 12):
        assert steps_lost(postgres, WRITE, wait_for) == 0


def test_without_synchronous_commits_steps_would_be_lost(postgres: Server) -> None:
    # some 10 steps are lost each time; a crash just after the server's own sync loses none
    assert any(steps_lost(postgres, CARELESS + WRITE, 5 + turn) for turn in range(8))
