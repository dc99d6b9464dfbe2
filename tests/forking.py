"""``--forks N``: the tests are collected once, and N forks of that process run them.

Collecting takes many seconds, and so does loading all packages: a fork has both.  A fork takes a
file of tests at a time, so that what the file prepares is prepared once, and the files that take
longest come first, so that all forks end together.  There may be more forks than cores: where the
tests of one wait for a server or a browser, another goes on.

A fork that dies fails the test that it ran, and another one takes the rest of its file.
"""

from __future__ import annotations

import os
import signal
import traceback
import warnings
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import TypeAlias

import pytest
from _pytest import junitxml
from _pytest.capture import CaptureManager
from _pytest.unraisableexception import gc_collect_iterations_key

from tests import quick
from tests.packed_reports import Packed, death, packed, unpacked
from tests.processor_time import ProcessorTime, used

File: TypeAlias = list[int]  # the places of its tests among all that were collected
THREADED = {"polars-0"}  # what hangs in a fork if a test's module has used it when it was loaded
STORES = ("postgres", "sqlite", "")  # the last: tests that are about no store
SLOW_SERVERS = ("kafka", "browser", "spark")  # as in the names of files or folders
SERVERS = "slow servers"  # the files of all of them, as one
CASE = 0.005  # seconds for a case of a function that is not listed


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option."""
    told = "run the tests in this many forks of one process; auto: three for two cores"
    parser.getgroup("ameles").addoption("--forks", metavar="N", help=told)


def pytest_configure(config: pytest.Config) -> None:
    """Forks, if there are to be some."""
    if asked := config.getoption("--forks"):
        count = (os.cpu_count() or 1) * 3 // 2 if asked == "auto" else int(asked)
        forking = Forking(count)
        config.pluginmanager.register(forking, "forking")
        if config.getoption("--measure", default=False):
            config.pluginmanager.register(forking.time, "processor time")
        config.stash[gc_collect_iterations_key] = 1  # of five, of which CPython needs one


def files_of(items: Iterable[pytest.Item], seconds: Mapping[str, float]) -> list[File]:
    """The tests of each file and store, store by store, those first that take longest.

    What is made once for all tests on a store is made again after those on another one.  Files
    whose tests share a server that starts slowly count as one file, server after server: so one
    fork starts each of them, and the others have work for the cores while that one waits.
    """
    items = list(items)
    files: defaultdict[tuple[str, str], File] = defaultdict(list)
    took: defaultdict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for place, item in enumerate(items):
        call = getattr(item, "callspec", None)
        store = call.params.get("kind_of_store", "") if call else ""
        file = store, SERVERS if _server(item) is not None else item.nodeid.partition("::")[0]
        files[file].append(place)
        function = quick.function_of(item.nodeid)
        took[file][function] = seconds.get(function) or took[file].get(function, 0) + CASE
    for (_, name), places in files.items():
        if name == SERVERS:
            places.sort(key=lambda place: _server(items[place]) or 0)
    place_of = {store: place for place, store in enumerate(STORES)}
    order = sorted(files, key=lambda file: (place_of[file[0]], -sum(took[file].values())))
    return [files[file] for file in order]


def _server(item: pytest.Item) -> int | None:
    """The place among the slow servers of the one that a test is about."""
    file = item.nodeid.partition("::")[0]
    return next((place for place, name in enumerate(SLOW_SERVERS) if name in file), None)


@dataclass
class Fork:
    """A process that runs tests, as the one that has forked it sees it."""

    number: int
    process: int
    pipe: Connection
    given: deque[int] = field(default_factory=deque)  # not yet heard of, the running one first


class Forking:
    """Hands files of tests out to forks, and tells their reports as if it had run them itself."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._forks: dict[Connection, Fork] = {}
        self._problems: list[str] = []
        self._made = 0
        self.time = ProcessorTime()

    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Runs all tests, unless collecting has failed or is all that was asked for."""
        if session.testsfailed or session.config.option.collectonly:
            return None
        if used := THREADED & _threads():
            raise pytest.UsageError(f"Threads of {', '.join(used)} run, and would end in a fork.")
        _temporary(session.config).getbasetemp()  # one for all, which is removed at the end
        self._files = deque(files_of(session.items, quick.read()))
        for _ in range(min(self._count, len(self._files))):
            self._fork(session)
        try:
            while self._forks:
                for pipe in wait(list(self._forks)):
                    assert isinstance(pipe, Connection)
                    self._hear(session, self._forks[pipe])
                    _stop_if_told(session)
        finally:
            self._end()
        if self._problems:
            raise pytest.UsageError("A fork failed after its tests:\n" + "\n".join(self._problems))
        return True

    def _fork(self, session: pytest.Session) -> None:
        ours, theirs = Pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the threads of OpenBLAS allow it
            process = os.fork()
        if not process:
            for pipe in [ours, *self._forks]:
                pipe.close()
            run_tests(session, theirs, self._made)
        theirs.close()
        self._forks[ours] = Fork(self._made, process, ours)
        self._made += 1

    def _hear(self, session: pytest.Session, fork: Fork) -> None:
        try:
            kind, told = fork.pipe.recv()
        except (EOFError, ConnectionResetError):
            self._bury(session, fork)
            return
        match kind:
            case "more":
                file = self._files.popleft() if self._files else []
                fork.given.extend(file)
                fork.pipe.send(file)
            case "ran":
                reports, seconds = told
                item = session.items[fork.given.popleft()]
                self.time.add(item.nodeid, seconds)
                _tell(item, reports)
            case "failed":
                self._problems.append(told)

    def _bury(self, session: pytest.Session, fork: Fork) -> None:
        """A fork has ended.  If tests were left, it has died in the first of them."""
        del self._forks[fork.pipe]
        fork.pipe.close()
        _, status = os.waitpid(fork.process, 0)
        if fork.given:
            code = os.waitstatus_to_exitcode(status)
            item = session.items[fork.given.popleft()]
            _tell(item, [death(item, code)])
            self._files.append(list(fork.given))
            self._fork(session)

    def _end(self) -> None:
        """Those that are left end as if somebody had pressed Ctrl-C."""
        for fork in self._forks.values():
            fork.pipe.close()
            os.kill(fork.process, signal.SIGINT)
        for fork in self._forks.values():
            os.waitpid(fork.process, 0)


def _temporary(config: pytest.Config) -> pytest.TempPathFactory:
    factory: pytest.TempPathFactory = vars(config)["_tmp_path_factory"]
    return factory


def _threads() -> set[str]:
    """The names of all threads, also of those that Python knows nothing about."""
    return {one.read_text().strip() for one in Path("/proc/self/task").glob("*/comm")}


def _stop_if_told(session: pytest.Session) -> None:
    """As pytest itself does, after ``-x`` for example."""
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)


def _tell(item: pytest.Item, reports: Sequence[Packed]) -> None:
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for one in reports:
        hook.pytest_runtest_logreport(report=unpacked(item, one))
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


# In a fork -------------------------------------------------------------------------------------


class Sending:
    """Sends the reports of each test to the process that tells them."""

    def __init__(self, config: pytest.Config, pipe: Connection) -> None:
        self._config = config
        self._pipe = pipe
        self._reports: list[Packed] = []
        self._used = used()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(packed(self._config, report))

    def pytest_runtest_logfinish(self) -> None:
        before, self._used = self._used, used()
        self._pipe.send(("ran", (self._reports, self._used - before)))
        self._reports = []


def run_tests(session: pytest.Session, pipe: Connection, number: int) -> None:
    """Runs files of tests until there are no more, and ends the process."""
    config = session.config
    try:
        _begin(config, pipe, number)
        file = _more(pipe)
        while file:
            for place, test in enumerate(file, start=1):
                # What a test leaves to the next is kept, so the next must be known before.
                rest = file[place:] or _more(pipe)
                item, following = session.items[test], session.items[rest[0]] if rest else None
                config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            file = rest
        config._ensure_unconfigure()
    except (KeyboardInterrupt, EOFError, BrokenPipeError):
        session._setupstate.teardown_exact(None)
    except BaseException:
        pipe.send(("failed", traceback.format_exc()))
    finally:
        os._exit(0)


def _more(pipe: Connection) -> File:
    pipe.send(("more", None))
    file: File = pipe.recv()
    return file


def _begin(config: pytest.Config, pipe: Connection, number: int) -> None:
    """A fork has files of its own, and tells nobody but the process that it was forked from."""
    plugins = config.pluginmanager
    for name in TELLING:
        if plugins.has_plugin(name):
            plugins.unregister(name=name)
    junitxml.pytest_unconfigure(config)
    plugins.register(Sending(config, pipe))
    capture = plugins.getplugin("capturemanager")
    assert isinstance(capture, CaptureManager)
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # where it was ignored, too
    factory = _temporary(config)
    folder = factory.getbasetemp() / f"fork{number}"
    folder.mkdir(mode=0o700)
    factory._basetemp = folder


# The plugins that tell people about reports, or write them down.
TELLING = ("forking", "terminalreporter", "measuring", "telling", "processor time")
