"""The table of all goals: lines of every benchmark are understood, and missed goals are counted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.goals import Goal, goal_of

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "goal: one counter, x jitted jax-privacy: at least 25: 31.2: reached",
            Goal("one counter, x jitted jax-privacy", "at least 25", "31.2", "yes"),
        ),
        (
            "goal: laplace, numpy: at least 250 x: 180 to 400: not reached at every scale",
            Goal("laplace, numpy", "at least 250 x", "180 to 400", "NO"),
        ),
        (
            "  file: 1.2 s, 1.31 x bare DuckDB; goal at most 1.3: NOT reached",
            Goal("file: 1.2 s, 1.31 x bare DuckDB", "at most 1.3", "", "NO"),
        ),
        ("sum: 1.02 x, goal 1.2: MISSED", Goal("sum: 1.02 x", "1.2", "", "NO")),
        ("Net of a million: 0.50 s, goal 1 s", Goal("Net of a million: 0.50 s", "1 s", "", "?")),
        ("nothing was wanted here", None),
    ],
)
def test_lines_of_benchmarks(line: str, expected: Goal | None) -> None:
    assert goal_of(line) == expected


def test_a_goal_that_is_not_reached_is_an_exit_code(tmp_path: Path) -> None:
    for name, verdict in (("slow", "not reached"), ("quick", "reached")):
        text = f'print("goal: speed: at least 2: 1.5: {verdict}")\n'
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    program = (FOLDER / "goals.py").read_text(encoding="utf-8")
    (tmp_path / "goals.py").write_text(program, encoding="utf-8")

    def ran(*names: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(tmp_path / "goals.py"), *names]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    both = ran("quick", "slow", "--output", str(tmp_path / "kept"))
    assert both.returncode == 1
    assert [line.split()[0] for line in both.stdout.splitlines()[2:]] == ["quick", "slow"]
    assert (tmp_path / "kept" / "slow.txt").read_text(encoding="utf-8").startswith("goal: speed")
    assert ran("quick").returncode == 0
    assert ran("nothing").returncode == 2
