"""The pages on questions about tables: their code runs, their pictures can be made again."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

from ameles.plot import PlotTable
from ameles.query import Query
from ameles.query.ends import ENDS
from ameles.simulate import health_survey
from tests.warm_processes import run

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def survey() -> ModuleType:
    spec = importlib.util.spec_from_file_location("survey", DOCS / "survey.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("page", "blocks"), [("query.md", 6), ("tutorial_query.md", 13)])
def test_the_code_of_the_page_gives_what_it_says(
    page: str, blocks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text(encoding="utf-8")
    examples = re.findall(r"^```pycon\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(examples) == blocks
    test = doctest.DocTestParser().get_doctest("\n\n".join(examples), {}, page, None, 0)
    said: list[str] = []
    assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)


def test_every_question_and_transformation_is_on_the_page() -> None:
    text = (DOCS / "query.md").read_text(encoding="utf-8")
    for end in ENDS:
        assert f"| `{end}(" in text, end
    for name in ("where", "select", "distinct", "select_many", "group_by", "union", "join"):
        assert hasattr(Query, name)
        assert f"| `{name}" in text, name


def test_the_command_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"p{i % 30},{'north' if i % 2 else 'south'},{i % 80},{i % 3 == 0}" for i in range(200)]
    Path("visits.csv").write_text("id,region,age,fever\n" + "\n".join(rows) + "\n", "utf-8")
    text = (DOCS / "query.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^```sh\nameles (.*?)^```$", text, re.MULTILINE | re.DOTALL)
    arguments = shlex.split(command.replace("\\\n", " "))
    ended = run("-m", "ameles", *arguments)
    assert ended.returncode == 0, ended.stderr
    assert "north" in ended.stdout


def test_the_pictures_are_those_that_the_program_makes(survey: ModuleType) -> None:
    made = sorted(file.stem for file in (DOCS / "survey").glob("*.svg"))
    assert made == sorted(survey.PICTURES)
    text = (DOCS / "tutorial_query.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\(survey/(\w+)\.svg\)", text)) == made
    for name in ("two_counts", "stability"):
        compute, _ = survey.PICTURES[name]
        assert compute().text() == PlotTable.read(DOCS / "survey" / f"{name}.csv").text()
    assert [row[4] for row in survey.districts().rows] == pytest.approx(
        [float(row[4]) for row in PlotTable.read(DOCS / "survey" / "districts.csv").rows], abs=1e-5
    )


def test_two_counts_are_within_the_promised_factor(survey: ModuleType) -> None:
    table = survey.two_counts()
    pairs = zip(
        table.where(who="with Pia").column("probability"),
        table.where(who="without Pia").column("probability"),
        strict=True,
    )
    assert all(1 / 1.6488 < one / other < 1.6488 for one, other in pairs)


def test_the_story_of_pia_is_in_the_data() -> None:
    north = [
        row
        for row in health_survey().answers
        if (row["district"], row["illness"]) == ("north", "depression")
    ]
    assert len(north) == 34
    assert len([row for row in north if str(row["born"]) != "1967-12-15"]) == 33
