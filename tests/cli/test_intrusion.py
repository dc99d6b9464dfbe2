"""``ameles intrusion``: announced, remembered, paid in noise and not in privacy; refused where it
would mean nothing.  What a seized state may tell stands in ``ameles plan``."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from ameles.cli.plans import store_path
from ameles.plan.plan import read_plan
from ameles.store import open_store
from tests.cli.conftest import DOOR, Program
from tests.cli.test_run import change


def announce(ameles: Program, *options: str) -> tuple[int, str, str]:
    ended = ameles("intrusion", "announce", "door.toml", *options)
    return ended.code, ended.out, ended.err


@pytest.mark.usefixtures("door")
def test_it_is_announced_and_listed_with_its_cost(ameles: Program) -> None:
    none = ameles("intrusion", "list", "door.toml")
    assert (none.code, none.err) == (0, "No intrusion was announced.\n")
    code, out, err = announce(ameles, "--why", "the laptop was stolen")
    assert code == 0
    assert err == "Noted as intrusion 1; the state has fresh noise.\n"
    words = out.split()
    assert words[0] == "passages:"
    before, after = (float(word.strip(".")) for word in words if word.strip(".").isdigit())
    assert 0 < before < after
    code, out, _ = announce(ameles, "--why", "and came back", "--json")
    assert code == 0
    second = json.loads(out)
    assert second["intrusion"] == 2
    assert second["half_widths"]["passages"][0] == after
    assert second["half_widths"]["passages"][1] >= after  # whole numbers
    listed = json.loads(ameles("intrusion", "list", "door.toml", "--json").out)
    assert [(one["intrusion"], one["why"]) for one in listed] == [
        (1, "the laptop was stolen"),
        (2, "and came back"),
    ]
    assert "the laptop was stolen" in ameles("intrusion", "list", "door.toml").out
    shown = ameles("status", "door.toml").out
    assert "\nintrusions  2 announced\n" in shown
    assert "epsilon 0 left, epsilon 1 spent" in shown, "the loss stays as it was"


@pytest.mark.usefixtures("door")
def test_it_needs_a_reason(ameles: Program) -> None:
    code, out, err = announce(ameles)
    assert (code, out) == (2, "")
    assert "An announcement needs --why." in err
    assert "No intrusion was announced." in ameles("intrusion", "list", "door.toml").err


def test_a_running_stream_is_stopped_first(door: Path, ameles: Program) -> None:
    with closing(open_store(store_path(read_plan(door)))) as store, store.holding("door"):
        code, out, err = announce(ameles, "--why", "seen")
    assert (code, out) == (4, "")
    assert "The stream 'door' is run by another process" in err
    assert "try: stop it with SIGTERM, announce, and start it again" in err
    assert "No intrusion was announced." in ameles("intrusion", "list", "door.toml").err


@pytest.mark.usefixtures("site")
def test_a_secret_state_cannot_be_seen(ameles: Program) -> None:
    ended = ameles("intrusion", "announce", "--why", "seen")
    assert (ended.code, ended.out) == (2, "")
    assert "must stay secret; nothing protects it after it was seen" in ended.err


def test_nothing_is_launched_by_it(door: Path, ameles: Program) -> None:
    change('name = "door"', 'name = "other"', str(door))
    code, _, err = announce(ameles, "--why", "seen")
    assert code == 4
    assert "Stream 'other' was not launched yet." in err
    door.with_name("door.db").unlink()
    code, _, err = announce(ameles, "--why", "seen")
    assert code == 4
    assert "There is no store" in err
    assert not door.with_name("door.db").exists()


@pytest.mark.usefixtures("door")
def test_a_lost_key_is_told(ameles: Program, tmp_path: Path) -> None:
    assert "\nvault       " in ameles("status", "door.toml").out
    (key,) = (tmp_path / "keys").rglob("key")
    key.unlink()
    assert "its key does not exist: the stream cannot go on" in ameles("status", "door.toml").out
    shutil.rmtree(tmp_path / "keys")
    assert "the folder of its key does not exist" in ameles("status", "door.toml").out
    code, _, err = announce(ameles, "--why", "seen")
    assert code == 4
    assert "There is no folder" in err


@pytest.mark.parametrize(
    ("intrusions", "often"),
    [
        ("one", "once, at any moment, whether anybody notices or not"),
        ("announced", "again and again, if each time is announced before the next"),
        ("every", "at every step, whether anybody notices or not"),
    ],
)
def test_a_plan_says_what_may_be_seized(
    tmp_path: Path, ameles: Program, intrusions: str, often: str
) -> None:
    file = tmp_path / "door.toml"
    shutil.copy(DOOR, file)
    change('intrusions = "announced"', f'intrusions = "{intrusions}"', str(file))
    said = ameles("plan", str(file)).out
    assert f"What it keeps may be seized {often}: " in said
    assert "It may reveal that an event arrived, and when.\n" in said


@pytest.mark.usefixtures("site")
def test_a_plan_for_a_secret_state_says_nothing_of_it(ameles: Program) -> None:
    assert "seized" not in ameles("plan").out
