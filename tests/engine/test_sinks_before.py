"""Sinks of a stream that was launched before Parquet was a folder and CSV was shielded: they go on.

``sinks_before`` is such a stream after two of its six steps, with its store as SQL.
"""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from ameles.core.exceptions import AmelesError, StoreRefused
from ameles.engine.engine import Engine
from ameles.plan.plan import read_plan
from ameles.store import open_store

BEFORE = Path(__file__).with_name("sinks_before")


@pytest.fixture
def world(tmp_path: Path) -> Path:
    for file in BEFORE.iterdir():
        shutil.copy(file, tmp_path)
    source = (tmp_path / "events.csv").stat()
    text = (tmp_path / "s.sql").read_text(encoding="utf-8")
    # the position is that of this copy of the source
    text = text.replace(
        '"device":65024,"inode":10314005', f'"device":{source.st_dev},"inode":{source.st_ino}'
    )
    (tmp_path / "s.db").touch(mode=0o600)
    with closing(sqlite3.connect(tmp_path / "s.db")) as bare:
        bare.executescript(text)
    return tmp_path


def run(world: Path, step: int) -> None:
    with closing(open_store(str(world / "s.db"))) as store:
        plan = read_plan(world / "plan.toml")
        Engine(plan, store).run(datetime(2026, 1, 1 + step, tzinfo=UTC))


def of_csv(world: Path) -> list[list[str]]:
    text = (world / "out.csv").read_text(encoding="utf-8")
    return list(csv.reader(text.splitlines()))[1:]


def of_parquet(files: str) -> list[tuple[str, int, float]]:
    with duckdb.connect() as duck:
        return duck.execute(f"SELECT key, step, value FROM '{files}'").fetchall()


def test_they_go_on_with_the_same_numbers(world: Path) -> None:
    lines, before = (world / "out.csv").read_bytes(), of_parquet(str(world / "out.parquet"))
    objects = (world / "out.jsonl").read_bytes()
    for step in (2, 3, 5):
        run(world, step)
        rows = [(row[2], int(row[3]), float(row[6])) for row in of_csv(world)]
        assert (world / "out.csv").read_bytes().startswith(lines)
        assert (world / "out.jsonl").read_bytes().startswith(objects)
        assert max(step for _, step, _ in rows) == step
        stored = of_parquet(str(world / "out.parquet" / "*.parquet"))
        assert stored[: len(before)] == before
        assert stored == rows
        read = [json.loads(line) for line in (world / "out.jsonl").read_text().splitlines()]
        assert [(row["key"], row["step"], row["value"]) for row in read] == rows
    keys = {row[2] for row in of_csv(world)}
    assert keys == {"=north", "+south", "-1", "'east", "west"}, "as they were published"


def test_a_csv_of_that_time_comes_back_as_it_was(world: Path) -> None:
    lines = (world / "out.csv").read_bytes()
    (world / "out.csv").unlink()
    run(world, 2)
    assert (world / "out.csv").read_bytes() == lines


def test_the_single_file_is_a_fence_until_the_folder_is(world: Path) -> None:
    with closing(sqlite3.connect(world / "s.db")) as bare, bare:
        bare.execute("DROP TRIGGER IF EXISTS stream_advances")
        bare.execute("UPDATE stream SET released = 1, scheduled = 1")
    for kind in ("csv", "jsonl"):
        (world / f"out.{kind}").unlink()
        (world / f"out.{kind}.ameles").unlink()
    with pytest.raises(StoreRefused, match=r"parquet:out.parquet has step 2; .* released 1"):
        run(world, 3)
    assert (world / "out.parquet").is_file()


def test_numbers_that_were_not_published_do_not_take_its_place(world: Path) -> None:
    before = (world / "out.parquet").read_bytes()
    with closing(sqlite3.connect(world / "s.db")) as bare, bare:
        for name, text in bare.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ):
            del text
            bare.execute(f"DROP TRIGGER {name}")
        bare.execute("UPDATE release SET value = value + 1")
    for kind in ("csv", "jsonl"):  # else they are compared first
        (world / f"out.{kind}").unlink()
    with pytest.raises(AmelesError, match=r"parquet:out\.parquet has other numbers for step 2"):
        run(world, 2)
    assert (world / "out.parquet").read_bytes() == before
