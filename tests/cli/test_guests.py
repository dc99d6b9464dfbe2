"""The example for users whose state may be seized, as an operator meets it: planned, followed from
standard input, explained, and in the ledger; with nothing of a guest anywhere."""

from __future__ import annotations

import csv
import json
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.cli.test_run import change
from tests.warm_processes import run

GUESTS = Path(__file__).parents[2] / "examples" / "guests.toml"
CANARY = "cafebabe-canary"


@pytest.fixture
def guests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "guests"
    folder.mkdir()
    monkeypatch.chdir(folder)
    shutil.copy(GUESTS, folder)
    change('vault = "memory"', f'vault = "{tmp_path / "keys"}"', "guests.toml")
    return folder


@pytest.mark.usefixtures("guests")
def test_the_plan_in_words(ameles: Program) -> None:
    ended = ameles("plan", "guests.toml")
    assert ended.code == 0
    for text in (
        "if one user's events within 1d are added or removed, however many",
        "may be seized once",
        "about whether a user came",
        "counted in 20,000 cells",
        "count up to about 60,000 users",
        "came: Renewed, because querying its table afresh at each of 4 steps",
    ):
        assert text in ended.out
    assert (
        "For came, ± is that of a number of users that is small compared with the table."
        in ended.err
    )


def test_it_is_followed_from_standard_input(guests: Path, ameles: Program) -> None:
    now = datetime.now(UTC)
    change('start = "2026-01-01"', f'start = "{now:%Y-%m-%dT%H:%M:%SZ}"', "guests.toml")
    change('every = "6h"', 'every = "1s"\nhorizon = 3', "guests.toml")
    change('window = "1d"  ', 'window = "2s"', "guests.toml")
    lines = "".join(f'{{"ticket": "{CANARY}-{i % 50}"}}\n' for i in range(200))
    ended = run(
        *("-m", "ameles", "run", "guests.toml", "--follow", "--yes"),
        cwd=guests,
        given=lines,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stderr
    assert "That is its last step." in ended.stderr
    with (guests / "guests.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["release"], row["step"]) for row in rows] == [
        ("came", str(step)) for step in (1, 2, 3)
    ]
    assert all(float(row["low"]) < float(row["value"]) < float(row["high"]) for row in rows)
    again = ameles("run", "guests.toml", "--until", f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
    assert again.code == 0
    _explained(ameles)
    written = [f.read_bytes() for f in guests.parent.rglob("*") if f.is_file()]
    assert not any(CANARY.encode() in content for content in written)


def _explained(ameles: Program) -> None:
    told = ameles("explain", "came", "2", "guests.toml")
    assert told.code == 0
    assert "each of 20,000 bits is 1 with probability 1/2" in told.out
    assert "the chance of collisions" in told.out
    assert "epsilon 1 for one user within 2 steps: present or absent" in told.out
    assert "the state may be seized once" in told.out
    listed = ameles("ledger", "guests.toml")
    assert re.search(r"guests/came +Renewed +epsilon 1", listed.out)
    record = json.loads(ameles("ledger", "guests.toml", "--export").out)
    (deployment,) = record["deployments"]
    assert deployment["intrusions"] == ["one"]
    assert "step 3 of 3" in ameles("status", "guests.toml").out
