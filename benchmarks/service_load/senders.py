"""Senders: wrk, which posts batches as fast as they are answered."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

from service_load.processes import Running

SCRIPT = Path(__file__).parent / "posts.lua"
MISSING = "wrk is not installed (Debian package wrk)."


@dataclass(frozen=True)
class Sent:
    """What became of the batches, and what that took."""

    counted: int
    closed: int  # they named a step that had just closed
    busy: int  # 429
    hasty: int  # 429 without Retry-After
    failed: int  # 5xx
    other: int
    unanswered: int
    seconds: float
    p50: float  # milliseconds
    p99: float
    longest: float
    worked: float  # processor seconds of the server
    memory: list[float]  # MiB of the server, every quarter of a second

    @property
    def answers(self) -> int:
        """All answers."""
        return self.counted + self.closed + self.busy + self.failed + self.other

    @property
    def rate(self) -> float:
        """Counted batches a second."""
        return self.counted / self.seconds

    @property
    def cost(self) -> float:
        """Processor seconds of the server for 1,000 answers."""
        return 1000 * self.worked / max(1, self.answers)


@dataclass(frozen=True)
class Body:
    """A body of 100 events, in a file."""

    kind: str
    file: Path


def send(
    server: Running,
    path: str,
    body: Body,
    *,
    seconds: float,
    connections: int,
    step: int = 1,
    token: str = "",
    pause: int = 0,
) -> Sent:
    """Posts a body over some connections, each as soon as it has its answer and a pause."""
    if shutil.which("wrk") is None:
        raise SystemExit(MISSING)
    arguments = [path, token or "none", body.kind, str(body.file), str(step), str(pause)]
    memory, ended = list[float](), threading.Event()

    def watch() -> None:
        while not ended.wait(0.25):
            memory.append(server.resident())

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    before = server.worked()
    options = ["-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "30s"]
    done = subprocess.run(
        ["wrk", *options, "-s", str(SCRIPT), server.url, "--", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    worked = server.worked() - before
    ended.set()
    watching.join()
    lines = done.stderr.strip().splitlines()
    if done.returncode or not lines:
        raise RuntimeError(done.stdout + done.stderr)
    return Sent(**json.loads(lines[-1]), worked=worked, memory=memory)
