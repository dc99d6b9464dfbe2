"""The program as a whole: its version, its refusals, its exit codes, both ways to start it."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from ameles import cli
from ameles.core.exceptions import AmelesError, BadInput, StoreRefused

WAYS = {
    "module": [sys.executable, "-m", "ameles"],
    "script": [str(Path(sys.executable).with_name("ameles"))],
}


@pytest.mark.parametrize("way", WAYS)
def test_the_version_is_the_installed_one(way: str) -> None:
    ended = subprocess.run([*WAYS[way], "--version"], capture_output=True, text=True, check=True)
    assert ended.stdout == f"ameles {metadata.version('ameles')}\n"
    assert ended.stderr == ""


@pytest.mark.parametrize("arguments", [["nonsense"], ["doctor", "--nonsense"], []])
def test_wrong_usage_exits_with_2_and_says_so_on_standard_error(arguments: list[str]) -> None:
    command = [*WAYS["module"], *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "Usage: " in ended.stderr
    assert ended.stdout == ""


@pytest.mark.parametrize(
    "refusal",
    [BadInput("no", tip="yes"), StoreRefused("no", why="so"), AmelesError("no")],
    ids=lambda refusal: type(refusal).__name__,
)
def test_a_refusal_is_its_text_and_its_exit_code(
    refusal: AmelesError, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> None:
        raise refusal

    monkeypatch.setattr(cli, "app", refuse)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == refusal.exit_code
    assert capsys.readouterr() == ("", f"{refusal}\n")
