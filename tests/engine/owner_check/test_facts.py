"""Facts are secret: none prints itself."""

from __future__ import annotations

import json
from pathlib import Path

from tests.engine.owner_check.looks import checked
from tests.engine.worlds import USER, World, row


def test_nothing_of_it_prints_itself(tmp_path: Path) -> None:
    facts = checked(World(tmp_path, unit=USER).write([row(1)] * 4217).plan)
    assert facts.lines.events == 4217
    parts = [facts, facts.lines, facts.times, facts.users, *facts.columns, *facts.releases]
    assert "421" not in "".join(map(repr, parts))


def test_all_of_it_is_json_with_broken_lines_too(tmp_path: Path) -> None:
    """``asdict`` makes a Counter of pairs from a Counter, and JSON has no such keys."""
    facts = checked(World(tmp_path).write([row(1), "x", "y"]).plan)
    lines = json.loads(json.dumps(facts.to_dict(), default=str))["lines"]
    assert lines["flaws"] == {"too few fields": 2}
    assert lines["places"]["too few fields"][0] == {"file": "events.csv", "line": 3}
