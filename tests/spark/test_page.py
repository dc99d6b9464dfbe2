"""The page about Spark is followed: its commands run on a real Spark."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Program, ameles
from tests.spark.session import SharedSession

PAGE = (Path(__file__).parents[2] / "docs" / "spark.md").read_text(encoding="utf-8")
__all__ = ["ameles"]  # a fixture
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # PySpark's sockets
PLAN = """
[stream]
name = "visits"
source = "visits.csv"
columns = { at = "timestamp", visitor = "text" }
time = "at"
start = "2026-01-01"
every = "1d"
horizon = 5000
[privacy]
population = "visitors"
unit = "user"
user = "visitor"
max_per_step = 1
max_steps = 2
epsilon = 1000
[[release]]
name = "visits"
measure = "count"
[store]
url = "visits.db"
"""


def commands() -> list[list[str]]:
    """The lines of the page that run Ameles, without the name of the program."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    lines = [shlex.split(line) for block in blocks for line in block.splitlines()]
    return [line[1:] for line in lines if line[0] == "ameles"]


def test_the_page_is_followed(
    tmp_path: Path, ameles: Program, session: SharedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str | None, dict[str, str]]] = []

    @contextmanager
    def context(master: str | None, settings: Mapping[str, str]) -> Iterator[Any]:
        asked.append((master, dict(settings)))
        yield session.context

    monkeypatch.setattr("ameles.cli.engine_choice.spark_context", context)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.toml").write_text(PLAN)
    visits = [f"2026-01-0{day}T09:00:00Z,v{n}" for day in (1, 1, 2, 3) for n in range(day + 1)]
    (tmp_path / "visits.csv").write_text("\n".join(["at,visitor", *visits, ""]))
    launch, again, cluster = commands()
    assert ameles(*launch).code == 0
    assert json.loads(ameles("status", "visits.toml", "--json").out)["released"] == 2
    [folder] = (tmp_path / "visits.db.users").iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert ameles(*again).code == 0
    assert asked == [(None, {}), ("local[2]", {"spark.driver.memory": "1g"})]
    lines = ameles("releases", "visits.toml", "--json").out.splitlines()
    values = [json.loads(line)["value"] for line in lines]
    assert values[:4] == [2, 5, 7, 7], "each of four visitors counts once a day, on two days"
    refused = ameles(*[tmp_path.as_posix() if "/mnt" in part else part for part in cluster])
    assert refused.code == 4, "a stream has the buckets of its launch"
    assert "16 buckets" in refused.err
