"""A server of victims: it loads the program once, and every victim is a fork of it.

Loading takes more than a second, and a fork a few milliseconds.  One JSON object a line comes in
and one goes out: ``start`` answers with the process, ``wait`` with how it ended.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
from functools import wraps
from pathlib import Path
from typing import Any
from unittest import mock

from ameles.engine.distributed.bucket_gatherer import Cluster
from ameles.engine.distributed.tasks_here import TasksHere
from ameles.engine.engine import Engine
from ameles.engine.following import arrivals
from ameles.noise import Zero
from ameles.store import open_store
from tests.faults.broken_engines import BROKEN
from tests.faults.removable_noise import RemovableNoise
from tests.faults.shim import Fault, arm
from tests.faults.warm_start import WarmStart, program

# By name: the program is above this package, which starts it and does not build on it.
PROGRAM = "ameles.cli"
LOADED = (
    *(f"{PROGRAM}{name}" for name in ("", ".commands", ".run")),
    *(f"ameles.connectors.{name}" for name in ("appended_sink", "standard_output")),
    *(f"ameles.connectors.text.{name}" for name in ("csv_lines", "json_lines")),
    *(f"ameles.connectors.parquet.{name}" for name in ("sink", "source")),
    *(f"ameles.{name}" for name in ("store.sqlite", "engine.sealed", "noise.kernels")),
    *("numpy.ma", "pydantic.type_adapter", "typer._adapters", "typer._click.decorators"),
    *("typer.main", "typer.rich_utils", "rich.progress", "rich.live", "rich.console"),
    *("cryptography.hazmat.primitives.ciphers.aead", "zoneinfo", "_strptime", "duckdb"),
)
NOISE = {"removable": RemovableNoise, "zero": Zero}


def serve() -> None:
    """Until there are no more requests."""
    for name in LOADED:
        importlib.import_module(name)
    _build_commands()
    warm = WarmStart(program(PROGRAM))
    for line in sys.stdin:
        request = json.loads(line)
        if "argv" in request:
            warm.prepare(request)
            answer = _start(request, warm)
        else:
            answer = _wait(request)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _build_commands() -> None:
    """The command line is put together once, which takes longer than most runs here."""
    commands = importlib.import_module(f"{PROGRAM}.commands")
    build = importlib.import_module("typer.main").get_command
    vars(commands)["app"] = build(vars(commands)["app"])


def _start(job: dict[str, Any], warm: WarmStart) -> dict[str, Any]:
    process = os.fork()
    if process:
        return {"process": process}
    code = 70
    try:
        warm.give_databases()
        code = _live(job)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    finally:
        os._exit(code)


def _live(job: dict[str, Any]) -> int:
    """The program, as it would be started, with this job's faults."""
    os.setsid()
    for handle, place in enumerate((job["stdin"], job["stdout"], job["stderr"])):
        flags = os.O_RDONLY if handle == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND
        opened = os.open(place, flags, 0o600)
        os.dup2(opened, handle)
        os.close(opened)
    os.chdir(job["folder"])
    sys.argv = ["ameles", *job["argv"]]
    arrivals.PATIENCE = job["patience"]
    arrivals.QUIET = job["quiet"]
    _adapt(job)
    if job["broken"]:
        BROKEN[job["broken"]].break_it()
    fault = Fault(**job["fault"])
    arm(job["root"], fault, job["clock"])
    program(PROGRAM)()
    return 0


def _adapt(job: dict[str, Any]) -> None:
    """The same engine with another noise, smaller batches or tasks here, which no option of the
    program asks for."""
    make = Engine.__init__

    @wraps(make)
    def adapted(self: Engine, *given: Any, **options: Any) -> None:
        if job["noise"] in NOISE:
            options["noise"] = NOISE[job["noise"]]()
        if job["batch"]:
            options["batch"] = job["batch"]
        if job["buckets"]:
            folder = Path("users").absolute()
            options["cluster"] = Cluster(tasks=TasksHere(), folder=folder, buckets=job["buckets"])
        make(self, *given, **options)

    mock.patch.object(Engine, "__init__", adapted).start()
    patient = {**(open_store.__kwdefaults__ or {}), "patience": job["wait"]}
    mock.patch.object(open_store, "__kwdefaults__", patient).start()


def _wait(request: dict[str, Any]) -> dict[str, Any]:
    handle = os.pidfd_open(request["wait"])
    hung = not select.select([handle], [], [], request["seconds"])[0]
    os.close(handle)
    if hung:
        os.kill(request["wait"], signal.SIGKILL)
    _, status = os.waitpid(request["wait"], 0)
    return {"code": None if hung else os.waitstatus_to_exitcode(status)}


if __name__ == "__main__":
    serve()
    os._exit(0)  # without DuckDB's complaints about what the collector no longer looks at
