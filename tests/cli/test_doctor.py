"""The doctor sees what is healthy, and each of its checks sees what is not."""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pytest
from typer.testing import CliRunner, Result

from ameles.cli import doctor
from ameles.cli.commands import app
from ameles.noise import kernels
from ameles.noise.entropy import Keystream, OperatingSystem
from ameles.store import Transaction


class Stuck:
    """A source whose bytes are always the same."""

    genuine = False
    forgetful = False

    def __init__(self, pattern: bytes) -> None:
        self.pattern = pattern

    def read(self, count: int) -> bytearray:
        return bytearray((self.pattern * (count // len(self.pattern) + 1))[:count])


class TwoValued(OperatingSystem):
    """A source that never repeats itself and still is far from random."""

    def read(self, count: int) -> bytearray:
        return bytearray(byte & 1 for byte in super().read(count))


def ask(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(app, ["doctor", *arguments], env=environment)


def test_a_healthy_machine(tmp_path: Path) -> None:
    ended = ask(str(tmp_path))
    assert ended.exit_code == 0, ended.stdout
    assert ended.stderr == "All is well.\n"
    names = (
        "python",
        "entropy",
        "keystream",
        "folder",
        "duckdb",
        "store",
        "files",
        "kernels",
        "spark",
        "fast",
    )
    for name in names:
        assert name in ended.stdout
    assert not list(tmp_path.iterdir())


def test_json_is_for_programs(tmp_path: Path) -> None:
    ended = ask("--json", str(tmp_path))
    report = json.loads(ended.stdout)
    assert ended.stderr == ""
    assert report["healthy"] is True
    assert [check["name"] for check in report["checks"] if check["essential"]] == [
        *("python", "entropy", "keystream", "folder", "duckdb", "store")
    ]
    extras = {extra["name"]: extra for extra in report["extras"]}
    assert extras["fast"]["install"] == "pip install '.[fast]'"
    assert set(extras["fast"]["packages"]) == {"numba"}


def test_a_folder_that_is_not_there_breaks_it(tmp_path: Path) -> None:
    ended = ask(str(tmp_path / "missing"))
    assert ended.exit_code == 1
    assert ended.stderr == "Broken: folder, store.\n"
    assert "No such file or directory" in ended.stdout.replace("\n", " ").replace("  ", " ")
    assert json.loads(ask("--json", str(tmp_path / "missing")).stdout)["healthy"] is False


@pytest.mark.parametrize("colourless", [True, False])
def test_no_color_is_honoured(tmp_path: Path, colourless: bool) -> None:
    # FORCE_COLOR makes a terminal of the pipe; an empty NO_COLOR counts as not set.
    ended = ask(str(tmp_path), FORCE_COLOR="1", NO_COLOR="1" if colourless else "")
    assert ("\x1b[32m" in ended.stdout) is not colourless


def test_the_kinds_of_broken_entropy() -> None:
    assert doctor.entropy(OperatingSystem())
    with pytest.raises(doctor.MachineProblem, match="twice"):
        doctor.entropy(Stuck(b"\0"))


@pytest.mark.parametrize("source", [Stuck(b"\0"), Stuck(bytes(range(256))), TwoValued()])
def test_the_kinds_of_broken_keystream(source: Stuck | TwoValued) -> None:
    assert doctor.keystream(Keystream())
    with pytest.raises(doctor.MachineProblem, match="repeats"):
        doctor.keystream(source)


def test_an_old_python(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.python()
    monkeypatch.setattr(sys, "version_info", (3, 10, 0))
    with pytest.raises(doctor.MachineProblem, match=r"3\.11 or newer"):
        doctor.python()


def test_a_folder_whose_files_others_can_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = tempfile.mkstemp

    def make_readable(**options: Any) -> tuple[int, str]:
        handle, name = make(**options)
        os.fchmod(handle, 0o644)
        return handle, name

    monkeypatch.setattr(tempfile, "mkstemp", make_readable)
    with pytest.raises(doctor.MachineProblem, match="mode 0644 instead of 0600"):
        doctor.secret_folder(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    checks = {check.name: check for check in doctor.examine(tmp_path)}
    assert not checks["folder"].ok
    assert checks["folder"].detail == "No space left on device"
    assert not checks["store"].ok
    assert "no space left on device" in checks["store"].detail
    assert not list(tmp_path.iterdir())


def test_missing_kernels_are_no_illness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "available", lambda: False)
    checks = {check.name: check for check in doctor.examine(tmp_path)}
    assert not checks["kernels"].ok
    assert not checks["kernels"].essential


def test_few_files_are_told_and_are_no_illness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for hard, ok in ((1024, False), (doctor.MANY_FILES, True), (resource.RLIM_INFINITY, True)):
        monkeypatch.setattr(resource, "getrlimit", lambda kind, hard=hard: (64, hard))
        checks = {check.name: check for check in doctor.examine(tmp_path)}
        assert (checks["files"].ok, checks["files"].essential) == (ok, False)
        assert ok or "1,024 files" in checks["files"].detail


def test_kernels_that_do_not_load_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "available", lambda: True)
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(doctor.MachineProblem, match="does not load"):
        doctor.compiled_kernels()


def test_what_spark_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed: dict[str, str] = {}
    monkeypatch.setattr(doctor, "version", installed.get)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    with pytest.raises(doctor.MachineProblem, match="PySpark is not installed; without Java"):
        doctor.spark_and_java()
    installed["pyspark"] = "4.0"
    with pytest.raises(doctor.MachineProblem, match="needs Java 17 or newer; none found"):
        doctor.spark_and_java()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("")
    (tmp_path / "bin" / "java").chmod(0o700)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert doctor.spark_and_java() == "PySpark 4.0, Java of an unknown version"
    (tmp_path / "release").write_text('IMPLEMENTOR="x"\nJAVA_VERSION="11.0.2"\n')
    with pytest.raises(doctor.MachineProblem, match="needs Java 17 or newer, not 11"):
        doctor.spark_and_java()
    (tmp_path / "release").write_text('JAVA_VERSION="21.0.2"\n')
    assert doctor.spark_and_java() == "PySpark 4.0, Java 21"
    checks = {check.name: check for check in doctor.examine(tmp_path)}
    assert checks["spark"].ok
    assert not checks["spark"].essential


def test_an_old_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "locked" in doctor.locked_duckdb()
    monkeypatch.setattr(duckdb, "__version__", "1.4.2")
    with pytest.raises(doctor.MachineProblem, match=r"DuckDB 1\.4\.2; 2\.0 or newer"):
        doctor.locked_duckdb()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ((), "opens files that it was not given"),
        (("SET disabled_filesystems = 'LocalFileSystem'",), "lets its settings be changed"),
    ],
)
def test_a_duckdb_that_is_not_locked(settings: tuple[str, ...], said: str) -> None:
    def lax(**limits: object) -> duckdb.DuckDBPyConnection:
        duck = duckdb.connect(":memory:")
        for setting in settings:
            duck.execute(setting)
        return duck

    with pytest.raises(doctor.MachineProblem, match=said):
        doctor.locked_duckdb(lax)


def test_a_store_that_forgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "SQLite" in doctor.working_store(tmp_path)
    monkeypatch.setattr(Transaction, "population", lambda self, name: None)
    with pytest.raises(doctor.MachineProblem, match="a store lost"):
        doctor.working_store(tmp_path)
    assert not list(tmp_path.iterdir())
