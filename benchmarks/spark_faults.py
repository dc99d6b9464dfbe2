"""Faults of Spark: kill -9 of driver, Java, executor and worker, tasks run again; 0 violations.

Each round runs a small stream about users on a Spark with real executors, kills one process while
tasks read, and runs again what is left.  The releases must be those of one process without faults,
and only files that the store lists may stay.  ``--kinds`` and ``--rounds`` say how much is done.
The kind "slow" has a task that takes long, so that Spark starts a speculative one beside it.  Spark
does so only on another host; so the workers of a cluster of its own are on 127.0.0.1 and 127.0.0.2,
and Spark's event log says which tasks were speculative.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import resources
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.spark.driver import leftovers, run, world

ROOT = Path(__file__).parents[1]
PATIENCE = 900.0  # seconds for a run on a busy machine
SETTINGS = (
    "spark.driver.memory=512m",
    "spark.executor.memory=512m",
    "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    f"spark.executorEnv.PYTHONPATH={ROOT}",
)
SPECULATE = (
    "spark.speculation=true",
    "spark.speculation.interval=100ms",
    "spark.speculation.multiplier=1.1",
    "spark.speculation.quantile=0.1",
    "spark.speculation.minTaskRuntime=500ms",
)
KINDS = ("none", "worker", "executor", "java", "driver", "commit", "slow")


def processes() -> dict[int, tuple[int, str]]:
    """All processes: their parents, and their commands."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            found[int(entry.name)] = (parent, command)
    return found


def below(root: int) -> Iterator[tuple[int, str]]:
    """The processes that a process has started, and those that these have started."""
    every = processes()
    for number, (parent, command) in every.items():
        above = parent
        while above in every and above != root:
            above = every[above][0]
        if above == root:
            yield number, command


def victim(driver: int, kind: str, folder: Path) -> int | None:
    """The process to kill."""
    if kind == "driver":
        return driver
    if kind == "worker":  # the one that reads now
        marks = sorted(folder.glob("read-*"), key=lambda mark: mark.stat().st_mtime)
        return int(marks[-1].name.split("-")[2]) if marks else None
    wanted = {"executor": "CoarseGrainedExecutorBackend", "java": "SparkSubmit"}[kind]
    return next((number for number, command in below(driver) if wanted in command), None)


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return int(some.getsockname()[1])


@contextmanager
def two_hosts(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """A cluster with a worker on each of two addresses of this machine: its master, and where its
    settings are."""
    home, port = resources.files("pyspark"), free_port()
    master = f"spark://127.0.0.1:{port}"
    defaults = folder / "spark-defaults.conf"
    defaults.touch(0o600)
    secret = f"spark.authenticate.secret {secrets.token_hex(32)}"
    defaults.write_text(f"spark.authenticate true\nspark.network.crypto.enabled true\n{secret}\n")
    where = {"SPARK_CONF_DIR": str(folder), "PYTHONPATH": str(ROOT)}
    small = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1"}
    deploy = "org.apache.spark.deploy"
    programs = [[f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port)]]
    for number in (1, 2):
        host, work = f"127.0.0.{number}", str(folder / f"work-{number}")
        options = ["--host", host, "--cores", "1", "--memory", "600m", "--work-dir", work]
        programs.append([f"{deploy}.worker.Worker", *options, master])
    with ExitStack() as stack, (folder / "cluster-log").open("wb") as log:
        for program in programs:
            command = [str(home / "bin" / "spark-class"), program[0], "--webui-port", "0"]
            process = stack.enter_context(
                subprocess.Popen(
                    [*command, *program[1:]],
                    env={**os.environ, **where, **small},
                    stdout=log,
                    stderr=log,
                )
            )
            stack.callback(process.terminate)
        yield master, where


def speculative(folder: Path) -> int:
    """How many speculative tasks Spark's event log has."""
    events = [
        json.loads(line)
        for log in (folder / "events").rglob("events_*")
        for line in log.read_text().splitlines()
    ]
    ended = (event for event in events if event["Event"] == "SparkListenerTaskStart")
    return sum(event["Task Info"]["Speculative"] for event in ended)


def started(folder: Path, master: str, kind: str, where: dict[str, str]) -> subprocess.Popen[bytes]:
    """A driver."""
    (folder / "events").mkdir(exist_ok=True)
    logged = ("spark.eventLog.enabled=true", f"spark.eventLog.dir=file://{folder}/events")
    plain = ("spark.eventLog.compress=false",)
    settings = (*SETTINGS, *((*SPECULATE, *logged, *plain) if kind == "slow" else ()))
    program = [sys.executable, "-m", "tests.spark.driver", str(folder), master, kind, *settings]
    home = {**os.environ, "SPARK_WORKER_DIR": str(folder / "work"), **where}
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(program, cwd=ROOT, env=home, stdout=log, stderr=log)


def wait(what: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Waits until something is so, or the process has ended."""
    deadline = time.monotonic() + PATIENCE
    while not what() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)


def one(folder: Path, master: str, kind: str) -> list[str]:
    """One round; returns what was violated."""
    if kind != "slow":
        return on(master, {}, folder, kind)
    with two_hosts(folder) as (ours, where):
        return on(ours, where, folder, kind)


def on(master: str, where: dict[str, str], folder: Path, kind: str) -> list[str]:
    """One round on a cluster."""
    calm, tried = folder / "calm", folder / "tried"
    calm.mkdir()
    tried.mkdir()
    run(calm)
    process = started(tried, master, kind, where)
    if kind in ("worker", "executor", "java", "driver"):
        # in the second delivery, so that users were seen before
        wait((tried / "delivered-1").exists, process)
        before = len(list(tried.glob("read-*")))
        wait(lambda: len(list(tried.glob("read-*"))) > before, process)
        hit = victim(process.pid, kind, tried)
        if process.poll() is not None or hit is None:
            return ["nobody could be killed"]
        os.kill(hit, signal.SIGKILL)
    process.wait(PATIENCE)
    survives = kind in ("none", "worker", "executor", "slow")
    wrong = []
    if survives != (process.returncode == 0):
        wrong.append(f"the driver ended with {process.returncode}")
    if not survives:
        later = started(tried, master, "none", where)
        if later.wait(PATIENCE) != 0:
            wrong.append(f"the next driver ended with {later.returncode}")
    attempts = [mark.name.split("-")[1] for mark in tried.glob("read-*")]
    twice = len(attempts) - len(set(attempts))
    if kind != "none" and not twice:
        wrong.append("no task ran again")
    copies = speculative(tried)
    if kind == "slow" and not copies:
        wrong.append("no task was speculative")
    if world(calm).releases() != world(tried).releases():
        wrong.append("other releases")
    if leftovers(tried):
        wrong.append("files of killed tasks stay")
    done = ", ".join(wrong) or "identical releases"
    again = f"{twice} of them again" + (f", {copies} speculative" if copies else "")
    print(f"{kind:9} {len(set(attempts))} tasks, {again}: {done}", flush=True)
    return wrong


def main() -> None:
    """Runs all rounds; the exit code is 1 if anything was violated."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rounds", type=int, default=1)
    asked.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS)
    asked.add_argument("--master", default="local-cluster[2,1,512]")
    given = asked.parse_args()
    violated = 0
    for _ in range(given.rounds):
        for kind in given.kinds:
            with tempfile.TemporaryDirectory() as name:
                violated += bool(one(Path(name), given.master, kind))
    rounds = given.rounds * len(given.kinds)
    print(f"{rounds} rounds, {violated} violations")
    sys.exit(1 if violated else 0)


if __name__ == "__main__":
    main()
