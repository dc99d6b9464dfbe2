"""Nothing is proposed that the plan already has."""

from __future__ import annotations

from pathlib import Path

import pytest

from ameles.engine.owner_check import advice
from ameles.engine.owner_check.facts import CheckFinding
from ameles.engine.owner_check.held_values import not_held
from ameles.measures.measure import Measure
from tests.engine.owner_check.looks import checked, told
from tests.engine.worlds import World, row


def test_nothing_is_proposed_that_the_plan_has(tmp_path: Path) -> None:
    world = World(tmp_path, stream='delimiter = ";"\nstrip = true\ntime_format = ["%d.%m.%Y"]')
    plan = world.plan

    def left(mend: str, release: Measure | None = None) -> str:
        return not_held(plan, CheckFinding("x", mend), release).mend

    assert left('delimiter = ";", or what separates them') == ""
    assert left('delimiter = "|"') == 'delimiter = "|"'
    assert left("strip = true, for spaces; or other keys") == "other keys"
    assert left('time_format = "%d.%m.%Y"') == ""
    assert left('encoding = "utf-8"') == "", "a default is a value too"
    assert left('encoding = "utf-16"; or encoding = "utf-8"') == 'encoding = "utf-16"'
    assert left("horizon = 8") == left('start = "2026-01-01"') == left("epsilon = 1") == ""
    assert left("horizon = 9") == "horizon = 9"
    assert left("other = true") == left("other = true", plan.releases[0]) == "other = true"
    world.text = world.text.replace("[[release]]", "[[release]]\nother = true")
    assert left("other = true", world.plan.releases[0]) == ""


def test_what_is_proposed_for_a_release_is_not_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(advice, "_release", lambda *_: iter([CheckFinding("x", "other = true")]))
    world = World(tmp_path).write([row(1)])
    assert told(checked(world.plan)) == ["x other = true"]
    world.text = world.text.replace("[[release]]", "[[release]]\nother = true")
    assert told(checked(world.plan)) == ["x "]
