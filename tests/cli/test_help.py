"""Every command explains itself, and what its help shows as an example runs."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperGroup, TyperOption
from typer.testing import CliRunner

from ameles.cli.commands import Later, app
from ameles.service import server
from tests.cli.conftest import Program

EXAMPLE_PLANS = Path(__file__).parents[2] / "examples"
COMMANDS_PAGE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"
# Those that are about files leave files behind; all others leave nothing.
LEAVE_FILES = {"backup", "check", "convert", "demo", "grafana", "init", "query", "run"}


def paths() -> list[tuple[str, ...]]:
    """The words that name each command; none for the program itself."""
    program = typer.main.get_command(app)
    assert isinstance(program, TyperGroup)
    inner = program.commands.values()
    assert not any(isinstance(command, TyperGroup) for command in inner), "walk the groups too"
    return [(), *((name,) for name in program.commands)]


def help_of(path: tuple[str, ...]) -> str:
    asked = CliRunner().invoke(app, [*path, "--help"], prog_name="ameles")
    assert asked.exit_code == 0
    return asked.stdout


def examples_in(text: str) -> list[str]:
    lines = [line.strip() for line in text.strip().splitlines()]
    return lines[lines.index("Examples:") + 1 :] if "Examples:" in lines else []


EXAMPLES = sorted({example for path in paths() for example in examples_in(help_of(path))})


@pytest.mark.parametrize("path", paths(), ids=str)
def test_help_describes_every_argument_and_ends_with_two_examples(path: tuple[str, ...]) -> None:
    text = help_of(path)
    examples = examples_in(text)
    assert len(examples) == 2
    assert all(example.startswith(" ".join(["ameles", *path])) for example in examples)
    described = [line.split(maxsplit=1) for line in text.splitlines() if line.startswith("  --")]
    assert described
    assert all(len(words) == 2 for words in described), "an option without a description"


@pytest.mark.parametrize("name", [name for path in paths() for name in path])
def test_what_a_command_does_is_listed_in_its_own_words(name: str) -> None:
    program = typer.main.get_command(app)
    assert isinstance(program, TyperGroup)
    listed = program.commands[name]
    assert isinstance(listed, Later)
    assert listed.get_short_help_str(500) == listed.loaded().get_short_help_str(500)


@pytest.mark.parametrize("name", [name for path in paths() for name in path])
def test_no_option_takes_the_next_one_as_its_value(ameles: Program, name: str) -> None:
    program = typer.main.get_command(app)
    assert isinstance(program, TyperGroup)
    listed = program.commands[name]
    assert isinstance(listed, Later)
    options = [each for each in listed.loaded().params if isinstance(each, TyperOption)]
    for option in (text for each in options if not each.is_flag for text in each.opts):
        for following in ("--json", "--until", "--no-such-option", "--"):
            ended = ameles(name, option, following, "2026-01-01")
            assert ended.code == 2
            assert f"{option} needs a value, and '{following}' is an option." in ended.err


@pytest.mark.usefixtures("fresh")
def test_a_value_that_begins_like_an_option_is_written_with_an_equals_sign(ameles: Program) -> None:
    launch = ("run", "--until", "2025-10-02")
    ended = ameles(*launch, "--same-file=--until")
    assert (ended.code, "'--until' matches no file" in ended.err) == (0, True), ended.err


@pytest.mark.parametrize("asked", ["--version", "--help"])
def test_what_needs_no_command_loads_none(asked: str) -> None:
    program = f"""
import sys
from ameles.cli import main
sys.argv = ["ameles", {asked!r}]
try:
    main()
finally:
    print(*sys.modules, sep="\\n", file=sys.stderr)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(ended.stderr.split())
    assert "ameles.cli.commands" in loaded
    assert not {"duckdb", "pydantic", "ameles.engine", "ameles.cli.run"} & loaded


@pytest.mark.parametrize("path", paths(), ids=str)
def test_every_command_is_documented(path: tuple[str, ...]) -> None:
    assert f"\n## {' '.join(('ameles', *path))}\n" in COMMANDS_PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_run(
    site: Path, ameles: Program, example: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "door.toml" in example:
        launch_door(site, ameles, monkeypatch)
    if example.startswith(("ameles serve", "ameles preview")):
        serve_briefly(monkeypatch)
    if example.startswith("ameles restore"):
        assert ameles("backup", "flu.backup").code == 0
    before = {file.name for file in site.iterdir()}
    _, *arguments = shlex.split(example)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)  # a person tries it
    ended = ameles(*arguments)
    assert ended.code == 0, ended.err
    assert ended.out.strip() or ended.err.strip()
    left = {file.name for file in site.iterdir()} - before
    assert not left or arguments[0] in LEAVE_FILES, "an example leaves nothing behind"


def serve_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that ends at once, on a port that nobody else has."""
    listening = server.listening
    monkeypatch.setattr(server, "listening", lambda text: listening("127.0.0.1:0"))
    for module in ("service", "preview_service"):
        monkeypatch.setattr(f"ameles.service.{module}.run_server", lambda *given: None)


def launch_door(site: Path, ameles: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pan-private example, launched, with its key beside the site instead of in RAM."""
    text = (EXAMPLE_PLANS / "door.toml").read_text(encoding="utf-8")
    text = text.replace('vault = "memory"', f'vault = "{site.parent / "keys"}"')
    (site / "door.toml").write_text(text, encoding="utf-8")
    with (site / "nothing").open("wb+") as nobody:
        monkeypatch.setattr("ameles.connectors.standard_input.DESCRIPTOR", nobody.fileno())
        assert ameles("run", "door.toml", "--until", "2026-01-02").code == 0
