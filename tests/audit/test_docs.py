"""The programs on the page about the audit run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "audit.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_there_are_programs() -> None:
    assert len(PROGRAMS) == 4


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_the_program_runs(program: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", program]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
