"""The program as a person meets it, in this process; and a small site with a launched stream."""

from __future__ import annotations

import io
import shutil
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest
from typer.testing import CliRunner

from ameles import cli
from ameles.cli.commands import app

DOOR = Path(__file__).parents[2] / "examples" / "door.toml"


@dataclass(frozen=True)
class Ended:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


def hearing_interrupts() -> None:
    """For a program that is to hear Ctrl-C: where tests run in the background it is ignored, and
    programs that they start would inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Program(Protocol):
    def __call__(self, *arguments: str) -> Ended: ...


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Program:
    """Runs a command to its end, refusals and exit code included."""
    return program(capsys, monkeypatch)


@pytest.fixture
def ameles(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Program:
    """The same, but it says yes to every launch."""
    run = program(capsys, monkeypatch)

    def agreed(*arguments: str) -> Ended:
        return run(*arguments, *(["--yes"] if arguments[0] in ("run", "serve") else []))

    return agreed


def program(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Program:
    def run(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["ameles", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, said.out, said.err)

    return run


@pytest.fixture(scope="session")
def finished_demo(tmp_path_factory: pytest.TempPathFactory, kind_of_store: str) -> Path:
    """What a small demo leaves behind, on this kind of store; not to be changed.

    Without its picture, which takes most of the time and which nobody here looks at.
    """
    folder = tmp_path_factory.mktemp(f"demo-{kind_of_store}") / "site"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("ameles.cli.demo._picture", lambda points, folder: None)
        ended = CliRunner().invoke(app, ["demo", str(folder), "--events", "3000"])
    assert ended.exit_code == 0, ended.output
    return folder


@pytest.fixture
def site(finished_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the demo's folder, entered: visits.csv, ameles.toml, a launched store."""
    folder = tmp_path / "site"
    shutil.copytree(finished_demo, folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def fresh(site: Path) -> Path:
    """The same folder before its first run."""
    for file in site.iterdir():
        if file.name not in ("visits.csv", "ameles.toml"):
            file.unlink()
    return site


@pytest.fixture
def door(tmp_path: Path, ameles: Program, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example that may be seized, launched, with its key in a folder instead of in RAM."""
    folder = tmp_path / "door"
    folder.mkdir()
    monkeypatch.chdir(folder)
    shutil.copy(DOOR, folder)
    plan = folder / "door.toml"
    text = plan.read_text(encoding="utf-8")
    keys = f'vault = "{tmp_path / "keys"}"'
    plan.write_text(text.replace('vault = "memory"', keys), encoding="utf-8")
    with (folder / "nothing").open("wb+") as nobody:
        monkeypatch.setattr("ameles.connectors.standard_input.DESCRIPTOR", nobody.fileno())
        assert ameles("run", "door.toml", "--until", "2026-01-02").code == 0
    return plan


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class TypeIn(Protocol):
    def __call__(self, text: str) -> None: ...


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch) -> TypeIn:
    """A person at a terminal, who types this."""

    def typed(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", Terminal(text))
        # within the test: what stands there while it is prepared is not what it runs with
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    return typed
