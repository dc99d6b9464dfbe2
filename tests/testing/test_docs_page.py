"""The page about the kit: its tests pass as they stand there, and it names everything public."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import ameles.testing

PAGE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_its_tests_pass(tmp_path: Path) -> None:
    """Without the plugins that happen to be installed here, which take a second to load."""
    (tmp_path / "visits.toml").write_text("".join(blocks("toml")), encoding="utf-8")
    tests = "\n\n".join(blocks("python"))
    (tmp_path / "test_visits.py").write_text(tests, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "test_visits.py"]
    ended = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
    assert f"{tests.count('def test_')} passed" in ended.stdout
    assert not (tmp_path / "visits.db").exists()
    assert not (tmp_path / "releases.csv").exists()


def test_it_names_everything_public() -> None:
    listed = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", PAGE.partition("## All names")[2], re.M)
    assert {name.strip("` ") for row in listed for name in row.split(",")} == set(
        ameles.testing.__all__
    )


def test_every_public_name_is_described() -> None:
    for name in ameles.testing.__all__:
        assert inspect.getdoc(getattr(ameles.testing, name))
