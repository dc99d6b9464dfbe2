"""``ameles backup`` and ``ameles restore``: whole, secret, and never so that a step is published
again."""

from __future__ import annotations

import json
import os
import shutil
import stat
from contextlib import closing
from pathlib import Path

import pytest

from ameles.engine.sealed.vault import record
from ameles.store import open_store
from tests.cli.conftest import Program
from tests.cli.test_run import change, published
from tests.store.backup.test_backup import contents


def everything(file: str = "flu.db") -> dict[str, list[tuple[object, ...]]]:
    with closing(open_store(file, create=False)) as store:
        return contents(store)


def test_a_lost_store_is_put_back_and_goes_on(fresh: Path, ameles: Program) -> None:
    assert ameles("run", "--until", "2025-10-04").code == 0
    made = ameles("backup", "flu.backup")
    assert (made.code, made.out) == (0, "flu: step 3\n")
    assert made.err == "Wrote 'flu.backup' and checked it. It is as secret as the store.\n"
    assert stat.S_IMODE(Path("flu.backup").stat().st_mode) == 0o600
    before = everything()
    Path("flu.db").unlink()
    asked = ameles("restore", "flu.backup", "--dry-run")
    assert (asked.code, asked.out) == (0, "flu: step 3\n")
    assert "can be restored to 'flu.db'" in asked.err
    assert not Path("flu.db").exists()
    done = json.loads(ameles("restore", "flu.backup", "--json").out)
    assert done["restored"] is True
    assert (done["streams"], done["not_compared"]) == ([{"stream": "flu", "released": 3}], [])
    assert everything() == before
    assert ameles("run", "--until", "2025-10-06").code == 0
    assert {row["step"] for row in published()} == {"1", "2", "3", "4", "5"}
    left = {"flu.db-flu.lock", "flu.backup", "releases.csv.ameles"}
    assert set(os.listdir(fresh)) == {"visits.csv", "ameles.toml", "flu.db", "releases.csv"} | left


@pytest.mark.usefixtures("fresh")
def test_a_backup_behind_its_sinks_is_refused_before_it_starts(ameles: Program) -> None:
    assert ameles("run", "--until", "2025-10-03").code == 0
    assert ameles("backup", "old").code == 0
    assert ameles("run", "--until", "2025-10-04").code == 0
    before = everything()
    refused = ameles("restore", "old")
    assert refused.code == 4
    assert "The sink csv:releases.csv has step 3; the store has released 2." in refused.err
    assert everything() == before
    Path("flu.db").unlink()
    assert ameles("restore", "old").code == 4
    assert not Path("flu.db").exists()
    # A sink that is no longer in the plan counts, and a removed sink by its note.
    change("[[sink]]\n", "[[sink]]\njsonl = 'other.jsonl'\n[[sink]]\n")
    change('csv = "releases.csv"', 'stdout = "csv"')
    Path("releases.csv").unlink()
    assert ameles("restore", "old").code == 4


@pytest.mark.usefixtures("fresh")
def test_a_backup_behind_the_store_that_it_would_replace_is_refused(ameles: Program) -> None:
    change('[[sink]]\ncsv = "releases.csv"', "")
    assert ameles("run", "--until", "2025-10-03").code == 0
    assert ameles("backup", "old").code == 0
    assert ameles("run", "--until", "2025-10-04").code == 0
    refused = ameles("restore", "old")
    assert refused.code == 4
    assert "The store 'flu.db' has streams or releases that the backup does not have." in (
        refused.err
    )


@pytest.mark.usefixtures("site")
def test_sinks_that_are_not_there_are_named(ameles: Program) -> None:
    assert ameles("backup", "b").code == 0
    Path("releases.csv").unlink()
    Path("releases.csv.ameles").unlink()
    done = ameles("restore", "b")
    assert done.code == 0
    assert "Not compared with what was published: stream 'flu': the sink csv:releases.csv" in (
        done.err
    )
    assert ameles("run").code == 4  # and nothing is published either


@pytest.mark.usefixtures("site")
def test_plans_of_the_store_and_of_no_other(ameles: Program) -> None:
    assert ameles("backup", "b").code == 0
    shutil.copy("ameles.toml", "other.toml")
    change('name = "flu"', 'name = "cold"', "other.toml")
    refused = ameles("restore", "b", "ameles.toml", "other.toml")
    assert (refused.code, "has no stream 'cold'" in refused.err) == (4, True)
    change('url = "flu.db"', 'url = "cold.db"', "other.toml")
    refused = ameles("restore", "b", "ameles.toml", "other.toml")
    assert (refused.code, "different stores" in refused.err) == (2, True)


@pytest.mark.usefixtures("door")
def test_a_backup_has_no_key_and_is_not_behind_its_vault(
    ameles: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ameles("backup", "door.backup", "door.toml").code == 0
    (slot,) = (tmp_path / "keys").glob("*/key")
    key = bytes(record.key_in(bytearray(slot.read_bytes()[: record.SECTOR])))
    assert any(key)
    assert key not in Path("door.backup").read_bytes()
    with open(os.devnull, "rb") as nobody:
        monkeypatch.setattr("ameles.connectors.standard_input.DESCRIPTOR", nobody.fileno())
        assert ameles("run", "door.toml", "--until", "2026-01-03").code == 0
    Path("door.db").unlink()
    for sink in Path().glob("*.csv*"):
        sink.unlink()
    refused = ameles("restore", "door.backup", "door.toml")
    assert refused.code == 4
    assert "The vault of stream 'door' is at step" in refused.err


@pytest.mark.usefixtures("site")
def test_without_a_store_there_is_nothing_to_back_up(ameles: Program) -> None:
    Path("flu.db").unlink()
    refused = ameles("backup", "b")
    assert (refused.code, "There is no store 'flu.db'" in refused.err) == (4, True)
    refused = ameles("restore", "visits.csv")
    assert (refused.code, "is not a whole backup" in refused.err) == (4, True)
    assert not Path("flu.db").exists()
