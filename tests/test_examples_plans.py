"""Every example plan is short, says what it is for, and fits the simulated site."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from ameles.connectors.duck import connect
from ameles.connectors.source import SeekableSource
from ameles.measures.catalogue import MEASURES
from ameles.measures.fields import identifier
from ameles.mechanisms.local import RandomizedResponse
from ameles.noise import System
from ameles.plan.plan import read_plan
from ameles.plan.source import plan_source
from ameles.simulate import REGIONS, Season, season, write_csv, write_hourly_csv

PLANS = sorted((Path(__file__).parents[1] / "examples" / "plans").glob("*.toml"))


def write_german(path: Path, site: Season) -> None:
    """The season as a German spreadsheet saves it."""
    plain = path.with_name("plain.csv")
    write_csv(plain, site)
    with (
        plain.open(newline="", encoding="utf-8") as given,
        path.open("w", newline="", encoding="latin-1") as written,
    ):
        writer = csv.writer(written, delimiter=";")
        writer.writerow(["Zeit", "Körpertemperatur"])
        for row in csv.DictReader(given):
            time = datetime.fromisoformat(row["reported_at"]).astimezone(ZoneInfo("Europe/Berlin"))
            degrees = row["temperature"].replace(".", ",")
            writer.writerow([time.strftime("%d.%m.%Y %H:%M:%S"), degrees])
    plain.unlink()


def write_reports(path: Path, site: Season) -> None:
    """The season's regions as devices report them; every tenth report is sent again."""
    plain = path.with_name("plain.csv")
    write_csv(plain, site)
    with plain.open(newline="", encoding="utf-8") as given:
        rows = list(csv.DictReader(given))
    plain.unlink()
    recipe = RandomizedResponse(categories=len(REGIONS), epsilon=2)
    values = [REGIONS.index(row["region"]) for row in rows]
    reports = recipe.start(System.direct()).feed(values).tolist()
    lines = [
        (row["reported_at"], f"device-{number}", report)
        for number, (row, report) in enumerate(zip(rows, reports, strict=True))
    ]
    with path.open("w", newline="", encoding="utf-8") as written:
        csv.writer(written).writerows([("reported_at", "nonce", "report"), *lines, *lines[::10]])


WRITERS: dict[str, Callable[[Path, Season], None]] = {
    "visits.csv": write_csv,
    "hourly.csv": write_hourly_csv,
    "besuche.csv": write_german,
    "reports.csv": write_reports,
}
SITE = season(visitors=300)
each_plan = pytest.mark.parametrize("file", PLANS, ids=lambda file: file.stem)


@cache
def plan(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the plans name as their sources."""
    folder = tmp_path_factory.mktemp("site")
    for name, write in WRITERS.items():
        write(folder / name, SITE)
    return folder


def measured(files: Sequence[Path]) -> set[str]:
    return {release["measure"] for file in files for release in plan(file)["release"]}


def test_there_is_a_plan_for_every_measure_and_every_unit() -> None:
    # Plans of states that may be seized read standard input; they stand beside the folder.
    seized = measured(list(PLANS[0].parents[1].glob("*.toml")))
    assert measured(PLANS) | seized == {*MEASURES}
    assert {file.stem for file in PLANS} >= {*MEASURES} - seized
    assert {plan(file)["privacy"]["unit"] for file in PLANS} == {"event", "user", "user-window"}
    assert any("weight" in plan(file)["stream"] for file in PLANS)
    assert any(release.get("other") for file in PLANS for release in plan(file)["release"])


@each_plan
def test_it_is_short_and_begins_with_what_it_is_for(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ")
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 100


@each_plan
def test_its_files_are_its_own_and_lie_beside_it(file: Path) -> None:
    written = plan(file)
    assert written["stream"]["name"] == file.stem
    assert written["store"] == {"url": f"{file.stem}.db"}
    assert written["sink"] == [{"csv": f"{file.stem}-releases.csv"}]


@each_plan
def test_its_clock_is_that_of_the_season(file: Path) -> None:
    stream = plan(file)["stream"]
    assert date.fromisoformat(stream["start"]) == SITE.start
    assert stream["every"] == "1d"
    assert timedelta(days=1) * stream["horizon"] == timedelta(days=SITE.days)


@each_plan
def test_its_columns_are_in_its_source_and_of_the_declared_kind(file: Path, site: Path) -> None:
    checked = replace(read_plan(file), base=site)
    columns = checked.stream.columns
    counts = ", ".join(f"count({identifier(name)})" for name in columns)
    rows, source = 0, plan_source(checked)
    assert isinstance(source, SeekableSource)
    with closing(connect(zone=checked.stream.zone, memory=1 << 28)) as duck:
        for relation in source.reading(None).scans(duck):
            asked = f"SELECT count(*), {counts} FROM {relation}"
            ((some, *fitting),) = duck.execute(asked).fetchall()
            assert fitting == [some] * len(columns)
            rows += some
    assert rows > 0


@each_plan
def test_everything_it_names_is_declared_and_nothing_is_declared_in_vain(file: Path) -> None:
    written = plan(file)
    stream = written["stream"]
    names = {stream["time"], stream.get("weight"), written["privacy"].get("user")} - {None}
    for release in written["release"]:
        names |= {release["column"]} if "column" in release else set()
        names |= set(release.get("by", {}))
        names |= {word for word in release.get("where", "").split() if word in stream["columns"]}
    assert names == set(stream["columns"])


@each_plan
def test_its_keys_are_those_of_the_site(file: Path) -> None:
    for release in plan(file)["release"]:
        regions = release.get("by", {}).get("region") or release.get("categories")
        # Keys that are discovered are compared with the site's where the plan runs.
        assert regions in (None, list(REGIONS), "discovered")


SEIZED = [
    file
    for file in sorted((Path(__file__).parents[1] / "examples").rglob("*.toml"))
    if "intrusions" in plan(file)["privacy"]
]


@pytest.mark.parametrize("file", SEIZED, ids=lambda file: file.stem)
def test_what_it_says_of_intrusions_is_what_it_has(file: Path) -> None:
    said = file.read_text(encoding="utf-8").partition("[stream]")[0]
    words = {"one": "seized once", "announced": "announced", "every": "at every step"}
    kind = plan(file)["privacy"]["intrusions"]
    assert [other for other, word in words.items() if word in said] == [kind]
