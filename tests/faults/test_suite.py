"""The plan of the suite leaves nothing out, and is the same each time."""

from __future__ import annotations

from collections import deque
from itertools import product
from pathlib import Path

import pytest

from tests.faults import KINDS, Victims, choices
from tests.faults.crashes import ERRORS, MODES, Faults
from tests.faults.rehearsals import Rehearsal
from tests.faults.suite import plan


@pytest.fixture(scope="module")
def rehearsal(tmp_path_factory: pytest.TempPathFactory, server_of_victims: Victims) -> Rehearsal:
    place = tmp_path_factory.mktemp("suite") / "w"
    return KINDS["growing"].rehearse(place, server_of_victims, horizon=2)


@pytest.mark.parametrize("part", ["crashes", "deaths", "refusals"])
def test_every_change_fails_in_every_way(part: str, rehearsal: Rehearsal) -> None:
    items = [item for task in plan(part, {"growing": rehearsal}) for item in task.items]
    count = len(rehearsal.changes) if part == "crashes" else rehearsal.own
    assert len(items) == len(set(items)) == 3 * count
    assert {at for at, _ in items} == set(range(1, count + 1))
    if part != "refusals":
        assert set(items) == set(product(range(1, count + 1), MODES))
    assert len({how for _, how in items}) == len(MODES) == len(ERRORS)


def test_it_is_the_same_with_the_same_seed(rehearsal: Rehearsal) -> None:
    names = [
        {task.name for task in plan("cuts", {"growing": rehearsal}, seed=seed, images=100)}
        for seed in (1, 1, 2)
    ]
    assert names[0] == names[1]
    assert not names[0] & names[2]


def test_the_source_is_not_among_the_changes_of_the_program(rehearsal: Rehearsal) -> None:
    paths = [change.path for change in rehearsal.changes]
    assert len(paths) - rehearsal.own == paths.count("store/events.csv") > 0


def test_a_disk_is_judged_once(tmp_path: Path, rehearsal: Rehearsal) -> None:
    faults = Faults(rehearsal)
    at = next(at for at, change in enumerate(rehearsal.changes, 1) if change.kind == "sync")
    for mode in MODES:  # a sync changes nothing that a crash of the program leaves
        assert faults.crash(tmp_path / mode, at, mode) == []
    assert len(faults.judged) == 1


def test_waits_are_printed_and_can_be_repeated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("tests.faults.choices.time.sleep", slept.append)
    for _ in range(2):  # the same seed, the same waits
        drawn = choices.Choices("a", 1)
        drawn.sleep(0.5)
        drawn.sleep(2.0, 1.0)
    assert slept[:2] == slept[2:]
    assert slept[0] < 0.5 < 1.0 < slept[1] < 2.0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"{choices.WAITS}: {slept[0]:.6f}, seed ('a', 1)"
    monkeypatch.setattr(choices, "_repeated", deque(["0.25"]))
    drawn.sleep(2.0)  # on a machine with another span
    assert slept[-1] == 0.25
