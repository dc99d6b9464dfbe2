"""DuckDB is locked down, says so, and keeps its texts to itself."""

from __future__ import annotations

import traceback
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from ameles.connectors import duck as duck_module
from ameles.connectors.duck import KeptConnection, OutOfMemory, check_zone, connect, quiet
from ameles.core.exceptions import AmelesError, PlanError

pytestmark = pytest.mark.usefixtures("new_databases")

CANARY = "canary-4711"
MEMORY = 128 << 20


def test_it_opens_the_files_that_it_is_told_of_and_no_other(tmp_path: Path) -> None:
    allowed, other = tmp_path / "a.parquet", tmp_path / "b.parquet"
    with duckdb.connect() as free:
        for file in (allowed, other):
            free.execute(f"COPY (SELECT 7 AS x) TO '{file}' (FORMAT parquet)")
    with closing(connect(zone="UTC", memory=MEMORY, readable=[str(allowed)])) as duck:
        assert duck.execute(f"SELECT x FROM read_parquet('{allowed}')").fetchall() == [(7,)]
        for query in (
            f"SELECT x FROM read_parquet('{other}')",
            f"SELECT * FROM read_text('{other}')",
            f"COPY (SELECT 1) TO '{tmp_path / 'c.csv'}'",
            f"ATTACH '{tmp_path / 'd.db'}'",
            "INSTALL httpfs",
            "LOAD httpfs",
        ):
            with pytest.raises(duckdb.PermissionException):
                duck.execute(query)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.parquet", "b.parquet"]


@pytest.mark.parametrize("size", [None, 1])
def test_a_kept_connection_opens_the_files_of_its_last_reading_alone(
    size: int | None, tmp_path: Path
) -> None:
    files = [str(tmp_path / f"{name}.parquet") for name in "ab"]
    with duckdb.connect() as free:
        for file in files:
            free.execute(f"COPY (SELECT 7 AS x) TO '{file}' (FORMAT parquet)")
    with closing(KeptConnection(zone="UTC", memory=MEMORY)) as kept:
        for one, other in (files, files[::-1]):
            duck = kept.reading((one,), size)
            assert kept.reading((one,), size) is duck
            assert duck.execute(f"SELECT x FROM read_parquet('{one}')").fetchall() == [(7,)]
            with pytest.raises(duckdb.PermissionException):
                duck.execute(f"SELECT x FROM read_parquet('{other}')")


@pytest.mark.parametrize(
    "setting",
    [
        "temp_directory = '/tmp'",
        "memory_limit = '10GB'",
        "enable_external_access = true",
        "lock_configuration = false",
        "TimeZone = 'Asia/Tokyo'",
        "allowed_paths = ['/etc/passwd']",
    ],
)
def test_nothing_can_be_set_any_more(setting: str) -> None:
    with closing(connect(zone="UTC", memory=MEMORY)) as duck, pytest.raises(duckdb.Error):
        duck.execute(f"SET {setting}")


def test_it_does_not_look_at_python_variables() -> None:
    nearby = {"x": np.arange(3)}
    with closing(connect(zone="UTC", memory=MEMORY)) as duck:
        with pytest.raises(duckdb.CatalogException):
            duck.execute("SELECT sum(x) FROM nearby")
        duck.register("given", nearby)
        assert duck.execute("SELECT sum(x) FROM given").fetchall() == [(3,)]


def test_texts_without_an_offset_are_times_in_the_zone() -> None:
    query = "SELECT epoch(TRY_CAST('2026-07-01' AS TIMESTAMPTZ))"
    with closing(connect(zone="UTC", memory=MEMORY)) as utc:
        (at_utc,) = utc.execute(query).fetchall()[0]
    with closing(connect(zone="Europe/Berlin", memory=MEMORY)) as berlin:
        (at_berlin,) = berlin.execute(query).fetchall()[0]
    assert at_utc - at_berlin == 7200


def test_all_connections_of_the_database_have_its_limits() -> None:
    with closing(connect(zone="Europe/Berlin", memory=MEMORY)) as first, first.cursor() as second:
        names = [*duck_module._limits(()), "lock_configuration", "memory_limit", "TimeZone"]
        assert duck_module._settings(second, names) == duck_module._settings(first, names)
        with pytest.raises(duckdb.PermissionException):
            second.execute("SELECT * FROM read_text('/etc/hostname')")


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(PlanError, match="does not know the time zone 'Mars/Olympus'"):
        connect(zone="Mars/Olympus", memory=MEMORY)
    for _ in range(2):
        with pytest.raises(PlanError, match="does not know the time zone 'Mars/Olympus'"):
            check_zone("Mars/Olympus")
        check_zone("Europe/Berlin")


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("temp_directory", ".tmp"),
        ("enable_external_access", True),
        ("allowed_paths", ["/etc/passwd"]),
        ("memory_limit", "18.8 GiB"),
        ("TimeZone", "Asia/Tokyo"),
        ("lock_configuration", False),
        ("python_enable_replacements", True),
    ],
)
def test_a_setting_that_did_not_hold_is_refused(
    name: str, held: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = duck_module._settings
    monkeypatch.setattr(
        duck_module, "_settings", lambda duck, asked: true(duck, asked) | {name: held}
    )
    with pytest.raises(AmelesError, match=f"did not keep the settings {name}"):
        connect(zone="UTC", memory=MEMORY)


def test_an_error_of_duckdb_loses_its_text() -> None:
    with closing(connect(zone="UTC", memory=MEMORY)) as duck:
        with pytest.raises(duckdb.Error, match=CANARY):
            duck.execute(f"SELECT CAST('{CANARY}' AS INTEGER)").fetchall()
        with pytest.raises(AmelesError) as caught, quiet("adding up"):
            duck.execute(f"SELECT CAST('{CANARY}' AS INTEGER)").fetchall()
    shown = "".join(traceback.format_exception(caught.value, chain=True))
    assert "DuckDB failed while adding up" in shown
    assert CANARY not in str(caught.value) + repr(caught.value) + repr(vars(caught.value))
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert caught.value.exit_code == 1


def test_running_out_of_memory_is_an_error_of_its_own() -> None:
    query = "CREATE TABLE t AS SELECT hash(range)::VARCHAR AS x FROM range(5000000)"
    duck = connect(zone="UTC", memory=32 << 20)
    with closing(duck), pytest.raises(OutOfMemory), quiet("sorting"):
        duck.execute(query).fetchall()


def test_other_errors_pass_through() -> None:
    with pytest.raises(KeyError), quiet("looking"):
        raise KeyError
    with pytest.raises(PlanError), quiet("looking"):
        raise PlanError("A plan.")
