"""``rotated`` in a plan: copies of a log supply its end, also in a stream that already runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ameles.core.exceptions import PlanError, StoreRefused
from ameles.plan.plan import read_plan_text
from tests.engine.worlds import COUNT, World, row


def test_a_running_stream_may_say_what_its_copies_are(tmp_path: Path) -> None:
    world = World(tmp_path, COUNT)
    world.write([row(1)]).run(1)
    world.append([row(2)])
    shutil.copy(world.file, tmp_path / "events.csv.1")
    world.write([row(3)])  # cut in place
    with pytest.raises(StoreRefused, match="rotated"):
        world.run(2)
    world.text = world.text.replace("source = ", 'rotated = "events.csv.*"\nsource = ')
    world.run(3)
    assert world.values() == [1, 2, 3]


@pytest.mark.parametrize(
    ("value", "patterns"),
    [('"a.*"', ("a.*",)), ('["a.1", "b.gz"]', ("a.1", "b.gz")), ("[]", ())],
)
def test_one_pattern_or_several(value: str, patterns: tuple[str, ...], tmp_path: Path) -> None:
    assert World(tmp_path, stream=f"rotated = {value}").plan.stream.rotated == patterns


@pytest.mark.parametrize("value", ["3", '""', "[3]", "true"])
def test_anything_else_is_refused(value: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="a pattern of files"):
        read_plan_text(World(tmp_path, stream=f"rotated = {value}").text)
