"""The server spares its process the search for garbage, and leaves the process as it was."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from ameles.service import server
from tests.service.test_slow_clients import connected, exchanged, rest, status
from tests.service.test_slow_clients import port as port  # a fixture

ROOT = Path(__file__).parents[2]
FILES = 128  # that a process may open

# Serves, and when it is asked to, opens a database and as many files as a stream may need.
SERVING = """
import io, os, sys, threading
from ameles.connectors.duck import connect
from ameles.service import slow_clients
from ameles.service.log import Log
from ameles.service.server import allow_open_files, listening, run_server
from tests.service.test_slow_clients import length
slow_clients.SECONDS_FOR_HEAD = 600
allow_open_files()
connect(zone="UTC", memory=1 << 26).close()
opened, stop = listening("127.0.0.1:0"), threading.Event()
unread = frozenset(sys.argv[1:])
serve = threading.Thread(
    target=lambda: run_server(length, opened, Log(io.StringIO()), stop, unread=unread)
)
serve.start()
print(opened.getsockname()[1], flush=True)
sys.stdin.readline()
connect(zone="UTC", memory=1 << 26).close()
for file in [os.open(os.devnull, os.O_RDONLY) for _ in range(20)]:
    os.close(file)
print("opened", flush=True)
sys.stdin.readline()
stop.set()
serve.join()
"""


class Collector:
    """Stands in for Python's collector, with this many frozen objects; notes what it is told."""

    def __init__(self, frozen: int) -> None:
        self.frozen = frozen
        self.told: list[str] = []

    def get_freeze_count(self) -> int:
        return self.frozen

    def collect(self) -> None:
        self.told.append("collect")

    def freeze(self) -> None:
        self.told.append("freeze")

    def unfreeze(self) -> None:
        self.told.append("unfreeze")

    def set_threshold(self, count: int) -> None:
        self.told.append(f"after {count}")


def test_what_is_loaded_is_frozen_while_it_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is frozen at the end of a process is not freed, and DuckDB reports that."""
    collector = Collector(0)
    monkeypatch.setattr(server, "gc", collector)
    with server.spared_garbage_collection():
        assert collector.told == ["collect", "freeze", f"after {server.GARBAGE}"]
    assert collector.told[3:] == ["unfreeze"]


def test_it_is_also_unfrozen_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    collector = Collector(0)
    monkeypatch.setattr(server, "gc", collector)
    with pytest.raises(KeyError), server.spared_garbage_collection():
        raise KeyError
    assert collector.told[-1] == "unfreeze"


def test_what_a_program_has_frozen_stays_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """To look at all that the tests have loaded takes a second, after each service again."""
    collector = Collector(1)
    monkeypatch.setattr(server, "gc", collector)
    with server.spared_garbage_collection():
        pass
    assert collector.told == []


@pytest.mark.parametrize("unread", [(), ("/sealed",)], ids=["plain", "unread bodies"])
def test_connections_leave_files_for_the_rest_of_the_process(unread: tuple[str, ...]) -> None:
    def few_files() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))

    with (
        subprocess.Popen(
            [sys.executable, "-c", SERVING, *unread],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
            preexec_fn=few_files,
        ) as process,
        ExitStack() as stack,
    ):
        stack.callback(process.kill)
        assert process.stdin is not None
        assert process.stdout is not None
        port = int(process.stdout.readline())
        idle = [stack.enter_context(connected(port)) for _ in range(FILES // 2)]
        for _ in range(FILES):
            with connected(port) as one, suppress(ConnectionError):
                assert status(rest(one)) == 503
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "opened\n", "no file was left"
        for one in idle:
            one.close()
        while True:  # until it has seen that they have gone
            with suppress(ConnectionError, IndexError), connected(port) as new:
                exchanged(new)
                break
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.wait(600) == 0


class TestFewConnections:
    @pytest.fixture(autouse=True)
    def _few(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The server takes five connections, and three of one address."""
        monkeypatch.setattr(server, "connection_limits", lambda unread: (8, 6))

    def test_too_many_of_one_address_are_refused(self, port: int) -> None:
        with ExitStack() as stack:
            some = [stack.enter_context(connected(port)) for _ in range(3)]
            for one in some:
                exchanged(one)
            with connected(port) as fourth, suppress(ConnectionError):
                answer = rest(fourth)
                assert status(answer) == 503
                assert b"retry-after: 1" in answer
            with socket.create_connection(("127.0.0.1", port), 600, ("127.0.0.2", 0)) as other:
                exchanged(other)
            for one in some:
                exchanged(one)
        while True:  # until it has seen that they have gone
            with suppress(ConnectionError, IndexError), connected(port) as new:
                exchanged(new)
                break

    def test_too_many_of_all_are_refused(self, port: int) -> None:
        with ExitStack() as stack:
            for number in range(5):
                source = (f"127.0.0.{2 + number}", 0)
                one = stack.enter_context(
                    socket.create_connection(("127.0.0.1", port), 600, source)
                )
                exchanged(one)
            with connected(port) as sixth, suppress(ConnectionError):
                assert status(rest(sixth)) == 503


@pytest.mark.parametrize("files", [64, 256, 1024, 65536, resource.RLIM_INFINITY])
def test_how_many_connections_fit(monkeypatch: pytest.MonkeyPatch, files: int) -> None:
    """Besides those that are open, three times the backlog: accepted, refused, being closed."""
    monkeypatch.setattr("resource.getrlimit", lambda kind: (files, files))
    have = server.OPEN_FILES if files == resource.RLIM_INFINITY else files
    for unread in (False, True):
        backlog, most = server.connection_limits(unread)
        used = (most + 3 * backlog) * (2 if unread else 1)
        assert 1 <= backlog <= server.BACKLOG
        assert have // 3 <= used <= have - min(512, have // 4)


OPENING = """
import os, resource
from ameles.connectors.duck import connect
from ameles.core.exceptions import AmelesError
connect(zone="UTC", memory=1 << 26).close()
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
try:
    while True:
        os.open(os.devnull, os.O_RDONLY)
except OSError:
    pass
try:
    connect(zone="UTC", memory=1 << 26)
except AmelesError as refused:
    print(refused.why)
"""


def test_without_a_free_file_duckdb_is_not_opened() -> None:
    """It would end the process."""
    ended = subprocess.run(
        [sys.executable, "-c", OPENING], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "this process may open no more files\n")
