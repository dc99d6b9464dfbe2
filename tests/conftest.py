"""A real Postgres for all tests that ask for one, started once; and the engine's tests on both.

Tests in the modules of ``BOTH`` run twice: with stores in files, and with stores in Postgres that
stand in for files (``tests/stand_in.py``), also in the processes that they start.  With
``AMELES_TEST_STORE=postgres`` in the environment, they and the modules of ``AT_LENGTH`` run on
Postgres alone: ``AMELES_TEST_STORE=postgres ./run test tests/engine tests/cli``.  What is about
SQLite's own files is marked with ``sqlite_only`` and its reason.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import (
    collecting,
    forking,
    kafka_server,
    kept_broker,
    kept_connections,
    kept_schemas,
    quick,
    skips,
)
from tests.kafka_server import Cluster
from tests.kept_commands import kept_commands
from tests.kept_databases import kept_databases, new_databases
from tests.postgres import MISSING, Server, programs, serving
from tests.quick import pytest_collection_modifyitems
from tests.stand_in import PLACE, SERVER, StandIn, disconnect
from tests.temporary import prefer_memory, tmp_path

# A busy machine makes single examples slow, and drawing them, too: none is judged by the clock.
settings.register_profile("anywhere", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("anywhere")

# The same without ./run: what tests start would compile every module that it loads.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

prefer_memory()

__all__ = [
    "kept_commands",
    "kept_databases",
    "new_databases",
    "pytest_collection_modifyitems",
    "tmp_path",
]

TESTS = Path(__file__).parent
ASKED = os.environ.get("AMELES_TEST_STORE", "")
BOTH = {
    "engine": ("canary", "engine", "follow", "ledger", "registering", "sealed"),
    "cli": ("follow", "ledger", "run", "status"),
}
AT_LENGTH = {
    "engine": (
        *("coverage", "crash", "gather", "locality", "locality_broken", "restarting"),
        *("sealed_users", "truth", "bounds", "changing_files", "format_locality", "last_line"),
        *("sealed_announced", "sealed_users_loss", "sealed_users_words"),
        *("launch_checks", "launched_files", "new_sources", "owner_check", "owner_check_formats"),
        *("launching", "rotated", "sealed_states", "stream_sinks", "window_phase"),
        *("restarting_crash", "restarting_plans", "sink_fence", "sink_places"),
        *("carriage_returns", "chosen_bounds", "descriptions", "fair", "receiving"),
        *("remote_delivery", "batches_after_failures", "end_of_posted_streams"),
        *("room_for_batches", "discovered_keys", "discovered_streams", "prepared_queries"),
        "pieces",
    ),
    "cli": (
        "bounds",
        "budget",
        "check",
        "compact",
        "explain",
        "grafana",
        "hidden_passwords",
        "hostile_texts",
        "standby",
        "intrusion",
        "intrusion_users",
        "launch_question",
        "plan",
        "preview",
        "releases",
        "serve",
        "serving_page",
        "token",
        "retire",
    ),
}


@pytest.fixture
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """A real broker of Kafka, started once for the files that are about it."""
    if not kafka_server.installed():
        pytest.skip(kafka_server.MISSING)
    return kept_broker.broker(tmp_path_factory.mktemp("kafka"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server of the tests' own; skips where its programs are not installed."""
    if programs() is None:
        pytest.skip(MISSING)
    with serving() as server:
        yield server
        kept_schemas.disconnect()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Our options, beside pytest's own."""
    quick.pytest_addoption(parser)
    forking.pytest_addoption(parser)


def pytest_configure(config: pytest.Config) -> None:
    """What concerns the files of the package, too, is a plugin: this file is about tests alone."""
    config.pluginmanager.register(collecting)
    config.pluginmanager.register(kept_broker)
    quick.pytest_configure(config)
    forking.pytest_configure(config)
    skips.pytest_configure(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Gives both stores to tests that are about them, all those on Postgres after the others."""
    if kinds := kinds_of(metafunc.definition):
        metafunc.parametrize("kind_of_store", kinds, scope="session", indirect=True)


def kinds_of(item: pytest.Item) -> list[str]:
    """The stores that a test runs on; none for a test that has nothing to do with them."""
    if not (kinds := kinds_of_module(item.path)):
        return []
    return ["sqlite"] if item.get_closest_marker("sqlite_only") else kinds


@cache
def kinds_of_module(path: Path) -> list[str]:
    """The stores that the tests of a module run on, unless they are about SQLite alone."""
    module = path.relative_to(TESTS) if path.is_relative_to(TESTS) else Path()
    folder, name = str(module.parent), module.stem.removeprefix("test_")
    always, at_length = name in BOTH.get(folder, ()), name in AT_LENGTH.get(folder, ())
    if not (always or at_length):
        return []
    if ASKED == "postgres":
        return ["postgres"]
    return ["sqlite", "postgres"] if always else ["sqlite"]


@pytest.fixture(scope="session", autouse=True)
def kind_of_store(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where stores are while tests run; no test's own monkeypatch undoes it."""
    kind: str = getattr(request, "param", "sqlite")
    if kind == "sqlite":
        yield kind
        return
    server: Server = request.getfixturevalue("postgres")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(PLACE, StandIn)
        patched.setattr(kept_connections.PLACE, kept_connections.connect)
        patched.setenv(SERVER, server.url())
        patched.setenv("PYTHONPATH", str(TESTS / "subprocesses"), prepend=os.pathsep)
        yield kind
        disconnect()
