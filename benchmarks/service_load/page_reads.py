"""Readers of pages: wrk, which asks again as soon as it has its answer."""

from __future__ import annotations

import json
import subprocess
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from service_load.processes import Running

SCRIPT = Path(__file__).parent / "reads.lua"


@dataclass(frozen=True)
class Read:
    """How many answers there were, and what they took."""

    fresh: int
    unchanged: int
    other: int
    seconds: float
    p50: float  # milliseconds
    p99: float
    worked: float  # processor seconds of the server

    @property
    def rate(self) -> float:
        """Good answers a second."""
        return (self.fresh + self.unchanged) / self.seconds

    @property
    def cost(self) -> float:
        """Processor seconds of the server for 1,000 answers."""
        return 1000 * self.worked / max(1, self.fresh + self.unchanged + self.other)


def read(server: Running, path: str, tokens: Path, seconds: float, *, known: bool) -> Read:
    """Asks for a page over eight connections; with its tag, if the reader has it already."""
    tag = _tag(server, path, tokens.read_text(encoding="utf-8").split()[0]) if known else ""
    before = server.worked()
    options = ["-t1", "-c8", f"-d{max(1, round(seconds))}s", "-s", str(SCRIPT)]
    done = subprocess.run(
        ["wrk", *options, server.url, "--", path, str(tokens), tag],
        capture_output=True,
        text=True,
        check=False,
    )
    worked = server.worked() - before
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return Read(**json.loads(done.stderr.strip().splitlines()[-1]), worked=worked)


def _tag(server: Running, path: str, token: str) -> str:
    with closing(HTTPConnection("127.0.0.1", server.port)) as connection:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        return connection.getresponse().headers["ETag"]
