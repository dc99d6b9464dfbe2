"""Victims: runs of the real program, each in its own process, which tests kill and start again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.faults.shim import Fault, build_shim

TREE = Path(__file__).parents[2]
LIMIT = 600.0  # seconds after which a victim hangs, on any machine


@dataclass(frozen=True, slots=True)
class Job:
    """What a victim does: arguments of ``ameles``, where, and under which circumstances.

    ``noise`` is "system", "removable" or "zero"; ``broken`` the name of a mistake that the engine
    has; ``root`` the folder whose changes count, by default that in which it runs.
    """

    argv: list[str]
    folder: Path
    noise: str = "system"
    broken: str = ""
    batch: int = 0
    buckets: int = 0  # of users, gathered in tasks; 0: in the process itself
    stdin: str = os.devnull
    stdout: str = os.devnull
    clock: str = ""
    root: str = ""
    patience: float = 0.002
    quiet: float = 0.02
    wait: float = 600.0  # seconds for a locked database
    fault: Fault = field(default_factory=Fault)


class Victim:
    """One process."""

    def __init__(self, server: Victims, process: int, words: Path) -> None:
        self.process = process
        self._server = server
        self._words = words
        self._code: int | None = None
        self._over = False

    def send(self, number: int) -> None:
        """A signal; it may have ended by itself, and is then still there to be waited for."""
        os.kill(self.process, number)

    @property
    def alive(self) -> bool:
        """Whether it has not ended; nobody needs to have waited for it."""
        if self._over:
            return False
        status = Path(f"/proc/{self.process}/stat").read_text(encoding="utf-8")
        return status.rpartition(")")[2].split()[0] != "Z"

    def ended(self, seconds: float = LIMIT) -> int | None:
        """Its exit code, or the negative number of the signal that ended it; None: it hung."""
        if not self._over:
            answer = self._server.ask({"wait": self.process, "seconds": seconds})
            self._code, self._over = answer["code"], True
        return self._code

    def kill(self) -> int | None:
        """kill -9, now."""
        if not self._over:
            self.send(signal.SIGKILL)
        return self.ended()

    @property
    def words(self) -> str:
        """What it said on standard error."""
        return self._words.read_text(encoding="utf-8", errors="replace")


class Victims:
    """A server of victims; closed, all of them end."""

    def __init__(self) -> None:
        # The server is a module of this tree, from wherever it is started.
        path = [str(TREE), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(path),
            "LD_PRELOAD": str(build_shim()),
            "OPENBLAS_NUM_THREADS": "1",
            "COLUMNS": "200",
        }
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.victim_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self._scratch = tempfile.TemporaryDirectory(prefix="ameles-victims-")
        self._words = Path(self._scratch.name)
        self._alive: dict[int, Victim] = {}
        self.started = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self, job: Job, fault: Fault | None = None) -> Victim:
        """A victim that does this job, with this fault if there is one."""
        job = job if fault is None else replace(job, fault=fault)
        self.started += 1
        words = self._words / str(self.started)
        words.touch()
        request = asdict(job) | {
            "folder": str(job.folder),
            "root": job.root or str(job.folder),
            "stderr": str(words),
        }
        victim = Victim(self, self.ask(request)["process"], words)
        self._alive[victim.process] = victim
        return victim

    def run(self, job: Job, fault: Fault | None = None) -> Victim:
        """The same, to its end."""
        victim = self.start(job, fault)
        victim.ended()
        return victim

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """One request to the server, and its answer."""
        if self._server.stdin is None or self._server.stdout is None:
            raise RuntimeError("The server has no pipes.")
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        answer: dict[str, Any] = json.loads(self._server.stdout.readline())
        if "wait" in request:
            self._alive.pop(request["wait"], None)
        return answer

    def kill_all(self) -> None:
        """Ends all that is still alive."""
        for victim in list(self._alive.values()):
            victim.kill()

    def close(self) -> None:
        """Ends all that is still alive, and the server."""
        self.kill_all()
        self._server.communicate()
        self._scratch.cleanup()
