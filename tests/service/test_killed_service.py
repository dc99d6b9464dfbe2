"""A service is killed again and again under load: every acknowledged event counts exactly once."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ameles.client import Sender
from ameles.core.token import new_token, token_digest
from ameles.engine.following.arrivals import now
from ameles.plan.plan import read_plan
from ameles.store import open_store
from tests.service.ingest.test_routes import PLAN
from tests.warm_processes import start

LIMIT = 600.0
SENDERS, BATCHES, ROWS = 2, 6, 7
pytestmark = pytest.mark.sqlite_only("a process of its own has the store")


class Killed:
    """A service that is started again whenever it was killed, and those who post to it."""

    def __init__(self, folder: Path, intrusions: str) -> None:
        self.folder = folder
        # epsilon is so large that there is no noise
        text = PLAN.format(
            name="s",
            start=datetime.now(UTC).replace(microsecond=0).isoformat(),
            intrusions=intrusions,
        )
        text = text.replace("epsilon = 1", "epsilon = 1000").replace('"7d"', '"1s"')
        text = text.replace('vault = "memory"', f'vault = "{folder.parent / "keys"}"')
        (folder / "plan.toml").write_text(text, encoding="utf-8")
        self.bearer, made = new_token(), datetime.now(UTC)
        with closing(open_store(str(folder / "s.db"))) as store, store.writing() as transaction:
            transaction.add_token(
                digest=token_digest(self.bearer),
                name="web",
                stream="s",
                scope="ingest",
                created=made,
                expires=made + timedelta(days=1),
            )
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.counted = 0  # events that were acknowledged
        self.uncertain = 0
        self.acknowledged = threading.Semaphore(0)
        self._lock = threading.Lock()
        self.process = self.start()

    def start(self) -> subprocess.Popen[str]:
        words = ["serve", "plan.toml", "--listen", f"127.0.0.1:{self.port}", "--log", "json"]
        log = self.folder / "log"
        log.write_text("", encoding="utf-8")
        with log.open("w", encoding="utf-8") as written:
            process = start("-m", "ameles", *words, "--yes", cwd=self.folder, stderr=written)
        while '"following"' not in log.read_text(encoding="utf-8"):
            assert process.poll() is None, log.read_text(encoding="utf-8")
            threading.Event().wait(0.01)
        return process

    def end(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(LIMIT)

    def send(self) -> None:
        url = f"http://127.0.0.1:{self.port}"
        with Sender(url, stream="s", token=self.bearer, every=3600, patience=LIMIT) as sender:
            for _ in range(BATCHES):
                for _ in range(ROWS):
                    sender.send({"region": "north", "fever": True})
                before = sender.uncertain
                sender.flush()
                with self._lock:
                    self.uncertain += sender.uncertain - before
                    self.counted += ROWS - (sender.uncertain - before)
                self.acknowledged.release()

    def total(self) -> float:
        """The last released number, after everything that was acknowledged is released."""
        # releases may be late on a busy machine: the clock says in which steps the batches came
        came = read_plan(self.folder / "plan.toml").clock.ended(now()) + 1
        with closing(open_store(str(self.folder / "s.db"), create=False)) as store:
            while True:
                with store.reading() as transaction:
                    stream = transaction.stream("s")
                assert stream is not None
                if stream.released >= came:
                    break
                threading.Event().wait(0.05)
            with store.reading() as transaction:
                last = list(transaction.releases(stream, first=stream.released))[-1]
        assert last.value is not None
        return last.value


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(tmp_path: Path, number: signal.Signals) -> None:
    folder = tmp_path / "plan"
    folder.mkdir()
    served = Killed(folder, "none")
    os.kill(served.process.pid, number)
    assert served.process.wait(LIMIT) == 0
    assert '"stopped"' in (folder / "log").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("intrusions", "after_batches"), [("none", (3, 8)), ("every", (4,))], ids=["stored", "sealed"]
)
def test_every_acknowledged_event_counts_once(
    tmp_path: Path, intrusions: str, after_batches: tuple[int, ...]
) -> None:
    folder = tmp_path / "plan"
    folder.mkdir()
    killed = Killed(folder, intrusions)
    senders = [threading.Thread(target=killed.send, daemon=True) for _ in range(SENDERS)]
    for sender in senders:
        sender.start()
    done = 0
    for after in after_batches:
        while done < after:
            assert killed.acknowledged.acquire(timeout=LIMIT)
            done += 1
        killed.end()
        killed.process = killed.start()
    for sender in senders:
        sender.join(LIMIT)
    total = killed.total()
    killed.end()
    assert killed.counted + killed.uncertain == SENDERS * BATCHES * ROWS
    assert killed.counted <= total <= killed.counted + killed.uncertain
    assert killed.counted
