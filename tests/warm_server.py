"""A server that has loaded Ameles, and forks for each program that tests start.

Loading takes half a second of each process, a fork a few milliseconds.  What it starts is a process
of its own, with its own number, handles, environment and working folder, and can be killed.  See
``warm_processes``, which asks it.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import json
import os
import runpy
import signal
import socket
import sys
import tempfile
import threading
import traceback
from contextlib import redirect_stderr, redirect_stdout
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, TextIO, cast

from tests.spare_databases import SpareDatabases

LOADED = (
    *("ameles.cli.commands", "ameles.cli.run", "ameles.query", "ameles.store"),
    *(f"ameles.connectors.text.{name}" for name in ("csv_lines", "json_lines")),
    "ameles.engine.sealed",
    *("ameles.store.sqlite.store", "ameles.store.postgres.store", "psycopg"),
    *("typer.main", "typer.rich_utils", "rich.progress", "rich.live", "rich.console"),
    *("cryptography.hazmat.primitives.ciphers.aead", "duckdb", "numpy.ma", "zoneinfo", "_strptime"),
)
LOADED_FOR = {"serve": "ameles.service.service"}  # by a word of the command
STAND_IN = "AMELES_TEST_SERVER"  # the variable with which a store in Postgres stands in for a file
PLAN = """
[stream]
name = "warm"
source = "events.csv"
time = "at"
columns = { at = "timestamp", region = "text" }
start = "2026-01-01"
every = "1d"
[privacy]
population = "people"
unit = "event"
epsilon = 1
[[release]]
name = "visits"
measure = "count"
by = { region = ["north", "south"] }
[store]
url = "warm.db"
[[sink]]
csv = "releases.csv"
"""
REHEARSED = (
    *("plan", "run --yes --until 2026-01-03", "run --until 2026-01-04", "releases"),
    *("status", "ledger", "check --secret-to facts"),
)
SPARE = SpareDatabases(2)  # one for conditions, one for the source


def serve(channel: socket.socket) -> None:
    """Until nobody can ask any more."""
    for name in LOADED:
        importlib.import_module(name)
    _rehearse(*REHEARSED)
    _choose()
    SPARE.fill()
    gc.collect()
    gc.freeze()
    while True:
        words, handles, _, _ = socket.recv_fds(channel, 1 << 20, 3)
        if not words:
            return
        asked = json.loads(words)
        _load_for(asked)
        channel.send(str(_start(asked, handles, channel)).encode())
        for handle in handles:
            os.close(handle)


def _load_for(asked: dict[str, Any]) -> None:
    """What a program is about to load, once for all programs of its kind that follow."""
    wanted = [name for word, name in LOADED_FOR.items() if word in asked["arguments"]]
    if STAND_IN in asked["environment"]:
        wanted.append("tests.stand_in")
    for name in wanted:
        if name not in sys.modules:
            importlib.import_module(name)
            gc.freeze()


def _rehearse(*commands: str) -> None:
    """Runs commands once in a new folder, so that what they build at their first run is there."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="ameles-warm-") as name:
        os.chdir(name)
        Path("ameles.toml").write_text(PLAN, encoding="utf-8")
        Path("events.csv").write_text("at,region\n2026-01-01,north\n", encoding="utf-8")
        for command in commands:
            said = io.StringIO()
            sys.argv = ["ameles", *command.split()]
            with redirect_stdout(said), redirect_stderr(said):
                try:
                    importlib.import_module("ameles.cli").main()
                except SystemExit as ended:
                    if ended.code:
                        raise RuntimeError(f"{command} failed: {said.getvalue()}") from None
        os.chdir(here)


def _choose() -> None:
    """Finds the counter of the most frequent plans of tests, whose noise is nearly always zero, so
    that their programs need not."""
    choice = importlib.import_module("ameles.measures.counter_choice")
    choice.chosen(choice.Span(window=None, horizon=None), epsilon=Fraction(1000), width=2)


def _start(asked: dict[str, Any], handles: list[int], channel: socket.socket) -> int:
    """The number of a new process.  Its parent has ended, so it is adopted by whoever asks here."""
    reading, writing = os.pipe()
    between = os.fork()
    if not between:
        process = os.fork()
        if not process:
            os.close(reading)
            os.close(writing)
            channel.close()
            _live(asked, handles)
        os.write(writing, str(process).encode())
        os._exit(0)
    os.waitpid(between, 0)
    os.close(writing)
    number = int(os.read(reading, 20))
    os.close(reading)
    return number


def _live(asked: dict[str, Any], handles: list[int]) -> NoReturn:
    """The program, as Python would start it."""
    code = 70
    try:
        for handle, given in enumerate(handles):
            os.dup2(given, handle)
            os.close(given)
        os.environ.clear()
        os.environ.update(asked["environment"])
        os.chdir(asked["folder"])
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _reopen()
        SPARE.give()
        code = _outcome(asked["arguments"])
    finally:
        os._exit(code)


def _reopen() -> None:
    """The standard streams, on what the handles are now."""
    sys.stdin = _stream(0, "r")
    sys.stdout = _stream(1, "w", buffering=1 if os.isatty(1) else -1)
    sys.stderr = _stream(2, "w", buffering=1, errors="backslashreplace")
    vars(sys).update(__stdin__=sys.stdin, __stdout__=sys.stdout, __stderr__=sys.stderr)


def _stream(handle: int, mode: str, **options: Any) -> TextIO:
    stream: Any = os.fdopen(handle, mode, encoding="utf-8", closefd=False, **options)
    return cast("TextIO", stream)


def _outcome(arguments: list[str]) -> int:
    code = 0
    try:
        _run(*arguments)
    except SystemExit as ended:
        code = _code(ended)
    except KeyboardInterrupt:
        traceback.print_exc()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        traceback.print_exc()
        code = 1
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join()
    vars(atexit)["_run_exitfuncs"]()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _run(kind: str, what: str, *rest: str) -> None:
    for place in os.environ.get("PYTHONPATH", "").split(os.pathsep)[::-1]:
        if place:
            sys.path.insert(1, place)
            if (custom := Path(place, "sitecustomize.py")).is_file():
                runpy.run_path(str(custom))
    if kind == "-m":
        sys.path[0] = os.getcwd()
        sys.argv = [what, *rest]
        runpy.run_module(what, run_name="__main__", alter_sys=True)
        return
    sys.path[0] = ""
    sys.argv = ["", *rest]
    program = os.memfd_create("program")  # a file that is nowhere
    os.write(program, what.encode())
    runpy.run_path(f"/proc/self/fd/{program}", run_name="__main__")


def _code(ended: SystemExit) -> int:
    if ended.code is None or isinstance(ended.code, int):
        return ended.code or 0
    sys.stderr.write(f"{ended.code}\n")
    return 1


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
    os._exit(0)
