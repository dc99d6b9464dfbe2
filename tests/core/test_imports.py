"""Core stands on the standard library alone, and everything else stands on core."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import ameles.core

FILES = sorted(Path(ameles.core.__file__).parent.glob("*.py"))


def foreign(source: str) -> list[str]:
    """The modules that a file imports when it runs, from outside core and Python."""
    imported = []
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                continue  # read by mypy, never run
            case ast.Import(names=names):
                imported += [alias.name for alias in names]
            case ast.ImportFrom(module=str(module)):
                imported.append(module)
        waiting += ast.iter_child_nodes(node)
    return sorted(
        name
        for name in imported
        if name.split(".")[0] not in sys.stdlib_module_names and not name.startswith("ameles.core")
    )


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.name))
def test_a_file_of_core_imports_only_python_and_core(file: Path) -> None:
    assert foreign(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("import numpy as np", ["numpy"]),
        ("def late():\n    from ameles.noise import coin", ["ameles.noise"]),
        ("if TYPE_CHECKING:\n    import numpy\nimport json", []),
        ("from ameles.core import codec", []),
    ],
)
def test_a_planted_import_is_seen(source: str, seen: list[str]) -> None:
    assert foreign(source) == seen


def test_there_are_files_to_look_at() -> None:
    assert {"guarantee.py", "parameters.py", "recipe.py"} <= {file.name for file in FILES}
