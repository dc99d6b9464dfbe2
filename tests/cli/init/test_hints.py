"""The keys that ``ameles init`` proposes behind a comment sign."""

from __future__ import annotations

import tomllib
from pathlib import Path

from ameles.plan.plan import read_plan_text
from ameles.simulate import season, write_parquet
from tests.cli.conftest import Program
from tests.cli.init.guests import options, written


def hints(text: str) -> list[str]:
    """The keys that a plan has behind a comment sign, as lines."""
    return [line[2:] for line in text.splitlines() if line.startswith("# ") and " = " in line]


class TestHints:
    """What else a plan can say stands in it, behind a comment sign, and is right as it stands."""

    def test_each_can_be_taken_as_it_is(self, ameles: Program, folder: Path) -> None:
        given = options(user="", by="", keys=None, max_per_step=None, max_steps=None)
        assert ameles("init", "guests.csv", *given).code == 0
        text = (folder / "ameles.toml").read_text(encoding="utf-8")
        lines = hints(text)
        assert [line.split(" = ")[0] for line in lines] == [
            *("time_format", "decimal", "encoding", "zone", "weight")
        ]
        for line in lines:
            changed = text.replace(f"# {line}", line)
            if line.startswith("weight"):
                changed = changed.replace('when = "timestamp"', 'when = "timestamp", n = "integer"')
            plan = read_plan_text(changed)
            value = tomllib.loads(line)
            assert plan.to_json() != read_plan_text(text).to_json(), value

    def test_what_a_plan_cannot_have_is_not_hinted_at(self, ameles: Program, folder: Path) -> None:
        assert ameles("init", "guests.csv", *options()).code == 0
        text = (folder / "ameles.toml").read_text(encoding="utf-8")
        assert "weight" not in text, "it goes with single events alone"
        write_parquet(folder / "visits.parquet", season(days=2, visitors=5))
        changed = options(time="reported_at", user="device", by="region")
        assert ameles("init", "visits.parquet", "-o", "p.toml", *changed).code == 0
        text = (folder / "p.toml").read_text(encoding="utf-8")
        assert [line.split(" = ")[0] for line in hints(text)] == ["time_format", "zone"]

    def test_an_encoding_that_is_given_is_written(self, ameles: Program, folder: Path) -> None:
        (folder / "wide.csv").write_text("when,who,where it was\n", encoding="utf-16")
        ended = ameles("init", "wide.csv", *options())
        assert ended.code == 2
        assert "is in UTF-16" in ended.err
        assert 'try: --encoding utf-16; in the plan, encoding = "utf-16"' in ended.err
        ended = ameles("init", "wide.csv", "--encoding", "utf-16", *options())
        assert ended.code == 0, ended.err
        assert "Columns: when, who, where it was" in ended.err
        assert written()["stream"]["encoding"] == "utf-16"
        assert "would refuse" not in ameles("plan").err
        ended = ameles("init", "wide.csv", "-o", "b.toml", "--encoding", "morse", *options())
        assert ended.code == 2
        assert "try: one of utf-8, utf-16, " in ended.err
