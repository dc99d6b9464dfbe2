"""The README is true: its code runs and prints what it says, its folders exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
SAID = re.compile(r"^print\(.*\)(?:  # (.*))?$", re.MULTILINE)


def test_it_starts_with_the_two_commands() -> None:
    top = README[:800]
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


def test_the_layout_is_the_real_one() -> None:
    listed = set(re.findall(r"^\| `([\w./]+)/` \|", README, re.MULTILINE))
    assert listed, "the table of folders"
    assert all((ROOT / folder).is_dir() for folder in listed)
    packages = {file.parent.name for file in (ROOT / "src/ameles").glob("*/__init__.py")}
    assert {f"src/ameles/{package}" for package in packages} <= listed


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert "://" not in target
        assert (ROOT / target).exists(), target
