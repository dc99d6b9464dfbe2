"""``ameles preview``: a plan on a page, before anything is spent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ameles.service.log import Log
from tests.cli.conftest import Program

HERE = ("--listen", "127.0.0.1:0")


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[object]]:
    """Replaces the server; gives the applications that it would have run."""
    apps: list[object] = []

    def run(app: object, opened: object, log: Log, stop: threading.Event, *rest: object) -> None:
        apps.append(app)

    monkeypatch.setattr("ameles.service.preview_service.run_server", run)
    return lambda: apps


def test_a_plan_is_shown_and_nothing_is_launched(
    fresh: Path, ameles: Program, served: Callable[[], list[object]]
) -> None:
    before = sorted(fresh.iterdir())
    ended = ameles("preview", "ameles.toml", *HERE)
    assert (ended.code, ended.out) == (0, "")
    assert "serving address=http://127.0.0.1:" in ended.err
    assert "/preview" in ended.err
    assert len(served()) == 1
    assert sorted(fresh.iterdir()) == before, "it makes no store"


def test_a_published_season_comes_from_its_store(
    site: Path, ameles: Program, served: Callable[[], list[object]]
) -> None:
    ended = ameles("preview", "ameles.toml", "--around", "ameles.toml", *HERE)
    assert ended.code == 0
    assert len(served()) == 1


def test_a_season_that_was_not_published_is_refused(
    fresh: Path, ameles: Program, served: Callable[[], list[object]]
) -> None:
    ended = ameles("preview", "ameles.toml", "--around", "ameles.toml", *HERE)
    assert (ended.code, served()) == (4, [])
    assert "There is no store" in ended.err


def test_a_plan_that_cannot_be_is_refused_first(
    fresh: Path, ameles: Program, served: Callable[[], list[object]]
) -> None:
    plan = fresh / "ameles.toml"
    plan.write_text(plan.read_text().replace("epsilon = ", "epsilon = -"))
    ended = ameles("preview", "ameles.toml", *HERE)
    assert (ended.code, served()) == (2, [])
