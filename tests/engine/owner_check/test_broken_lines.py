"""Broken lines are named by file and number, however the files are read together."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ameles.connectors.text import lines
from ameles.connectors.text.lines import NAMED
from ameles.engine.owner_check import source_rows
from ameles.engine.owner_check.facts import Facts
from tests.engine.owner_check.looks import checked
from tests.engine.worlds import HEADER, World, row

LONG = row(1, who="a" * (1 << 20))
LONGER = row(1, who="b" * (12 << 20))  # longer than what is read at a time


def named(facts: Facts) -> dict[str, list[tuple[str, int]]]:
    return {
        flaw: [(place.file, place.line) for place in places]
        for flaw, places in facts.lines.places.items()
    }


@pytest.mark.parametrize("block", [9 << 20, 100])
def test_every_kind_of_broken_line_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(source_rows, "BLOCK", block)
    if block == 100:
        monkeypatch.setattr(lines, "CHUNK", 120)
    world = World(tmp_path)
    world.text = world.text.replace("events.csv", "*.csv")
    files: dict[str, list[str]] = {
        "a.csv": [row(1), LONG, row(1) + ",", "", LONGER, "x", row(1)],
        "b.csv": [row(2), row(2, who="a\0a"), row(1) + ",more"],
        "c.csv": [row(1), row(1), row(1, who='"ada'), row(1, who='a"d"a'), "y"],
    }
    for name, rows in files.items():
        (tmp_path / name).write_text("\n".join([HEADER, *rows]) + "\n")
    facts = checked(world.plan)
    assert named(facts) == {
        "too long": [("a.csv", 3), ("a.csv", 6)],
        "trailing delimiter": [("a.csv", 4)],
        "too few fields": [("a.csv", 7), ("c.csv", 6)],
        "NUL": [("b.csv", 3)],
        "too many fields": [("b.csv", 4)],
        "open quote": [("c.csv", 4)],
        "bad quotes": [("c.csv", 5)],
    }
    assert facts.lines.events == 5
    assert sum(facts.lines.flaws.values()) == 9


def test_of_many_the_first_are_named_and_all_counted(tmp_path: Path) -> None:
    facts = checked(World(tmp_path).write([row(1), *["x"] * 40]).plan)
    assert named(facts)["too few fields"] == [("events.csv", n) for n in range(3, 3 + NAMED)]
    assert facts.lines.flaws["too few fields"] == 40


def test_lines_are_counted_from_the_beginning_of_the_file(tmp_path: Path) -> None:
    """A launched stream reads on from the middle; a file may be packed, or in UTF-16."""
    world = World(tmp_path).write([row(1), row(2)])
    world.earnest(2)
    world.append([row(3), "x"])
    assert named(checked(world.plan))["too few fields"] == [("events.csv", 5)]
    packed = World(tmp_path / "packed")
    packed.text = packed.text.replace("events.csv", "events.csv.gz")
    text = f"{HEADER}\n{row(1)}\nx\n".encode()
    (tmp_path / "packed" / "events.csv.gz").write_bytes(gzip.compress(text))
    assert named(checked(packed.plan))["too few fields"] == [("events.csv.gz", 3)]
    wide = World(tmp_path / "wide", stream='encoding = "utf-16"').write([])
    wide.file.write_bytes(text.decode().encode("utf-16"))
    assert named(checked(wide.plan))["too few fields"] == [("events.csv", 3)]


def test_lines_of_a_sample_and_of_json_are_named(tmp_path: Path) -> None:
    world = World(tmp_path).write([row(1), "x"])
    world.text = world.text.replace('"events.csv"', '"-"')
    facts = checked(world.plan, sample=world.file)
    assert named(facts)["too few fields"] == [("events.csv", 3)]
    world.text = world.text.replace('"-"', '"e.jsonl"')
    (tmp_path / "e.jsonl").write_text('{"at": 1}\n[1]\n{"at": \n')
    assert named(checked(world.plan)) == {
        "no object": [("e.jsonl", 2)],
        "no JSON": [("e.jsonl", 3)],
    }
