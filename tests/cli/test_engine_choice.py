"""Options that say where events are counted: what does not fit is refused before Spark starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cli.conftest import Program

PLAN = """
[stream]
name = "visits"
source = "{source}"
columns = {{ at = "timestamp", visitor = "text" }}
{time}
start = "2026-01-01"
every = "1d"
horizon = 2
[privacy]
population = "visitors"
{unit}
epsilon = 1
[[release]]
name = "visits"
measure = "count"
[store]
url = "{store}"
"""
EVENT = 'unit = "event"'
USER = 'unit = "user"\nuser = "visitor"\nmax_per_step = 1\nmax_steps = 1'


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str | None, dict[str, str]]]:
    """How often Spark was started, and with what; in its place nothing is."""
    asked: list[tuple[str | None, dict[str, str]]] = []

    @contextmanager
    def context(master: str | None, settings: Mapping[str, str]) -> Iterator[Any]:
        asked.append((master, dict(settings)))
        yield SimpleNamespace(getConf=dict)

    monkeypatch.setattr("ameles.cli.engine_choice.spark_context", context)
    return asked


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text("at,visitor\n")
    write(tmp_path)
    return tmp_path


def write(folder: Path, **changed: str) -> None:
    usual = {"unit": EVENT, "source": "visits.csv", "store": "v.db", "time": 'time = "at"'}
    (folder / "ameles.toml").write_text(PLAN.format(**(usual | changed)))


@pytest.mark.parametrize(
    "option",
    [("--master", "local"), ("--shared", "x"), ("--buckets", "3"), ("--spark", "spark.a=b")],
    ids=lambda option: option[0],
)
def test_options_of_spark_need_spark(
    option: tuple[str, str], folder: Path, ameles: Program, started: list[Any]
) -> None:
    refused = ameles("run", "--yes", *option)
    assert refused.code == 2
    assert f"{option[0]} is an option of --engine spark" in refused.err
    assert not (folder / "v.db").exists()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"unit": EVENT + '\nintrusions = "one"', "source": "-", "time": ""},
            "cannot run on Spark",
        ),
        ({"source": "-"}, "is read only once"),
        ({"source": "http"}, "is read only once"),
        ({"unit": USER, "store": "postgresql://nowhere.invalid/x"}, "--shared must say"),
    ],
    ids=["pan-private", "standard input", "posted", "no folder"],
)
def test_plans_that_spark_cannot_run(
    changed: dict[str, str], said: str, folder: Path, ameles: Program, started: list[Any]
) -> None:
    write(folder, **changed)
    refused = ameles("run", "--yes", "--engine", "spark")
    assert refused.code == 2
    assert said in refused.err
    assert not started


def test_settings_have_a_name_and_a_value(
    folder: Path, ameles: Program, started: list[Any]
) -> None:
    refused = ameles("run", "--yes", "--engine", "spark", "--spark", "spark.ui.enabled")
    assert refused.code == 2
    assert "--spark needs a name and a value" in refused.err
    assert not started


def test_what_was_chosen_reaches_spark(folder: Path, ameles: Program, started: list[Any]) -> None:
    given = ("--master", "local[3]", "--spark", "spark.a=b=c", "--spark", "spark.d=")
    assert ameles("run", "--yes", "--engine", "spark", *given).code == 0, "nothing to read"
    assert started == [("local[3]", {"spark.a": "b=c", "spark.d": ""})]
    assert ameles("run", "--yes").code == 0, "a stream without users may change between engines"


@pytest.mark.parametrize("shared", [None, "elsewhere"])
def test_where_the_state_of_users_lies(
    shared: str | None, folder: Path, ameles: Program, started: list[Any]
) -> None:
    write(folder, unit=USER)
    option = () if shared is None else ("--shared", shared)
    given = ("--until", "2026-01-02", *option)
    assert ameles("run", "--yes", "--engine", "spark", "--buckets", "3", *given).code == 0
    [stream] = (folder / (shared or "v.db.users")).iterdir()
    assert stream.stat().st_mode & 0o777 == 0o700
    refused = ameles("run", "--yes", "--engine", "spark", "--buckets", "4", *option)
    assert refused.code == 4
    assert "has 3 buckets" in refused.err
    assert ameles("run", "--yes").code == 4, "users stay on the engine of the launch"
