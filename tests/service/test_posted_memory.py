"""The memory of a real service is searched for posted events, after they were acknowledged."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ameles.cli.overwritten_memory import SETTINGS, overwrite_memory
from ameles.core.token import new_token, token_digest
from ameles.store import open_store
from tests.engine.test_sealed_memory import _memory
from tests.service.ingest.test_routes import PLAN

SMALL, LARGE, ROWS = 10, 2, 100
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc"),
    pytest.mark.sqlite_only("it looks into one process"),
]
# What a careless service does: it keeps small objects in Python's own memory.
CARELESS = "import ameles.cli.serve as s; s.overwrite_memory = lambda: None\n"
PROGRAM = "from ameles.cli import main; main()"


def searched(folder: Path, before: str = "") -> int:
    """How many different posted values the memory of a service has."""
    start = datetime.now(UTC).date()
    text = PLAN.format(name="sealed", start=start, intrusions="every")
    text = text.replace('vault = "memory"', f'vault = "{folder.parent / "keys"}"')
    folder.mkdir()
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    bearer, made = new_token(), datetime.now(UTC)
    with closing(open_store(str(folder / "s.db"))) as store, store.writing() as transaction:
        transaction.add_token(
            digest=token_digest(bearer),
            name="web",
            stream="sealed",
            scope="ingest",
            created=made,
            expires=made + timedelta(days=1),
        )
    words = ["serve", str(folder / "plan.toml"), "--listen", "127.0.0.1:0", "--log", "json"]
    program = ["-m", "ameles"] if not before else ["-c", before + PROGRAM]
    with subprocess.Popen(
        [sys.executable, *program, *words, "--yes"], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            _post_all(_port(process), bearer)
            os.kill(process.pid, signal.SIGSTOP)
            memory = _memory(process.pid)
        finally:
            process.kill()
    return len({m for part in memory for m in re.findall(rb"canary-\d\d-\d\d\d", part)})


def _port(process: subprocess.Popen[str]) -> int:
    """The port of a service, once it follows its stream."""
    assert process.stderr is not None
    port = 0
    for line in process.stderr:
        said = json.loads(line) if line.startswith("{") else {}
        port = int(said.get("address", f":{port}").rpartition(":")[2])
        if said.get("event") == "following":
            break
    return port


def _post_all(port: int, bearer: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    for number in range(SMALL + LARGE):
        rows = ROWS if number < LARGE else 1
        events = [{"region": f"canary-{number:02}-{row:03}", "fever": True} for row in range(rows)]
        headers = {
            "Authorization": f"Bearer {bearer}",
            "Ameles-Batch": str(number),
            "Ameles-Step": "1",
            "Content-Type": "application/json",
        }
        connection.request(
            "POST", "/v1/streams/sealed/events", json.dumps(events).encode(), headers
        )
        response = connection.getresponse()
        assert (response.status, b"counted" in response.read()) == (200, True)
    connection.close()


def test_no_posted_event_stays_in_memory(tmp_path: Path) -> None:
    assert searched(tmp_path / "plan") == 0


def test_a_careless_service_is_found_out(tmp_path: Path) -> None:
    assert searched(tmp_path / "plan", CARELESS) > 0


def test_the_program_begins_again_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["ameles", "serve", "a.toml"])
    begun: list[tuple[object, ...]] = []
    overwrite_memory({"HOME": "here"}, lambda *given: begun.append(given))
    ((program, arguments, environment),) = begun
    assert program == sys.executable
    assert arguments == [sys.executable, "-m", "ameles", "serve", "a.toml"]
    assert environment == {"HOME": "here", **SETTINGS}
    overwrite_memory({"HOME": "here", **SETTINGS}, lambda *given: begun.append(given))
    assert len(begun) == 1
