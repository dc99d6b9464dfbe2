"""The first and last lines of files, and files that cannot be read as the plan says."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.engine.owner_check.looks import checked, told
from tests.engine.worlds import World, row


def test_an_empty_file_and_one_with_a_first_line_alone(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.file.write_bytes(b"")
    facts = checked(world.plan)
    assert told(facts) == [
        "The file 'events.csv' is empty. wait for what writes it",
        "The source has no events. ",
    ]
    assert told(checked(world.write([]).plan)) == ["The source has no events. "]


def test_an_empty_compressed_file_is_said_to_be_so_once(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.text = world.text.replace("events.csv", "events.csv.gz")
    (tmp_path / "events.csv.gz").touch()
    assert told(checked(world.plan)) == [
        "The file 'events.csv.gz' is empty. wait for what writes it",
        "The source has no events. ",
    ]
    (tmp_path / "events.csv.gz").write_bytes(b"\x1f\x8b")
    assert "The file 'events.csv.gz' is not complete" in told(checked(world.plan))[0]


def test_a_last_line_without_its_newline_waits_or_is_taken(tmp_path: Path) -> None:
    world = World(tmp_path).write([row(1), row(2)])
    world.file.write_bytes(world.file.read_bytes().rstrip(b"\n"))
    facts = checked(world.plan)
    assert facts.lines.events == 1
    assert [one.mend for one in facts.findings if "newline" in one.what] == ['last_line = "take"']
    world.text = world.text.replace("[privacy]", 'last_line = "take"\n[privacy]')
    facts = checked(world.plan)
    assert facts.lines.events == 2
    assert not [one for one in facts.findings if "newline" in one.what]


def spoilt(world: World, how: str) -> bytes:
    text = world.write([row(1), row(2)]).file.read_text()
    match how:
        case "semicolons":
            return text.replace(",", ";").encode()
        case "tabs":
            return text.replace(",", "\t").encode()
        case "utf-16":
            return text.encode("utf-16")
        case "utf-16-be":
            return text.encode("utf-16-be")
        case "headerless":
            return text.partition("\n")[2].encode()
        case "capitals":
            return text.replace("region", "Region").encode()
    return gzip.compress(text.encode())


@pytest.mark.parametrize(
    ("how", "mend"),
    [
        ("semicolons", 'delimiter = ";"'),
        ("tabs", 'delimiter = "\\t"'),
        ("utf-16", 'encoding = "utf-16"'),
        ("utf-16-be", 'encoding = "utf-16-be"'),
        ("headerless", "header = [...], with the names of its 6 fields"),
        ("capitals", 'columns = { "Region" = ...'),
        ("compressed", "mv events.csv events.csv.gz"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_mend(tmp_path: Path, how: str, mend: str) -> None:
    world = World(tmp_path)
    world.file.write_bytes(spoilt(world, how))
    facts = checked(world.plan)
    assert facts.unreadable or not facts.lines.events
    assert facts.findings[0].mend.startswith(mend)
    assert "2026-01" not in json.dumps(facts.to_dict()), (
        "a first line that is an event is not shown"
    )
