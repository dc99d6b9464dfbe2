"""The owner's look at packed files and at other encodings: what is proposed, and then the facts."""

from __future__ import annotations

import bz2
import gzip
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ameles.engine.owner_check.facts import Facts
from tests.engine.owner_check.looks import checked
from tests.engine.worlds import HEADER, World, row

if TYPE_CHECKING or sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": zstd.compress,
}
JSON_ROW = '{"at": "2026-01-01", "who": "z\xe9", "region": "north", "age": 7, "amount": 1, '


def written(folder: Path, kind: str, ending: str, encoding: str, stream: str = "") -> Facts:
    world = World(folder, stream=stream)
    world.text = world.text.replace("events.csv", f"events.{kind}{ending}")
    lines = [JSON_ROW + '"fever": true}'] * 5
    if kind == "csv":
        lines = [HEADER, *[row(1, who="z\xe9")] * 5]
    packed = PACK[ending](("\n".join(lines) + "\n").encode(encoding))
    (folder / f"events.{kind}{ending}").write_bytes(packed)
    return checked(world.plan)


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("encoding", "named"),
    [
        ("latin-1", "windows-1252"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
    ],
)
def test_encodings_of_packed_files_are_proposed_and_then_right(
    tmp_path: Path, ending: str, kind: str, encoding: str, named: str
) -> None:
    before = written(tmp_path / "a", kind, ending, encoding)
    assert before.findings[0].mend.startswith(f'encoding = "{named}"')
    after = written(tmp_path / "b", kind, ending, encoding, f'encoding = "{named}"')
    assert (after.lines.events, after.times.counted, after.lines.replaced) == (5, 5, 0)
    assert [one.what for one in after.findings] == [
        "1 key of release 'visits' has no event: south."
    ]


def test_what_is_not_of_another_encoding_is_said_of_that(tmp_path: Path) -> None:
    world = World(tmp_path, stream='encoding = "windows-1252"')
    facts = checked(world.write([row(1, who="a\x81").encode("latin-1")]).plan)
    (finding,) = [one for one in facts.findings if "characters" in one.what]
    assert "that windows-1252 does not have" in finding.what
    assert finding.mend.startswith("write the file in UTF-8"), "latin-1 makes a control of it"


@pytest.mark.parametrize("ending", PACK)
def test_names_in_another_encoding_and_delimiters_of_packed_files(
    tmp_path: Path, ending: str
) -> None:
    world = World(tmp_path)
    world.text = world.text.replace("events.csv", f"events.csv{ending}")
    world.text = world.text.replace("who =", '"n\xe9" =')
    text = f"{HEADER}\n{row(1)}\n".replace("who", "n\xe9")
    file = tmp_path / f"events.csv{ending}"
    file.write_bytes(PACK[ending](text.encode("latin-1")))
    assert checked(world.plan).findings[0].mend.startswith('encoding = "windows-1252"')
    file.write_bytes(PACK[ending](text.replace(",", ";").encode()))
    assert checked(world.plan).findings[0].mend == 'delimiter = ";"'


def test_a_packed_file_that_is_not_complete_is_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.text = world.text.replace("events.csv", "*.csv.gz")
    packed = gzip.compress(f"{HEADER}\n{row(1)}\n".encode())
    (tmp_path / "a.csv.gz").write_bytes(packed)
    (tmp_path / "b.csv.gz").write_bytes(packed[:-9])
    facts = checked(world.plan)
    assert facts.lines.events == 1
    assert [one.what for one in facts.findings if "complete" in one.what] == [
        "The file 'b.csv.gz' is not complete, so it waits."
    ]


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize(
    ("declared", "encoding", "mend"),
    [
        ("utf-16", "utf-8", "leave encoding out"),
        ("utf-16-le", "utf-8", "leave encoding out"),
        ("utf-16", "latin-1", 'encoding = "windows-1252"'),
        ("utf-16", "utf-16-be", 'encoding = "utf-16-be"'),
        ("utf-16-le", "utf-16-be", 'encoding = "utf-16-be"'),
        ("utf-16-be", "utf-16", 'encoding = "utf-16"'),
        ("latin-1", "utf-8", "leave encoding out"),
        ("latin-1", "utf-8-sig", "leave encoding out"),
        ("windows-1252", "utf-16", 'encoding = "utf-16"'),
    ],
)
def test_another_encoding_than_the_declared_one_is_told(
    tmp_path: Path, ending: str, declared: str, encoding: str, mend: str
) -> None:
    facts = written(tmp_path, "csv", ending, encoding, f'encoding = "{declared}"')
    assert facts.findings[0].mend == mend
    assert "header" not in "".join(one.mend for one in facts.findings)


def test_a_packed_file_without_anything_in_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.text = world.text.replace("events.csv", "events.csv.gz")
    (tmp_path / "events.csv.gz").write_bytes(gzip.compress(f"{HEADER}\n".encode())[:-9])
    assert [one.what for one in checked(world.plan).findings] == [
        "The file 'events.csv.gz' is not complete, so it waits.",
        "The source has no events.",
    ]


def test_a_decimal_comma_is_not_proposed_for_json(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.text = world.text.replace("events.csv", "events.jsonl")
    line = JSON_ROW.replace('"amount": 1', '"amount": "1,5"') + '"fever": true}'
    (tmp_path / "events.jsonl").write_text(f"{line}\n", encoding="utf-8")
    assert "decimal" not in "".join(one.mend for one in checked(world.plan).findings)


@pytest.mark.parametrize("level", [0, 9])  # with the newlines of its lines, and without
@pytest.mark.parametrize("ending", [".gz", ".GZ"])
def test_a_packed_file_under_a_pattern_of_plain_ones_is_told(
    tmp_path: Path, ending: str, level: int
) -> None:
    world = World(tmp_path).write([row(1)])
    world.text = world.text.replace("events.csv", "events.csv*")
    packed = gzip.compress(world.file.read_bytes(), compresslevel=level, mtime=0)
    (tmp_path / f"events.csv.1{ending}").write_bytes(packed)
    facts = checked(world.plan)
    assert facts.lines.events == 1
    (told,) = (one for one in facts.findings if "compressed" in one.what)
    assert f"'events.csv.1{ending}' is compressed, but the source 'events.csv*'" in told.what
    line = f'rotated = "events.csv*{ending}"'
    assert told.mend.startswith(f"{line} in the plan, if ")
    world.text = world.text.replace("[privacy]", f"{line}\n[privacy]", 1)
    facts = checked(world.plan)
    assert [file.name for file in facts.files] == ["events.csv"]
    assert not any("compressed" in one.what for one in facts.findings)


def test_a_packed_file_is_not_proposed_as_a_copy_where_copies_are_refused(tmp_path: Path) -> None:
    world = World(tmp_path, stream='encoding = "utf-16"')
    world.text = world.text.replace("events.csv", "events.csv*")
    lines = f"{HEADER}\n{row(1)}\n".encode("utf-16")
    world.file.write_bytes(lines)
    (tmp_path / "events.csv.1.gz").write_bytes(gzip.compress(lines))
    (told,) = (one for one in checked(world.plan).findings if "compressed" in one.what)
    assert told.mend.startswith("gunzip 'events.csv.1.gz', if ")


def test_a_packed_sample_is_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.text = world.text.replace('"events.csv"', '"-"')
    sample = tmp_path / "sample.csv.gz"
    sample.write_bytes(gzip.compress(f"{HEADER}\n{row(1)}\n".encode()))
    told = checked(world.plan, sample=sample).findings[0]
    assert "is compressed: none of its events is read" in told.what
    assert told.mend.startswith("--sample FILE")
