"""The program as a whole: its version, its refusals, its exit codes, both ways to start it."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from ameles import cli
from ameles.core.exceptions import AmelesError, BadInput, StoreRefused
from tests.cli.conftest import hearing_interrupts
from tests.warm_processes import run

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
    ended = run("-m", "ameles", *arguments)
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


def test_an_error_of_our_own_tells_where_and_nothing_of_what(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stumble() -> None:
        json.loads('{"canary": }')

    monkeypatch.setattr(cli, "app", stumble)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error[bug]: ")
    assert "JSONDecodeError in cli/__init__.py, line" in said.err
    assert "Traceback" not in said.err
    assert "canary" not in said.err


def test_an_interrupt_ends_quietly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "app", interrupted)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130
    assert capsys.readouterr() == ("", "")


def test_control_c_in_front_of_a_question(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("when,who\n", encoding="utf-8")
    asked = subprocess.Popen(
        [*WAYS["module"], "init", "visits.csv"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hearing_interrupts,
    )
    assert asked.stderr
    assert asked.stderr.readline() == "Columns: when, who\n"
    asked.send_signal(signal.SIGINT)
    out, err = asked.communicate(timeout=600)
    assert asked.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert not (tmp_path / "ameles.toml").exists()


def test_a_reader_that_goes_away_is_no_error_to_tell(finished_demo: Path) -> None:
    command = f"{shlex.quote(sys.executable)} -m ameles releases --format csv | head -n 1"
    ended = subprocess.run(
        ["/bin/sh", "-c", command], cwd=finished_demo, capture_output=True, text=True, check=True
    )
    assert ended.stdout.startswith("stream,release,key,step")
    assert ended.stderr == ""
