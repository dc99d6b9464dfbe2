"""The page about discovered keys is followed: its messages, its plan, its commands, its code."""

from __future__ import annotations

import csv
import doctest
import re
import runpy
from pathlib import Path

import pytest

from ameles.mechanisms.discovery import KeyDiscovery
from tests.warm_processes import run

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "discovered_keys.md").read_text(encoding="utf-8")
PROOF = (ROOT / "docs" / "discovery.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def commands() -> list[list[str]]:
    lines = "".join(blocks("sh")).splitlines()
    return [line.partition("#")[0].split() for line in lines]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The folder in which all commands of the page were run, and what each of them said."""
    folder = tmp_path_factory.mktemp("tags")
    (plan,) = blocks("toml")
    (folder / "ameles.toml").write_text(plan, encoding="utf-8")
    answers = {}
    (program, script, option, file), *others = commands()
    assert (program, option) == ("python", "--write")
    runpy.run_path(str(ROOT / "examples" / script))["write"](folder / file)
    for program, *words in others:
        ended = run("-m", program, *words, cwd=folder)
        assert ended.returncode == 0, ended.stderr
        answers[" ".join(words)] = str(ended.stdout)
    return folder, answers


def test_the_plan_says_what_the_page_says(said: tuple[Path, dict[str, str]]) -> None:
    (shown,) = blocks("text")
    assert shown in said[1]["plan"]


def test_the_storm_is_found_and_no_tag_of_one_person_is(
    said: tuple[Path, dict[str, str]],
) -> None:
    """About 600 people use the new tag on its first day; 65 are needed.

    Somebody's own tag is published with a probability of 5e-9 at most, for each of 500 persons.
    """
    folder, answers = said
    with (folder / "releases.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {row["key"]: int(row["step"]) for row in reversed(rows)}
    assert found["#storm"] == 12
    assert "#storm" in answers["releases --first 12 --last 12"]
    assert set(found) == {
        *("#weather", "#football", "#traffic", "#concert", "#bakery", "#lostcat", "#storm")
    }
    assert max(int(row["step"]) for row in rows) == 30
    assert "people" in answers["explain people 30"]


def test_the_code_of_the_page_gives_what_it_says() -> None:
    test = doctest.DocTestParser().get_doctest("\n\n".join(blocks("pycon")), {}, "page", None, 0)
    told: list[str] = []
    assert doctest.DocTestRunner().run(test, out=told.append).failed == 0, "".join(told)


def test_the_tables_of_the_page_are_true() -> None:
    by_loss = re.findall(r"^\| ([\d.]+) \| (1e-\d) \| ([\d, ]+) \| (\d+) \|$", PAGE, re.MULTILINE)
    assert len(by_loss) == 6
    for epsilon, delta, users, half in by_loss:
        recipe = KeyDiscovery(epsilon=epsilon, delta=delta, horizon=30, records=8)
        assert [recipe.users_needed(t) for t in (1, 15, 30)] == [int(n) for n in users.split(",")]
        assert round(recipe.value_error(1).bound(30, 0.05)) == int(half)
    by_looks = re.findall(
        r"^\| ([\d,]+) \| ([\d,]+)[^|]* \| (\d+, [\d, ]+) \|$", PAGE, re.MULTILINE
    )
    assert len(by_looks) == 4
    for steps, looks, users in by_looks:
        horizon, count = (int(text.replace(",", "")) for text in (steps, looks))
        recipe = KeyDiscovery(epsilon=2, delta="1e-8", horizon=horizon, records=8, looks=count)
        needed = [recipe.users_needed(t) for t in (1, horizon // 2, horizon)]
        assert needed == [int(n) for n in users.split(",")]


def test_code_and_tests_that_the_proof_names_are_there() -> None:
    modules = re.findall(r"`(counters/[a-z_/]+)`", PROOF)
    tests = re.findall(r"`(test_[a-z_]+)`", PROOF)
    assert len(modules) >= 4
    assert len(tests) >= 4
    files = [ROOT / "src" / "ameles" / "mechanisms" / f"{name}.py" for name in modules]
    files += [ROOT / "tests" / "mechanisms" / "discovery" / f"{name}.py" for name in tests]
    assert [file.name for file in files if not file.is_file()] == []
