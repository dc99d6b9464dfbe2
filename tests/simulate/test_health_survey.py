"""The made-up town: the same for ever, and with the weaknesses that the tutorial shows."""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ameles.core.exceptions import BadInput
from ameles.simulate import HealthSurvey, health_survey
from ameles.simulate.health_survey import DISTRICTS, ILLNESSES

TOWN = health_survey()
# To the bit; whoever changes the simulation on purpose changes these too.
HASHES = {
    "survey": "37ec270297879e246984cd287dabba0ca99a1ba22394bc7ddba896469234fccf",
    "register": "c7f6e458f25391c9ab2d2327f559ee75e4ab1864b1adef71b4b4aa7e7661bca7",
    "diary": "3ddd0ae035c27b7475cfaefca89ade213ef257a3af1af282df8a896f30997c94",
}


def about(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["born"], row["sex"], row["district"]


def test_a_seed_gives_the_same_bytes_for_ever(tmp_path: Path) -> None:
    TOWN.write(tmp_path)
    for name, known in HASHES.items():
        written = Path(tmp_path, f"{name}.csv").read_bytes()
        assert hashlib.sha256(written).hexdigest() == known
    with Path(tmp_path, "survey.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(TOWN.answers)


def test_another_seed_gives_another_town() -> None:
    assert health_survey(seed=8).register[0]["born"] != TOWN.register[0]["born"]


def test_everybody_answered_without_a_name_and_in_another_order() -> None:
    assert Counter(map(about, TOWN.answers)) == Counter(map(about, TOWN.register))
    assert [*map(about, TOWN.answers)] != [*map(about, TOWN.register)]
    assert "name" not in TOWN.answers[0]
    assert len({row["name"] for row in TOWN.register}) == len(TOWN.register)


def test_almost_every_answer_is_the_only_one_of_its_kind() -> None:
    alone = [count for count in Counter(map(about, TOWN.answers)).values() if count == 1]
    assert len(alone) == 1980


def test_values_are_in_their_ranges() -> None:
    assert {row["district"] for row in TOWN.answers} == set(DISTRICTS)
    assert {row["illness"] for row in TOWN.answers} == set(ILLNESSES)
    assert all(18 <= row["age"] <= 90 for row in TOWN.answers)
    assert all(0 <= row["sick_days"] < 30 for row in TOWN.answers)
    assert all(20 <= row["cost"] <= 200 and 1 <= row["month"] <= 12 for row in TOWN.diary)
    ages = [(row["age"], row["born"]) for row in TOWN.answers]
    assert all(2025 - born.year <= age <= 2026 - born.year for age, born in ages)


def test_one_person_has_several_rows_in_the_diary_each_of_another_month() -> None:
    rows = Counter(row["person"] for row in TOWN.diary)
    assert set(rows.values()) == set(range(1, 13))
    assert len(rows) == len(TOWN.register)
    months = Counter((row["person"], row["month"]) for row in TOWN.diary)
    assert set(months.values()) == {1}


def test_a_large_town_has_middle_initials() -> None:
    assert health_survey(people=521).register[520]["name"] == "Ada A. Abbott"


@pytest.mark.parametrize("people", [0, -1, "many"])
def test_a_town_needs_people(people: Any) -> None:
    with pytest.raises(BadInput, match="'people'"):
        health_survey(people=people)


def test_files_that_are_there_stay(tmp_path: Path) -> None:
    Path(tmp_path, "diary.csv").write_text("real", encoding="utf-8")
    small: HealthSurvey = health_survey(people=2)
    with pytest.raises(BadInput, match="exists already"):
        small.write(tmp_path)
    assert Path(tmp_path, "diary.csv").read_text(encoding="utf-8") == "real"
    assert not Path(tmp_path, "survey.csv").exists()
