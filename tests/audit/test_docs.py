"""The programs on the page about the audit run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.warm_processes import run

PAGE = Path(__file__).parents[2] / "docs" / "audit.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_there_are_programs() -> None:
    assert len(PROGRAMS) == 4


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_the_program_runs(program: str, tmp_path: Path) -> None:
    strict = "import warnings\nwarnings.simplefilter('error')\n"
    ended = run("-c", strict + program, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
