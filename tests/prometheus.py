"""A real Prometheus for tests: a server of its own in a temporary folder, that ends with them."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from tests.postgres import end_with_parent

MISSING = "needs the programs of Prometheus (Debian package prometheus)"
_PATIENCE = 600.0  # seconds after which a server has died, on any machine


def installed() -> bool:
    """Whether its programs are there."""
    return all(shutil.which(name) for name in ("prometheus", "promtool"))


def promtool(*arguments: str, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Runs promtool on a text."""
    return subprocess.run(["promtool", *arguments], input=text, capture_output=True, check=False)


class Prometheus:
    """A server that answers queries and may scrape something."""

    def __init__(self, folder: Path, config: str, lookback: str) -> None:
        self._config = folder / "prometheus.yml"
        self._config.write_text(config, encoding="utf-8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        with (folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={self._config}",
                    f"--storage.tsdb.path={folder / 'data'}",
                    "--storage.tsdb.retention.time=100y",
                    f"--query.lookback-delta={lookback}",
                    f"--web.listen-address={self.address}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=end_with_parent,
            )
        deadline = time.monotonic() + _PATIENCE
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((folder / "log").read_text()[-2000:])
            time.sleep(0.02)

    def _ready(self) -> bool:
        try:
            with urlopen(f"http://{self.address}/-/ready"):
                return True
        except (URLError, ConnectionError):
            return False

    def ask(self, path: str, parameters: Any = ()) -> tuple[int, Any]:
        """The answer to a GET."""
        try:
            with urlopen(f"http://{self.address}/api/v1/{path}?{urlencode(parameters)}") as answer:
                return answer.status, json.load(answer)
        except HTTPError as refused:
            return refused.code, json.load(refused)

    def reconfigure(self, config: str) -> None:
        """Gives it another configuration, which it reads at once."""
        self._config.write_text(config, encoding="utf-8")
        self._process.send_signal(signal.SIGHUP)

    def stop(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.wait(_PATIENCE)


@contextmanager
def prometheus(folder: Path, config: str, *, lookback: str = "5m") -> Iterator[Prometheus]:
    """A server in a folder, which may have a database already."""
    server = Prometheus(folder, config, lookback)
    try:
        yield server
    finally:
        server.stop()
