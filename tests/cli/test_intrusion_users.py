"""``ameles intrusion`` on streams of users: each announcement begins anew and uses up a restart.
The operator is told how many are left, and what was refused changes nothing."""

from __future__ import annotations

import csv
import json
from contextlib import closing
from pathlib import Path

import pytest

from ameles.cli.plans import store_path
from ameles.plan.plan import read_plan
from ameles.store import open_store
from tests.cli.conftest import Ended, Program

PLAN = """
[stream]
name = "card"
source = "-"
format = "jsonl"
columns = {{ card = "text" }}
start = "2026-01-01"
every = "1d"
horizon = 8

[privacy]
population = "holders"
unit = "user"
user = "card"
epsilon = 8
intrusions = "{intrusions}"
restarts = 2

[[release]]
name = "once"
measure = "incidence"
exactly = 1
users = 50
table = 500

[[release]]
name = "odd"
measure = "modular"
modulus = 2
users = 50
table = 500

[store]
url = "card.db"
vault = "{keys}"

[[sink]]
csv = "card.csv"
"""


class Card:
    """A stream of users in this folder, fed and announced through the program."""

    def __init__(self, ameles: Program, nobody: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._ameles, self._nobody, self._monkeypatch = ameles, nobody, monkeypatch

    def run(self, until: str, *options: str) -> Ended:
        with self._nobody.open("wb+") as nobody, self._monkeypatch.context() as patched:
            patched.setattr("ameles.connectors.standard_input.DESCRIPTOR", nobody.fileno())
            return self._ameles("run", "card.toml", "--until", until, *options)

    def announce(self, *options: str) -> Ended:
        return self._ameles("intrusion", "announce", "card.toml", *options)

    def intrusions(self) -> list[str]:
        listed = json.loads(self._ameles("intrusion", "list", "card.toml", "--json").out)
        return [one["why"] for one in listed]

    def labels(self, release: str) -> list[str]:
        with Path("card.csv").open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["release"] == release]
        return [row["label"] for row in rows]


@pytest.fixture
def card(tmp_path: Path, ameles: Program, monkeypatch: pytest.MonkeyPatch) -> Card:
    folder = tmp_path / "card"
    folder.mkdir()
    monkeypatch.chdir(folder)
    text = PLAN.format(intrusions="announced", keys=tmp_path / "keys")
    Path("card.toml").write_text(text, encoding="utf-8")
    launched = Card(ameles, tmp_path / "nothing", monkeypatch)
    assert launched.run("2026-01-03").code == 0
    return launched


def test_users_are_counted_anew_and_restarts_are_used_up(card: Card, ameles: Program) -> None:
    first = card.announce("--why", "the laptop was stolen")
    assert (first.code, first.out) == (0, "")
    assert first.err == (
        "Noted as intrusion 1; users are counted anew from here on.\n1 of 2 restarts are left.\n"
    )
    assert card.run("2026-01-04").code == 0
    second = card.announce("--why", "and came back", "--json")
    assert second.code == 0
    told = json.loads(second.out)
    assert told["intrusion"] == 2
    # fresh tables are as exact as those before
    assert {name: before == after for name, (before, after) in told["half_widths"].items()} == {
        "once": True,
        "odd": True,
    }
    refused = card.announce("--why", "once more")
    assert (refused.code, refused.out) == (2, "")
    assert "its 2 restarts are used up" in refused.err
    assert card.intrusions() == ["the laptop was stolen", "and came back"]
    shown = ameles("status", "card.toml").out
    assert "\nintrusions  2 announced\n" in shown
    assert "\nrestarts    2 of 2 used\n" in shown
    assert "epsilon 0 left, epsilon 8 spent" in shown, "all parts were paid for at launch"
    assert card.run("2026-01-09").code == 0
    assert card.labels("once") == ["", "", *["restarted"] * 6]
    assert card.labels("odd") == [*["waiting"] * 14, "restarted", "restarted"]


def test_the_last_restart_is_said_to_be_the_last(card: Card) -> None:
    assert card.announce("--why", "one").code == 0
    assert "No restart is left" in card.announce("--why", "two").err


def test_a_restart_after_a_loss_counts_as_one(card: Card, tmp_path: Path) -> None:
    (key,) = (tmp_path / "keys").rglob("key")
    key.unlink()
    lost = card.announce("--why", "seen, and then lost")
    assert lost.code == 4
    assert "2 of 2 are left" in lost.err
    assert card.run("2026-01-04", "--restart", "a reboot").code == 0
    assert card.intrusions() == []
    assert "No restart is left" in card.announce("--why", "seen").err


def test_after_the_last_step_it_is_noted_and_nothing_more_is_published(card: Card) -> None:
    assert card.run("2026-01-09").code == 0
    before = Path("card.csv").read_bytes()
    assert card.announce("--why", "seen at the end").code == 0
    assert card.run("2026-02-01").code == 0
    assert Path("card.csv").read_bytes() == before


def test_a_running_stream_is_stopped_first(card: Card) -> None:
    plan = read_plan(Path("card.toml"))
    with closing(open_store(store_path(plan))) as store, store.holding("card"):
        refused = card.announce("--why", "seen")
    assert (refused.code, refused.out) == (4, "")
    assert "stop it with SIGTERM, announce, and start it again" in refused.err
    assert card.intrusions() == []


def test_one_intrusion_is_not_announced(
    tmp_path: Path, ameles: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = PLAN.format(intrusions="one", keys=tmp_path.parent / f"{tmp_path.name}-keys")
    Path("card.toml").write_text(text, encoding="utf-8")
    card = Card(ameles, tmp_path / "nothing", monkeypatch)
    assert card.run("2026-01-02").code == 0
    refused = card.announce("--why", "seen")
    assert (refused.code, refused.out) == (2, "")
    assert "survives one intrusion without an announcement" in refused.err
    assert card.intrusions() == []
