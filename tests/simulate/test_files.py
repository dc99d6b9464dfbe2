"""Files hold the season and nothing else: every row, in order, and the same bytes again."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import duckdb
import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.simulate import Flaws, Season, season, write_csv, write_hourly_csv, write_parquet
from ameles.simulate.files import COLUMNS
from ameles.simulate.flaws import DAMAGES
from ameles.simulate.visits import BLOCK

Writer: TypeAlias = Callable[[Path, Season], None]
WRITERS: list[Writer] = [write_csv, write_hourly_csv, write_parquet]
SMALL = season(days=14, visitors=100, seed=5)
# To the bit; whoever changes the simulation on purpose changes these too.
SMALL_HASH = "7850e3408d5c4c074df861e516ea5825038afaa40cef661025574ad7e6f527b5"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_seed_gives_the_same_bytes_for_ever(tmp_path: Path) -> None:
    write_csv(tmp_path / "visits.csv", SMALL)
    written = (tmp_path / "visits.csv").read_bytes()
    assert hashlib.sha256(written).hexdigest() == SMALL_HASH


def test_a_csv_file_has_the_visits_as_they_are(tmp_path: Path) -> None:
    write_csv(tmp_path / "visits.csv", SMALL)
    (block,) = SMALL
    written = rows(tmp_path / "visits.csv")
    assert tuple(written[0]) == COLUMNS
    assert len(written) == len(block)
    times = [datetime.fromisoformat(row["reported_at"]) for row in written]
    assert all(row["reported_at"].endswith("+01:00") for row in written)
    in_utc = [time.astimezone(UTC).replace(tzinfo=None) for time in times]
    assert in_utc == block.reported_at.tolist()
    assert [int(row["device"], 16) for row in written] == block.device.tolist()
    assert {len(row["device"]) for row in written} == {8}
    assert {row["region"] for row in written} == {"north", "south", "east", "west"}
    assert [int(row["age"]) for row in written] == block.age.tolist()
    assert [row["fever"] == "true" for row in written] == block.fever.tolist()
    assert [row["cough"] == "true" for row in written] == block.cough.tolist()
    assert [float(row["temperature"]) for row in written] == block.temperature.tolist()


def test_parquet_and_csv_agree_across_blocks(tmp_path: Path) -> None:
    made = season(events=BLOCK + 10, flaws=Flaws(late=0.01, missing=0.01, undeclared=0.01))
    write_csv(tmp_path / "visits.csv", made)
    write_parquet(tmp_path / "visits.parquet", made)
    with duckdb.connect() as reader:
        types = reader.execute(
            "SELECT column_name, column_type FROM (DESCRIBE FROM read_parquet(?))",
            [str(tmp_path / "visits.parquet")],
        ).fetchall()
        assert types == [
            ("reported_at", "TIMESTAMP WITH TIME ZONE"),
            ("device", "VARCHAR"),
            ("region", "VARCHAR"),
            ("age", "INTEGER"),
            ("fever", "BOOLEAN"),
            ("cough", "BOOLEAN"),
            ("temperature", "DOUBLE"),
        ]
        casts = ", ".join(f"{name}::{kind} AS {name}" for name, kind in types)
        first = reader.execute(
            "SELECT * FROM read_parquet(?)", [str(tmp_path / "visits.parquet")]
        ).fetchnumpy()
        second = reader.execute(
            f"SELECT {casts} FROM read_csv(?, header = true, all_varchar = true)",
            [str(tmp_path / "visits.csv")],
        ).fetchnumpy()
    for name in COLUMNS:
        missing = np.ma.getmaskarray(first[name])
        assert missing.any() == (name in ("device", "region", "age", "temperature"))
        assert np.array_equal(missing, np.ma.getmaskarray(second[name]))
        assert np.array_equal(first[name][~missing], second[name][~missing])


def test_hourly_counts_are_those_of_the_visits(tmp_path: Path) -> None:
    made = season(events=BLOCK + 1000, days=3)
    write_hourly_csv(tmp_path / "hourly.csv", made)
    written = rows(tmp_path / "hourly.csv")
    kinds = [(row["reported_at"], row["region"], row["fever"]) for row in written]
    assert len(set(kinds)) == len(kinds) <= 3 * 24 * 4 * 2
    assert [time for time, _, _ in kinds] == sorted(time for time, _, _ in kinds)
    north = sum(
        int(row["n"])
        for row in written
        if (row["reported_at"], row["region"]) == ("2025-10-02T20:00:00+01:00", "north")
    )
    truth = 0
    for block in made:
        hour = block.reported_at.astype("datetime64[h]") == np.datetime64("2025-10-02T19")
        truth += int(np.count_nonzero(hour & (block.region == 0)))
    assert north == truth > 0
    assert sum(int(row["n"]) for row in written) == made.events


def test_missing_values_are_empty_fields(tmp_path: Path) -> None:
    write_csv(tmp_path / "visits.csv", season(visitors=100, flaws=Flaws(missing=1)))
    for row in rows(tmp_path / "visits.csv"):
        assert len(row) == len(COLUMNS)
        assert [row[name] for name in ("device", "region", "age", "temperature")].count("") == 1


def test_broken_lines_are_lines_of_their_own(tmp_path: Path) -> None:
    made = season(visitors=100, seed=2, flaws=Flaws(unparsable=0.5))
    write_csv(tmp_path / "visits.csv", made)
    write_csv(tmp_path / "sound.csv", season(visitors=100, seed=2))
    (block,) = made
    lines = (tmp_path / "visits.csv").read_text(encoding="utf-8").splitlines()[1:]
    sound = (tmp_path / "sound.csv").read_text(encoding="utf-8").splitlines()[1:]
    marks = ("", "yesterday,", ",forty,", ',"', ",37,2", "")
    assert len(marks) == DAMAGES + 1
    for line, whole, damage in zip(lines, sound, block.damage, strict=True):
        assert marks[damage] in line
        assert (line == whole) == (damage == 0)
    assert {line.count(",") for line, damage in zip(lines, block.damage, strict=True)} == {1, 6, 7}


def test_parquet_cannot_hold_broken_lines(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="'unparsable'"):
        write_parquet(tmp_path / "visits.parquet", season(visitors=10, flaws=0.1))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("write", WRITERS)
def test_a_folder_that_is_not_there_is_said(tmp_path: Path, write: Writer) -> None:
    with pytest.raises(BadInput, match="cannot be written"):
        write(tmp_path / "nowhere" / "visits", SMALL)


@pytest.mark.parametrize("write", WRITERS)
def test_a_quote_in_the_name_is_no_end_of_it(tmp_path: Path, write: Writer) -> None:
    folder = tmp_path / "it's"
    folder.mkdir()
    write(folder / "visits", SMALL)
    assert [file.name for file in folder.iterdir()] == ["visits"]


@pytest.mark.parametrize("write", WRITERS)
def test_an_interrupted_run_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Writer
) -> None:
    def stop(self: Season, number: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Season, "block", stop)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "visits", SMALL)
    assert not list(tmp_path.iterdir())
