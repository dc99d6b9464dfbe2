"""No text of a plan or of the data controls the terminal, or reorders its neighbours."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from ameles.core.exceptions import AmelesError
from ameles.core.words import printable
from tests.cli.conftest import Program

CLI = Path(__file__).parents[2] / "src" / "ameles" / "cli"
# Colours, the title of a window, a second line, right to left, a zero-width joiner, C1 controls.
KEYS = (
    *("\x1b[31mnorth", "\x1b]0;owned\x07", "\u202e2026 :htuos", "\u2066east", "we\u200bst"),
    *("a\u2028b", "\x9b2Jc", "d\re", "f\ng", "\ufeffh", "\u061ci"),
)
PLAN = """
[stream]
name = "flu"
source = "events-\\u202e.csv"
time = "at"
columns = { at = "timestamp", "region\\u202e" = "text", who = "text" }
start = "2026-01-01"
every = "1d"
horizon = 3
[privacy]
population = "visitors"
unit = "user"
user = "who"
max_per_step = 20
max_steps = 3
epsilon = 100
delta = 0.001
[[release]]
name = "visits"
measure = "count"
by = { "region\\u202e" = KEYS }
[[release]]
name = "found"
measure = "count"
by = { "region\\u202e" = "discovered" }
max_keys = 12
[store]
url = "flu-\\u202e.db"
[[sink]]
csv = "releases-\\u202e.csv"
"""
COMMANDS = (
    *(("plan",), ("run", "--yes", "--until", "2026-01-03"), ("run", "--until", "2026-01-03")),
    *(("status",), ("ledger",), ("releases",), ("releases", "--release", "visits")),
    *(("explain", "visits", "1"), ("explain", "found", "1"), ("explain", "\x1b[31m", "1")),
    *(("releases", "--key", "\x1b[31m"), ("releases", "--key", KEYS[2])),
    ("ledger", "--renew", "1", "--why", "\x1b[31mred\n\u202e", "--yes"),
    *(("ledger",), ("budget", "list"), ("compact",), ("backup", "\u202eflu.backup")),
    *(("restore", "\u202eflu.backup", "--dry-run"), ("plan", "\x1b[31m.toml")),
    *(("run", "--until", "2026-01-04", "--skip-gap", "\x1b[31m"), ("status",), ("grafana",)),
    ("retire", "flu", "--why", "\x1b[31m", "--yes"),
)


def unprintable(text: str) -> set[str]:
    return {one for one in text if one != "\n" and not one.isprintable()}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    text = PLAN.replace("KEYS", json.dumps(KEYS[:-2]))
    (tmp_path / "ameles.toml").write_text(text, encoding="utf-8")
    rows = [
        f"{key},{place}-{who}"
        for place, key in enumerate(KEYS)
        if not set(key) & set("\r\n")
        for who in range(200)
    ]
    lines = ["at,region\u202e,who", *(f"2026-01-01T10:00:00Z,{row}" for row in rows)]
    (tmp_path / "events-\u202e.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_commands_print_no_unprintable_character(site: Path, ameles: Program) -> None:
    said = ""
    for command in COMMANDS:
        ended = ameles(*command)
        assert not unprintable(ended.out), command
        assert not unprintable(ended.err), command
        assert ended.code in (0, 2), (command, ended.err)
        said += ended.out
    assert r"\x1b[31mnorth" in said
    assert r"\u202e2026 :htuos" in said
    assert r"f\ng" in said


def test_files_for_programs_have_keys_as_they_are(site: Path, ameles: Program) -> None:
    ameles("run", "--yes", "--until", "2026-01-03")
    assert KEYS[0] in ameles("releases", "--format", "csv").out
    lines = ameles("releases", "--format", "jsonl").out.split("\n")
    assert {json.loads(line)["key"] for line in lines if line} >= {*KEYS[:5]}


@pytest.mark.parametrize("key", KEYS)
def test_a_refusal_is_printable(key: str) -> None:
    said = str(AmelesError(f"There is no key {key}.", why=key, tip=f"one of {key}"))
    assert not unprintable(said)
    assert said.count("\n") == 2


def test_what_is_printable_stays_as_it_is() -> None:
    assert printable("é ü 日本 ±7") == "é ü 日本 ±7"
    assert printable("a\x1b]0;b\x07\r\n\u202e\x9b") == r"a\x1b]0;b\x07\r\n\u202e\x9b"


def test_every_command_about_a_plan_prints_through_one_function() -> None:
    """Others print no text of a plan or of data.  JSON escapes such characters itself."""
    for file in CLI.glob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        if "ameles.plan.plan" not in imported and "ameles.cli.plans" not in imported:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("typer.echo", "print"):
                what = node.args[0]
                assert isinstance(what, ast.Call), f"{file.name}:{node.lineno}"
                assert ast.unparse(what.func) in ("json.dumps", "printable"), file.name
