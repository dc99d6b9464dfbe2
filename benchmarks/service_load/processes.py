"""Processes that are measured: the service, and the bare server beside it."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ameles.core.token import new_token, token_digest
from ameles.plan.plan import read_plan
from ameles.store import Store, open_store
from ameles.store.tokens import Scope

HERE = Path(__file__).parent
TICKS = os.sysconf("SC_CLK_TCK")
LIMIT = 60.0  # seconds until a process has begun, or ended


@dataclass(frozen=True)
class Running:
    """A server process and its port."""

    process: subprocess.Popen[bytes]
    port: int

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def worked(self) -> float:
        """Processor seconds that it has used, its own and the system's for it."""
        text = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii")
        fields = text.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def settle(self) -> None:
        """Waits until it does nothing: texts about a new stream are written in the background."""
        worked, until = -1.0, time.monotonic() + LIMIT
        while self.worked() - worked > 0.02 and time.monotonic() < until:
            worked = self.worked()
            time.sleep(0.5)

    def resident(self) -> float:
        """MiB that it has in memory."""
        text = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii")
        return int(text.split()[1]) * resource.getpagesize() / (1 << 20)


@contextmanager
def bare_server() -> Iterator[Running]:
    """The bare server."""
    with subprocess.Popen(
        [sys.executable, HERE / "echo.py"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    ) as process:
        try:
            yield Running(process, int((process.stdout or sys.stdin).readline()))
        finally:
            process.terminate()


@dataclass(frozen=True)
class Served:
    """A service of one plan, and what one needs to use it."""

    running: Running
    store: Store
    name: str
    log: Path
    tokens: dict[str, str]

    @property
    def path(self) -> str:
        """The path of its stream."""
        return f"/v1/streams/{self.name}"

    def token(self, scope: Scope) -> str:
        """A new token of its stream."""
        return new_bearer(self.store, self.name, scope)


def new_bearer(store: Store, stream: str, scope: Scope) -> str:
    """A new token, valid for a day."""
    text, made = new_token(), datetime.now(UTC)
    with store.writing() as transaction:
        transaction.add_token(
            digest=token_digest(text),
            name=text[-20:],
            stream=stream,
            scope=scope,
            created=made,
            expires=made + timedelta(days=1),
        )
    return text


@contextmanager
def service(folder: Path, plan: str) -> Iterator[Served]:
    """``ameles serve`` in a process of its own, over a plan in a folder, and tokens for it."""
    file, log = folder / "plan.toml", folder / "log"
    file.write_text(plan, encoding="utf-8")
    read = read_plan(file)
    url = read.store.url
    with closing(open_store(url if "://" in url else str(folder / url))) as store:
        scopes: tuple[Scope, ...] = ("ingest", "read", "admin")
        tokens: dict[str, str] = {
            scope: new_bearer(store, read.stream.name, scope) for scope in scopes
        }
        words = ["serve", file.name, "--listen", "127.0.0.1:0", "--log", "json", "--yes"]
        with (
            log.open("wb") as written,
            subprocess.Popen(
                [sys.executable, "-m", "ameles", *words],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stderr=written,
            ) as process,
        ):
            try:
                port = int(_logged(process, log, "serving")["address"].rpartition(":")[2])
                _logged(process, log, "following")
                running = Running(process, port)
                yield Served(running, store, read.stream.name, log, tokens)
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(LIMIT)


def _logged(process: subprocess.Popen[bytes], log: Path, event: str) -> dict[str, str]:
    """The first line of a log about an event, once it is there."""
    until = time.monotonic() + LIMIT
    while time.monotonic() < until and process.poll() is None:
        lines = log.read_text(encoding="utf-8").splitlines()
        for line in lines:  # what is said before the launch is for people
            said: dict[str, str] = json.loads(line) if line.startswith("{") else {}
            if said.get("event") == event:
                return said
        time.sleep(0.02)
    raise RuntimeError(log.read_text(encoding="utf-8")[-2000:])
