"""A real Redis for tests, on a port of its own; it ends with the tests, even if they are killed."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import redis

from tests.postgres import end_with_parent

MISSING = "needs redis-server (Debian package redis-server)"
_PATIENCE = 600.0  # seconds after which a server has died, on any machine


class RedisServer:
    """A server that can be killed and started again; it syncs every entry to its file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *options: str) -> None:
        """Starts it and waits until it answers."""
        self._process = subprocess.Popen(
            [
                "redis-server",
                *("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)),
                *("--save", "", "--appendonly", "yes", "--appendfsync", "always", *options),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=end_with_parent,
        )
        deadline = time.monotonic() + _PATIENCE
        while True:
            with suppress(redis.ConnectionError), self.client() as client:
                with suppress(redis.AuthenticationError):
                    client.ping()
                return
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("redis-server does not start")
            time.sleep(0.01)

    def kill(self) -> None:
        """As in a crash."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(_PATIENCE)
            self._process = None

    def url(self, stream: str) -> str:
        """The source of a plan."""
        return f"redis://127.0.0.1:{self.port}/0?stream={stream}"

    def client(self) -> redis.Redis:
        """A client of the writer of events."""
        return redis.Redis(port=self.port)


@contextmanager
def serving(folder: Path) -> Iterator[RedisServer]:
    """A new server."""
    if shutil.which("redis-server") is None:
        raise RuntimeError(MISSING)
    server = RedisServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()
