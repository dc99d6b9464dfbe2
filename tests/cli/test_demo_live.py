"""``ameles demo --serve``: a season that moves on a page, and an orderly end."""

from __future__ import annotations

import csv
import json
import re
import signal
import socket
import subprocess
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import pytest

from ameles.cli import demo_live
from ameles.core.exceptions import AmelesError
from tests.cli.conftest import Program
from tests.warm_processes import start

# A season in about a second, as the command would run it.
PROGRAM = """
import sys
from ameles.cli import demo_live, main
demo_live.SECONDS = 0.005
sys.argv[1:] = ["demo", "season", "--serve", "--events", "1000", "--listen", "127.0.0.1:0"]
main()
"""


def until(said: IO[str], what: str) -> str:
    for line in said:
        if found := re.search(what, line):
            return found[0]
    raise AssertionError(f"it has ended before {what}")


def read(url: str) -> str:
    parts = urlsplit(url)
    with closing(HTTPConnection(parts.netloc)) as connection:
        connection.request("GET", f"{parts.path}?{parts.query}")
        return connection.getresponse().read().decode()


def test_the_season_is_published_live_and_the_page_stays_until_it_is_ended(tmp_path: Path) -> None:
    with start("-c", PROGRAM, cwd=tmp_path, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        page = until(process.stderr, r"http://127\.0\.0\.1:\d+/streams/flu")
        assert "A day of the season takes a second" in process.stderr.readline()
        assert "<html" in read(page)
        until(process.stderr, "day [0-9]+ of 182 is published")
        until(process.stderr, "The season is over: all 182 days are published.")
        service = page.removesuffix("/streams/flu")
        (stream,) = json.loads(read(f"{service}/v1/streams"))["streams"]
        assert (stream["name"], stream["released"], stream["state"]) == ("flu", 182, "ended")
        shown = json.loads(read(f"{service}/v1/streams/flu/releases?first=182"))["releases"]
        process.send_signal(signal.SIGINT)
        assert "Ended on day 182 of 182." in process.stderr.read()
        assert process.wait() == 0
    with (tmp_path / "season" / "releases.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 182 * 7
    last = [row["value"] for row in rows if row["step"] == "182"]
    assert last == ["" if one["value"] is None else str(one["value"]) for one in shown]
    assert len((tmp_path / "season" / "visits.csv").read_text().splitlines()) == 1001


def test_a_port_that_is_taken_is_replaced_unless_it_was_asked_for() -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(AmelesError, match="Nothing can listen"):
            demo_live._listening(address)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(demo_live, "LISTEN", address)
            with demo_live._listening(None) as other:
                assert other.getsockname()[0] == "127.0.0.1"
                assert other.getsockname()[1] != taken.getsockname()[1]


def test_what_cannot_be_served_is_refused_before_a_folder_is_made(
    tmp_path: Path, ameles: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "season"
    ended = ameles("demo", str(folder), "--listen", "127.0.0.1:0")
    assert (ended.code, "--listen goes with --serve" in ended.err) == (2, True)
    monkeypatch.setattr("ameles.cli.serve.version", lambda package: None)
    ended = ameles("demo", str(folder), "--serve")
    assert (ended.code, "[serve]" in ended.err) == (1, True)
    assert not folder.exists()
