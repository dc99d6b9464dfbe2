"""The values of columns: how many are read, what the others look like, and which key reads them."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import duckdb
import pytest

from ameles.connectors.text.time_format import check_time_format
from ameles.engine.owner_check.column_facts import FORMATS, shape_sql
from tests.engine.owner_check.looks import checked, column, mended, told
from tests.engine.worlds import World, row


def test_columns_are_read_missing_or_of_another_kind(tmp_path: Path) -> None:
    rows = [row(1), row(1, age=""), row(1, age="old"), row(1, age=3.5), row(1, who="", region="")]
    facts = checked(World(tmp_path).write(rows).plan)
    assert column(facts, "age") == (4, 1, 2)
    assert column(facts, "who") == column(facts, "region") == (4, 1, 0)
    assert column(facts, "at") == (5, 0, 0)
    (age,) = [one for one in facts.columns if one.name == "age"]
    assert {(one.shape, one.count, one.example) for one in age.shapes} == {
        ("aaa", 1, None),
        ("9.9", 1, None),
    }
    assert 'columns = { age = "number", ... }' in "".join(told(facts))


def test_values_are_shown_only_to_who_asks(tmp_path: Path) -> None:
    plan = World(tmp_path).write([row(1, age="canary"), row(1, region="canary-west")]).plan
    assert "canary" not in json.dumps(checked(plan).to_dict(), default=str)
    shown = checked(plan, show=True)
    assert [one.example for one in shown.columns[3].shapes] == ["canary"]
    assert shown.releases[0].others == {"region": [("canary-west", 1)]}


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        ("22.01.2020", "99.99.9999"),
        ("Ünï7-日", "Aaa9-a"),
        ("x" * 500, "a..a"),
        ("1234567890123", "9..9"),
        ("A" * 9 + "b" * 8, "A..Aaaaaaaaa"),
        ("a.b." * 50, "a.a." * 10),
        ("\x1b[2J", "\x1b[9A"),
    ],
)
def test_shapes(value: str, shape: str) -> None:
    sql = f"SELECT {shape_sql('CAST(? AS VARCHAR)')}"
    assert duckdb.execute(sql, [value]).fetchall() == [(shape,)]


@pytest.mark.parametrize(
    ("pattern", "mend"),
    [
        ("%d.%m.%Y", 'time_format = "%d.%m.%Y"'),
        ("%m/%d/%Y", 'time_format = "%m/%d/%Y"'),
        ("%d/%m/%Y %H:%M", 'time_format = "%d/%m/%Y %H:%M"'),
        ("%b %d, %Y", 'time_format = "%b %d, %Y"'),
        ("%s000", 'time_format = "epoch-ms"'),
    ],
)
def test_a_format_of_times_is_found(tmp_path: Path, pattern: str, mend: str) -> None:
    times = [f'"{datetime(2026, 1, number, 12):{pattern}}"' for number in range(1, 31)]
    rows = [",".join([time, *row(1).split(",")[1:]]) for time in times]
    facts = checked(World(tmp_path).write(rows).plan)
    assert (facts.times.without, facts.times.counted) == (30, 0)
    assert facts.findings[0].mend == mend


def test_the_formats_that_are_proposed_are_ones_that_a_plan_takes() -> None:
    for name in FORMATS:
        check_time_format([name])


def test_times_of_two_formats_and_iso_under_a_pattern(tmp_path: Path) -> None:
    """A pattern takes the place of ISO 8601, so it is not proposed alone where some times are."""
    world = World(tmp_path)
    rows = [row(1), *(",".join(["30.01.2026", *row(1).split(",")[1:]]) for _ in range(3))]
    mend = checked(world.write(rows).plan).findings[0].mend
    assert mend == 'time_format = ["%Y-%m-%dT%H:%M:%S%z", "%d.%m.%Y"]'
    facts = mended(world, mend)
    assert (facts.times.without, facts.times.counted) == (0, 1)
    world.text = world.text.replace(f"{mend}\n", "")
    world.text = world.text.replace("[privacy]", 'time_format = "%d.%m.%Y"\n[privacy]')
    facts = checked(world.write([row(1)]).plan)
    assert facts.findings[0].mend == "leave time_format out: these times are in ISO 8601"


def test_two_formats_that_fit_alike_are_both_told(tmp_path: Path) -> None:
    rows = [",".join(["03/04/2026", *row(1).split(",")[1:]])]
    mend = checked(World(tmp_path).write(rows).plan).findings[0].mend
    assert mend == 'time_format = "%d/%m/%Y" or time_format = "%m/%d/%Y"'


def test_a_decimal_comma_is_found(tmp_path: Path) -> None:
    facts = checked(World(tmp_path).write([row(1, amount='"3,5"')]).plan)
    assert facts.findings[0].mend == 'decimal = ","'
