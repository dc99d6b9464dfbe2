"""The README is true: its code runs and prints what it says, its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from datetime import date, timedelta
from pathlib import Path

import pytest

from ameles.mechanisms.catalogue import MECHANISMS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
SAID = re.compile(r"^print\(.*\)(?:  # (.*))?$", re.MULTILINE)


def test_it_starts_with_the_two_commands() -> None:
    top = README.partition("## A plan")[0]
    assert "./run demo" in top
    assert "./run test" in top


def test_there_is_a_program() -> None:
    assert PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_programs_print_what_their_comments_say(program: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", program]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    printed = ended.stdout.splitlines()
    promised = [match[1] for match in SAID.finditer(program)]
    assert len(printed) == len(promised)
    assert any(promised)
    for line, promise in zip(printed, promised, strict=True):
        assert promise is None or line == promise


def test_it_is_short_and_its_examples_are_shorter() -> None:
    assert len(README.splitlines()) < 130
    (plan,) = re.findall(r"^```toml\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert len([line for line in plan.splitlines() if line]) <= 12
    assert [len(program.splitlines()) for program in PROGRAMS] == [6, 9]


def test_it_counts_the_counters() -> None:
    counters = [recipe for recipe in MECHANISMS if recipe.__name__.endswith("Counter")]
    assert f"[{len(counters)} continual counters]" in README


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#]+)\)", text)
    assert targets
    for target in targets:
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_every_package_is_in_the_layout() -> None:
    layout = (ROOT / "docs" / "layout.md").read_text(encoding="utf-8")
    source = layout.partition("src/ameles/\n")[2].partition("\ntests/")[0]
    listed = set(re.findall(r"^  (\w+)/ ", source, re.MULTILINE))
    assert listed == {file.parent.name for file in (ROOT / "src/ameles").glob("*/__init__.py")}


def test_the_version_is_in_the_changelog_with_its_date() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    log = (ROOT / "CHANGELOG.md").read_text("utf-8")
    newest = re.findall(r"^## (\S+) - (\d{4}-\d\d-\d\d)$", log, re.MULTILINE)[0]
    assert newest[0] == project["version"]
    assert date.fromisoformat(newest[1]) <= date.today() + timedelta(days=1)


def test_every_command_of_the_contributors_is_one_of_run() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    usage = subprocess.run([ROOT / "run"], capture_output=True, text=True, check=False).stderr
    known = set(re.findall(r"^  (\w+)  +", usage, re.MULTILINE))
    used = set(re.findall(r"\./run (\w+)", text))
    assert used
    assert used <= known
