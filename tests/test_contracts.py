"""The rules about imports are held, and each is seen to catch what it forbids.

A contract that names a module wrongly checks nothing and passes.  So every contract and
every banned name in ``pyproject.toml`` gets a violation planted in a copy of the tree.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
CONTRACTS: dict[str, dict[str, Any]] = {
    contract["id"]: contract for contract in TOOLS["importlinter"]["contracts"]
}
FORBIDDING = sorted(name for name, rule in CONTRACTS.items() if rule["type"] == "forbidden")
LAYERED = sorted(name for name, rule in CONTRACTS.items() if rule["type"] == "layers")
BANNED = sorted(TOOLS["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"])

# Where each contract's violation is planted; a contract without a line here fails.
PLANTED_IN = {
    "accounting": "accounting",
    "core": "core",
    "dashboard": "service/dashboard",
    "extras": "ledger",
    "front-door": "core",
    "keys": "mechanisms",
    "metrics": "service/metrics",
    "pictures": "plot",
    "readout": "service/readout",
    "terminal": "noise",
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return copied(tmp_path)


def copied(folder: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", folder / "src", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def plant(copy: Path, package: str, imports: list[str]) -> None:
    folder = copy / "src" / "ameles" / package
    module = folder.with_suffix(".py")
    if not module.exists():
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
        module = folder / "planted.py"
    with module.open("a", encoding="utf-8") as file:
        file.writelines(f"import {name}\n" for name in imports)


def lint_imports(copy: Path, *options: str) -> tuple[int, str]:
    program = str(Path(sys.executable).with_name("lint-imports"))
    # A wide page, because the words that are looked for must not be wrapped.
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "COLUMNS": "500"}
    ended = subprocess.run(
        [program, "--no-cache", "--no-logo", *options],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_the_tree_as_it_is_keeps_every_contract(copy: Path) -> None:
    code, said = lint_imports(copy)
    assert code == 0, said
    assert f"Contracts: {len(CONTRACTS)} kept, 0 broken" in said


def said_of_each(copy: Path, names: list[str]) -> dict[str, str]:
    """What is said about each of these contracts that is broken."""
    code, said = lint_imports(copy, *(word for name in names for word in ("--contract", name)))
    assert code == 1, said
    titles = {CONTRACTS[name]["name"]: name for name in names}
    lines = "|".join(re.escape(title) for title in titles)
    parts = re.split(rf"^({lines})\n-+$", said, flags=re.MULTILINE)
    return {titles[title]: text for title, text in zip(parts[1::2], parts[2::2], strict=True)}


@pytest.fixture(scope="module")
def forbidden_imports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """All of them are planted together: the import graph is made once."""
    copy = copied(tmp_path_factory.mktemp("forbidden"))
    for name in FORBIDDING:
        plant(copy, PLANTED_IN[name], CONTRACTS[name]["forbidden_modules"])
    return said_of_each(copy, FORBIDDING)


@pytest.mark.parametrize("name", FORBIDDING)
def test_a_forbidden_import_is_caught(forbidden_imports: dict[str, str], name: str) -> None:
    for module in CONTRACTS[name]["forbidden_modules"]:
        pattern = rf"^ameles.* is not allowed to import {module}:$"
        assert re.search(pattern, forbidden_imports.get(name, "it is kept"), re.MULTILINE)


def wrong_imports(contract: str) -> dict[str, list[str]]:
    """What each module of some layers may not import: all above it, and what stands beside it."""
    (container,) = CONTRACTS[contract]["containers"]
    rows = CONTRACTS[contract]["layers"]
    split = [[f"{container}.{name.strip(' ()')}" for name in re.split("[|:]", row)] for row in rows]
    wrong: dict[str, list[str]] = {}
    for upper, lower in combinations(split, 2):
        for importer in lower:
            wrong.setdefault(importer, []).extend(upper)
    for names, row in zip(split, rows, strict=True):
        if "|" in row:
            for importer, imported in permutations(names, 2):
                wrong.setdefault(importer, []).append(imported)
    return wrong


@pytest.fixture(scope="module")
def wrong_layers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The same with all imports that point up or aside."""
    copy = copied(tmp_path_factory.mktemp("wrong"))
    for contract in LAYERED:
        for importer, imported_names in wrong_imports(contract).items():
            plant(copy, importer.removeprefix("ameles.").replace(".", "/"), imported_names)
    return said_of_each(copy, LAYERED)


@pytest.mark.parametrize("contract", LAYERED)
def test_every_import_that_points_up_or_aside_is_caught(
    wrong_layers: dict[str, str], contract: str
) -> None:
    said = wrong_layers.get(contract, "it is kept")
    for importer, imported_names in wrong_imports(contract).items():
        for name in imported_names:
            assert f"{importer} is not allowed to import {name}:" in said


def test_a_module_without_a_layer_is_caught(copy: Path) -> None:
    strays = {name: f"{CONTRACTS[name]['containers'][0]}.stray" for name in LAYERED}
    for stray in strays.values():
        plant(copy, stray.removeprefix("ameles.").replace(".", "/"), [])
    said = said_of_each(copy, LAYERED)
    for name, stray in strays.items():
        assert f"- {stray}\n" in said.get(name, "it is kept")


def ways_to_use(name: str) -> list[str]:
    parent, _, leaf = name.rpartition(".")
    ways = [f"import {name}\n", f"from {name} import anything\n"]
    if parent:
        ways.append(f"from {parent} import {leaf}\n")
        ways.append(f"import {parent} as parent\n\nparent.{leaf}.anything()\n")
    return ways


def banned_uses(copy: Path) -> list[str]:
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format=json", "src"]
    ended = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    return [
        problem["filename"] for problem in json.loads(ended.stdout) if problem["code"] == "TID251"
    ]


def test_the_tree_as_it_is_uses_nothing_banned(copy: Path) -> None:
    assert not banned_uses(copy)


@pytest.mark.parametrize("name", BANNED)
def test_a_banned_name_is_caught_however_it_is_written(copy: Path, name: str) -> None:
    package = copy / "src" / "ameles" / "core"
    for number, source in enumerate(ways_to_use(name)):
        (package / f"planted_{number}.py").write_text(source, encoding="utf-8")
    caught = {Path(filename).name for filename in banned_uses(copy)}
    assert caught == {f"planted_{number}.py" for number in range(len(ways_to_use(name)))}


def loaded_by(program: str) -> set[str]:
    """The top-level packages that a fresh interpreter has after running a program."""
    ask = f"{program}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    ended = subprocess.run(
        [sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(ended.stdout.split())


def test_importing_ameles_loads_no_optional_package_and_no_terminal() -> None:
    heavy = {*CONTRACTS["extras"]["forbidden_modules"], *CONTRACTS["terminal"]["forbidden_modules"]}
    assert not heavy & loaded_by("import ameles")
    assert "typer" in heavy & loaded_by("import typer"), "the question itself works"
