"""Broken lines: each has one flaw, and what is proposed against it helps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ameles.connectors.format import Format
from ameles.connectors.text.csv_lines import CsvLines
from ameles.connectors.text.json_lines import JsonLines
from ameles.connectors.text.line_blocks import handed_over
from ameles.connectors.text.lines import Tally
from tests.engine.owner_check.looks import checked, column, mended, told
from tests.engine.worlds import World, row


def test_what_is_proposed_mends(tmp_path: Path) -> None:
    world = World(tmp_path).write(row(1, amount="1.5") for _ in range(9))
    text = world.file.read_text()
    dated = text.replace("2026-01-01T12:00:00Z", "31.01.2026").replace("1.5", "1,5")
    world.file.write_text(dated.replace(",", ";").replace("1;5", "1,5"))
    world.text = world.text.replace("horizon = 8", "horizon = 80")
    facts = checked(world.plan)
    mends: list[str] = []
    while facts.findings and len(mends) < 9:
        mends.append(facts.findings[0].mend)
        facts = mended(world, mends[-1])
        if facts.findings and "south" in facts.findings[0].what:
            break
    assert mends == ['delimiter = ";"', 'time_format = "%d.%m.%Y"', 'decimal = ","']
    assert facts.releases[0].keys == {"north": 9, "south": 0}


def test_a_delimiter_at_the_end_is_mended_by_one_more_name(tmp_path: Path) -> None:
    world = World(tmp_path).write(row(1) + "," for _ in range(9))
    assert checked(world.plan).findings[0].mend.startswith("header = [")
    names = ", ".join(f'"{name}"' for name in [*world.plan.stream.columns, "nothing"])
    assert mended(world, f"header = [{names}]").times.counted == 9


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_delimiter_at_the_end_of_some_lines_is_told_with_these_lines(
    tmp_path: Path, newline: str
) -> None:
    """One more name would break the lines that are whole.  A command that removes the delimiter
    from all lines would break those with an empty last field, and change nothing before a CR."""
    empty = row(1).rpartition(",")[0] + ","
    world = World(tmp_path).write([*[row(1)] * 9, empty, *[row(1) + ","] * 2])
    world.file.write_bytes(world.file.read_bytes().replace(b"\n", newline.encode()))
    facts = checked(world.plan)
    finding = facts.findings[0]
    assert facts.lines.events == 10
    assert [place.line for place in facts.lines.places["trailing delimiter"]] == [12, 13]
    assert finding.what.startswith("2 lines have one delimiter too many at their end")
    assert "header" not in finding.mend
    assert "sed" not in finding.mend
    assert "from broken lines alone" in finding.mend


def test_lines_with_fewer_fields_than_header_are_told_the_header(tmp_path: Path) -> None:
    world = World(tmp_path).write([row(1)] * 9)
    names = ", ".join(f'"{name}"' for name in [*world.plan.stream.columns, "nothing"])
    facts = mended(world, f"header = [{names}]")
    assert "fewer fields than header has names" in facts.findings[0].what
    assert facts.findings[0].mend.startswith("header = [...], with as many names")


@pytest.mark.parametrize(
    "stream", ['delimiter = ";"', 'encoding = "latin-1"', 'last_line = "take"', 'grace = "1h"']
)
def test_no_look_at_spoilt_lines_proposes_what_the_plan_has(tmp_path: Path, stream: str) -> None:
    world = World(tmp_path, stream=stream)
    rows = [row(1), row(1) + ",", row(1, who='"a'), "x", row(9), row(0), row(1, amount="1,5;;;")]
    for delimiter in ",;":
        world.write([*rows, row(1, who="f\xe9e").encode("latin-1")])
        world.file.write_bytes(world.file.read_bytes().replace(b",", delimiter.encode())[:-1])
        assert stream not in "".join(told(checked(world.plan)))


def test_broken_lines_by_what_is_broken(tmp_path: Path) -> None:
    lines: list[str | bytes] = [
        row(1),
        row(1, who='"a, b"'),
        row(1) + ",",
        row(1) + ",more",
        "2026-01-01,ada",
        row(1, who='"ada'),
        row(1, who='a"d"a'),
        row(1, who="a\0a"),
        row(1, who="a" * (1 << 20)),
        row(1, who="b" * (12 << 20)),  # longer than what is read at a time
        "",
        b"\xff" + row(1).encode(),
        row(1, who="f\xe9e").encode("latin-1"),
    ]
    facts = checked(World(tmp_path).write(lines).plan)
    assert dict(facts.lines.flaws) == {
        "trailing delimiter": 1,
        "too many fields": 1,
        "too few fields": 1,
        "open quote": 1,
        "bad quotes": 1,
        "NUL": 1,
        "too long": 2,
    }
    assert (facts.lines.events, facts.lines.replaced) == (4, 2)
    whole = "".join(told(facts))
    assert "1 line has one delimiter too many at its end" in whole
    assert "ameles convert FILE out.parquet" in whole
    assert 'encoding = "windows-1252"' in whole


CSV = ["a", ",", '"', '""', "\0", " ", "\r"]
OTHER_CSV = [piece.replace(",", ";").replace('"', "'") for piece in CSV]
JSON = ['{"a":1', "}", "{}", " ", "\t", "x", '"b":[', "1", ","]


@pytest.mark.parametrize(
    ("dialect", "pieces", "form"),
    [
        (CsvLines, CSV, Format()),
        (CsvLines, CSV, Format(strip=True)),
        (CsvLines, CSV, Format(quote="")),
        (CsvLines, OTHER_CSV, Format(delimiter=";", quote="'")),
        (JsonLines, JSON, Format()),
    ],
)
def test_a_line_is_an_event_or_has_a_flaw(
    dialect: type[Any], pieces: list[str], form: Format
) -> None:
    """All texts of up to five of these pieces: counted by the readers, and by what is said."""
    texts = [""]
    for _ in range(5):
        texts += {text + piece for text in texts for piece in pieces}
    lines = sorted(set(texts))
    reader = dialect({"a": "text", "b": "text"}, form)
    reader.tally = Tally()
    with duckdb.connect() as duck:
        blocks = ["".join(f"{line}\n" for line in lines).encode()]
        events = 0
        for relation in handed_over(duck, reader, ("a", "b"), blocks):
            ((count,),) = duck.execute(f"SELECT count(*) FROM {relation}").fetchall()
            events += count
    empty = sum(line.removesuffix("\r") == "" for line in lines)
    assert 0 < events < len(lines)
    assert events + sum(reader.tally.flaws.values()) == len(lines) - empty


def test_json_that_is_none_and_columns_that_never_occur(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.text = world.text.replace("events.csv", "events.jsonl")
    good = {"at": "2026-01-01", "who": "ada", "region": "north", "age": 7, "amount": 1}
    lines = [json.dumps(good), "[1]", "7", '{"at": ', json.dumps({**good, "age": "x"})]
    (tmp_path / "events.jsonl").write_text("\n".join(lines) + "\n")
    facts = checked(world.plan)
    assert dict(facts.lines.flaws) == {"no object": 2, "no JSON": 1}
    assert column(facts, "age") == (2, 0, 1)
    assert column(facts, "fever") == (0, 2, 0)
    assert any("'fever' never has a value" in one and "user.id" in one for one in told(facts))


@pytest.mark.parametrize(("count", "said"), [(1, "1 event has"), (2, "2 events have")])
def test_a_finding_is_a_sentence_with_its_verb(tmp_path: Path, count: int, said: str) -> None:
    world = World(tmp_path).write([row(1)] * 9)
    broken = row(1).replace("north", "n\xf6rd").encode("latin-1") + b"\n"
    with world.file.open("ab") as file:
        file.write(broken * count)
    told = [one.what for one in checked(world.plan).findings]
    assert f"{said} characters that are not valid UTF-8." in told
