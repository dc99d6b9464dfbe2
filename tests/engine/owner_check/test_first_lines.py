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
        case "carriage returns":
            return text.replace("\n", "\r").encode()
        case "a first line with a carriage return":
            return (text.partition("\n")[0] + "\r").encode()
    return gzip.compress(text.encode())


@pytest.mark.parametrize(
    ("how", "mend"),
    [
        ("semicolons", 'delimiter = ";"'),
        ("tabs", 'delimiter = "\\t"'),
        ("utf-16", 'encoding = "utf-16"'),
        ("utf-16-be", 'encoding = "utf-16-be"'),
        ("headerless", 'header = ["at", "who", "region", "age", "amount", "fever"], if its fields'),
        ("capitals", 'columns = { "Region" = ...'),
        ("compressed", "mv events.csv events.csv.gz"),
        ("carriage returns", "tr '\\r' '\\n' < 'events.csv' > NEW, and then read NEW"),
        ("a first line with a carriage return", "tr '\\r' '\\n' < 'events.csv'"),
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


@pytest.mark.parametrize(
    ("ending", "encoding", "mend"),
    [
        (".csv", "latin-1", "tr '\\r' '\\n' < 'events.csv' > NEW"),
        (".csv", "utf-16-le", "iconv -f UTF-16-LE -t UTF-8 'events.csv' | tr '\\r' '\\n' > NEW"),
        (".csv.gz", "utf-8", "gunzip -c 'events.csv.gz' | tr '\\r' '\\n' > NEW"),
        (".jsonl", "utf-8", "tr '\\r' '\\n' < 'events.jsonl' > NEW"),
    ],
)
def test_carriage_returns_are_the_only_thing_that_is_said_of_such_a_file(
    tmp_path: Path, ending: str, encoding: str, mend: str
) -> None:
    world = World(tmp_path)
    text = world.write([row(1), row(2)]).file.read_text().replace("\n", "\r").encode(encoding)
    world.file.unlink()
    file = tmp_path / f"events{ending}"
    file.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    form = "" if encoding == "utf-8" else f'encoding = "{encoding}"\n'
    world.text = world.text.replace("events.csv", file.name)
    world.text = world.text.replace("[privacy]", f"{form}[privacy]")
    said = [one for one in told(checked(world.plan)) if "no events" not in one]
    assert len(said) == 1
    assert said[0].startswith(f"The lines of the file '{file.name}' end with a carriage return")
    assert mend in said[0]


def test_carriage_returns_of_a_sample_are_changed_on_their_way_to_standard_input(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    world.text = world.text.replace("events.csv", "-")
    sample = tmp_path / "sample.csv"
    sample.write_bytes(spoilt(World(tmp_path), "carriage returns"))
    facts = checked(world.plan, sample=sample)
    assert facts.findings[0].mend == "PROGRAM | tr '\\r' '\\n' | ameles run"
