"""The rows that are looked at: launched streams, standard input, files that cannot be opened."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from ameles.connectors.duck import OutOfMemory
from ameles.core.exceptions import BadInput, SourceUnreadable
from ameles.core.rules import FIRST
from ameles.engine.engine import Engine
from ameles.engine.owner_check import look as looking
from ameles.engine.owner_check.check import check
from ameles.engine.owner_check.facts import Facts
from ameles.noise import Zero
from ameles.store import open_store
from tests.engine.owner_check.looks import NOW, busy, checked, column, told
from tests.engine.worlds import EVENT, USER, World, day, row


@pytest.mark.parametrize(("late", "counted"), [("next", 3), ("drop", 1)])
def test_of_a_launched_stream_what_is_new_may_be_late(
    tmp_path: Path, late: str, counted: int
) -> None:
    world = World(tmp_path, stream=f'late = "{late}"').write([row(1), row(2)])
    world.earnest(2)
    world.append([row(1), row(2), row(3)])
    facts = checked(world.plan)
    assert facts.released == 2
    assert (facts.lines.events, facts.times.late, facts.times.counted) == (3, 2, counted)
    everything = checked(world.plan, whole=True)
    assert (everything.lines.events, everything.times.late) == (5, 0)


def test_a_plan_that_changed_since_the_launch_is_told(tmp_path: Path) -> None:
    world = World(tmp_path, unit=USER).write([row(1), row(2)])
    world.earnest(2)
    world.text = world.text.replace("max_steps = 3", "max_steps = 2")
    facts = checked(world.plan)
    assert "has changed since its stream was launched" in facts.findings[0].what
    assert facts.lines.events == 2


def test_of_a_stream_that_has_ended_all_is_looked_at(tmp_path: Path) -> None:
    world = World(tmp_path).write([row(1), row(2)])
    world.earnest(8)
    facts = checked(world.plan)
    assert (facts.released, facts.times.counted) == (0, 2)
    assert "released its last step" in facts.findings[0].what


def test_parquet_has_facts_too(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.text = world.text.replace("events.csv", "events.parquet")
    world.write([row(1), row(2, age=""), row(9, region="moon")])
    duckdb.execute(f"COPY (SELECT * FROM read_csv('{world.file}')) TO '{tmp_path}/events.parquet'")
    facts = checked(world.plan)
    assert facts.lines.events == 3
    assert column(facts, "age") == (2, 1, 0)
    assert (facts.times.after, facts.times.counted) == (1, 2)
    assert facts.releases[0].keys == {"north": 2, "south": 0}


def test_without_a_store_it_is_as_with_an_empty_one(tmp_path: Path) -> None:
    world = World(tmp_path, unit=USER).write(busy())
    assert check(world.plan, None, now=NOW) == checked(world.plan)


def test_a_source_of_which_nothing_can_be_opened(tmp_path: Path) -> None:
    world = World(tmp_path)
    with pytest.raises(SourceUnreadable, match="No file matches") as refusal:
        checked(world.plan)
    assert refusal.value.exit_code == 1


def test_one_file_of_several_that_cannot_be_read_is_named_with_its_mend(tmp_path: Path) -> None:
    world = World(tmp_path).write([row(1), row(2)])
    world.text = world.text.replace("events.csv", "*.csv")
    (tmp_path / "more.csv").write_text(world.file.read_text().replace(",", ";"))
    facts = checked(world.plan)
    assert (facts.lines.events, facts.unreadable) == (2, "")
    assert [one.name for one in facts.files] == ["events.csv", "more.csv"]
    whole = "".join(told(facts))
    assert "The file 'more.csv' has no column 'at' in its first line." in whole
    assert "The fields of 'more.csv' are separated by" in whole
    assert 'delimiter = ";"' not in whole, "the other file would not be read any more"
    assert "write the file as the others" in whole


def test_standard_input_is_looked_at_in_a_sample(tmp_path: Path) -> None:
    world = World(tmp_path, unit=USER)
    world.write([row(1, who="bob"), row(1), row(1), row(1, age="x")])
    plain = checked(world.plan)
    world.text = world.text.replace('"events.csv"', '"-"')
    with pytest.raises(BadInput, match="standard input"):
        checked(world.plan)
    facts = checked(world.plan, sample=world.file)
    facts.source = plain.source
    for file in (*facts.files, *plain.files):
        file.name = ""
    assert facts == plain
    world.text = world.text.replace('time = "at"\n', "")
    users = checked(world.plan, sample=world.file).users
    assert users is not None
    assert users.kept == 3, "as if all of them came in one step"


def test_a_sample_is_for_standard_input_alone_and_must_be_there(tmp_path: Path) -> None:
    world = World(tmp_path).write([])
    with pytest.raises(BadInput, match="--sample is for standard input"):
        checked(world.plan, sample=world.file)
    world.text = world.text.replace('"events.csv"', '"-"')
    with pytest.raises(SourceUnreadable):
        checked(world.plan, sample=tmp_path / "none.csv")


def test_a_changed_plan_is_looked_at_under_the_rules_of_a_new_stream(tmp_path: Path) -> None:
    """A week of ISO 8601 is a time under today's rules, and was none under the first ones."""
    world = World(tmp_path).write([row(1), row(1).replace("2026-01-01T12:00:00Z", "2026-W01-5")])
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        Engine(replace(world.plan, rules=FIRST), store, noise=Zero()).run(day(2, 0))
    assert checked(world.plan, whole=True).times.without == 1
    world.text = world.text.replace("epsilon = 1", "epsilon = 2")
    facts = checked(world.plan)
    assert "has changed since its stream was launched" in facts.findings[0].what
    assert facts.times.without == 0


@pytest.mark.parametrize(("unit", "tried"), [(USER, [1, 2, 4]), (EVENT, [1])])
def test_without_memory_users_are_looked_at_in_smaller_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: str, tried: list[int]
) -> None:
    plan = World(tmp_path, unit=unit).write(busy()).plan
    whole, asked, at = checked(plan), list[int](), looking._Look.at

    def short(self: looking._Look, rows: looking.Rows, passes: int, memory: int) -> Facts:
        asked.append(passes)
        if passes < 4:
            raise OutOfMemory("DuckDB ran out of memory.")
        return at(self, rows, passes, memory)

    monkeypatch.setattr(looking._Look, "at", short)
    if unit == EVENT:
        with pytest.raises(OutOfMemory):
            checked(plan)
    else:
        assert checked(plan) == whole
    assert asked == tried


def test_without_memory_for_any_share_it_gives_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, asked = World(tmp_path, unit=USER).write(busy()).plan, list[int]()

    def short(self: looking._Look, rows: looking.Rows, passes: int, memory: int) -> Facts:
        asked.append(passes)
        raise OutOfMemory("DuckDB ran out of memory.")

    monkeypatch.setattr(looking, "_MOST_PASSES", 8)
    monkeypatch.setattr(looking._Look, "at", short)
    with pytest.raises(OutOfMemory):
        checked(plan)
    assert asked == [1, 2, 4, 8]
