"""Facts are secret: none prints itself."""

from __future__ import annotations

from pathlib import Path

from tests.engine.owner_check.looks import checked
from tests.engine.worlds import USER, World, row


def test_nothing_of_it_prints_itself(tmp_path: Path) -> None:
    facts = checked(World(tmp_path, unit=USER).write([row(1)] * 4217).plan)
    assert facts.lines.events == 4217
    parts = [facts, facts.lines, facts.times, facts.users, *facts.columns, *facts.releases]
    assert "421" not in "".join(map(repr, parts))
