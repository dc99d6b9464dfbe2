"""``ameles run --restart``: refused where nothing was lost, counted where something was, and told
by status, ledger and explain."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.cli.test_run import change

DOOR = Path(__file__).parents[2] / "examples" / "door.toml"


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The example that may be seized, with a restart, and its key in a folder instead of in RAM."""
    folder = tmp_path / "door"
    folder.mkdir()
    monkeypatch.chdir(folder)
    shutil.copy(DOOR, folder)
    change('vault = "memory"', f'vault = "{tmp_path / "keys"}"', "door.toml")
    with (folder / "nothing").open("wb+") as nobody:
        monkeypatch.setattr("ameles.connectors.standard_input.DESCRIPTOR", nobody.fileno())
        yield tmp_path


def lose(folder: Path) -> None:
    (key,) = (folder / "keys").rglob("key")
    key.unlink()


def test_a_lost_key_and_one_restart(door: Path, ameles: Program) -> None:
    run = ("run", "door.toml", "--until")
    early = ameles(*run, "2026-01-01T02:00", "--restart", "haste")
    assert (early.code, "nothing to restart" in early.err) == (2, True)
    assert ameles(*run, "2026-01-01T02:00").code == 0
    assert "none of 1 used" in ameles("status", "door.toml").out
    lose(door)
    lost = ameles(*run, "2026-01-01T04:00")
    assert lost.code == 4
    assert "ameles run door.toml --restart 'what happened'; 1 of 1 are left" in lost.err
    silent = ameles(*run, "2026-01-01T04:00", "--restart", " ")
    assert (silent.code, "needs a text that says what happened" in silent.err) == (2, True)
    again = ameles(*run, "2026-01-01T04:00", "--restart", "the power failed")
    assert again.code == 0, again.err
    assert "the stream is at step 4" in again.err
    assert "1 of 1 used" in ameles("status", "door.toml").out
    told = json.loads(ameles("status", "door.toml", "--json").out)
    assert (told["restarts"], told["restarts_reserved"]) == (1, 1)
    explained = ameles("explain", "passages", "4", "door.toml").out
    assert "number 1, after step 2 (the power failed): its noise adds to" in explained
    assert "restart" not in ameles("explain", "passages", "2", "door.toml").out
    lose(door)
    ended = ameles(*run, "2026-01-01T06:00", "--restart", "again")
    assert ended.code == 4
    assert "its one restart is used up" in ended.err


@pytest.mark.usefixtures("door")
def test_the_plan_says_so(ameles: Program) -> None:
    assert "can begin anew once: this costs nothing more" in ameles("plan", "door.toml").out
