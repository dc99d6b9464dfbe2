"""A folder with a plan whose steps take a second, and a follower of it in a process of its own."""

from __future__ import annotations

import csv
import fcntl
import signal
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.cli.conftest import hearing_interrupts
from tests.warm_processes import start

LIMIT = 600.0  # seconds until a test gives up
PLAN = """
[stream]
name = "s"
source = "{source}"
{time}columns = {{ at = "timestamp", region = "text" }}
start = "{start}"
every = "1s"
{more}
[privacy]
population = "people"
unit = "event"
epsilon = 1000
{privacy}
[[release]]
name = "visits"
measure = "count"
by = {{ region = ["north", "south"] }}
[store]
url = "s.db"
{vault}
[[sink]]
csv = "releases.csv"
"""


def now() -> datetime:
    return datetime.now(UTC)


def row(region: str = "north") -> str:
    """An event of this moment, as a line of CSV."""
    return f"{now():%Y-%m-%dT%H:%M:%S.%fZ},{region}\n"


class Site:
    """A folder with a plan, and a follower of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plan = folder / "ameles.toml"
        self.file = folder / "events.csv"
        self.process: subprocess.Popen[str] | None = None

    def write(
        self,
        source: str = "events.csv",
        *,
        timed: bool = True,
        more: str = "",
        privacy: str = "",
        vault: str = "",
    ) -> None:
        start = f"{now() - timedelta(seconds=1):%Y-%m-%dT%H:%M:%SZ}"
        time_key = 'time = "at"\n' if timed else ""
        text = PLAN.format(
            source=source, time=time_key, start=start, more=more, privacy=privacy, vault=vault
        )
        self.plan.write_text(text, encoding="utf-8")

    def append(self, *rows: str, file: Path | None = None) -> None:
        with (file or self.file).open("a", encoding="utf-8") as opened:
            opened.writelines(rows)

    def follow(self, *options: str) -> None:
        """Follows the stream; the first start says yes to the launch, and no other needs to."""
        yes = ["--yes"] if self.process is None else []
        self.process = start(
            *("-m", "ameles", "run", "--follow", *yes, *options),
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=hearing_interrupts,
        )

    def say(self, *rows: str) -> None:
        """Lines to the follower's standard input, which it has read and put into its queue: it has
        come back for the empty line after them."""
        assert self.process is not None
        assert self.process.stdin is not None
        pipe = self.process.stdin
        for text in ("".join(rows), "\n"):
            pipe.write(text)
            pipe.flush()
            self.wait(lambda: not any(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))))

    def send(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def ended(self) -> tuple[int, str, str]:
        """The exit code and what was said, once the follower has ended."""
        assert self.process is not None
        out, err = self.process.communicate(timeout=LIMIT)
        assert "Traceback" not in err
        return self.process.returncode, out, err

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        self.send(number)
        return self.ended()

    def rows(self) -> list[dict[str, str]]:
        file = self.folder / "releases.csv"
        if not file.exists():
            return []
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        return list(csv.DictReader(line for line in lines if line.endswith("\n")))

    def totals(self, key: str = "north") -> list[int]:
        """The published line of a key; every step is there, once and in order."""
        lines = [line for line in self.rows() if line["key"] == key]
        assert [int(line["step"]) for line in lines] == list(range(1, len(lines) + 1))
        return [int(line["value"]) for line in lines]

    def total(self, key: str = "north") -> int:
        return (self.totals(key) or [0])[-1]

    def wait(self, happened: Callable[[], bool]) -> None:
        since = time.monotonic()
        while not happened():
            assert self.process is not None
            assert self.process.poll() is None, self.ended()
            assert time.monotonic() - since < LIMIT
            time.sleep(0.02)

    def wait_steps(self, count: int) -> None:
        """Until so many further steps are released."""
        before = len(self.totals())
        self.wait(lambda: len(self.totals()) >= before + count)


@contextmanager
def a_site(folder: Path) -> Iterator[Site]:
    site = Site(folder)
    try:
        yield site
    finally:
        if site.process is not None and site.process.poll() is None:
            site.process.kill()
            site.ended()
