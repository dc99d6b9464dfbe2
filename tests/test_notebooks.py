"""The notebooks run from top to bottom, and their cells show something.

They are run by a few lines below and not by Jupyter: its kernel would add thirty packages to the
lock and open network ports, and what the cells do would be the same.
"""

from __future__ import annotations

import ast
import code
import json
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
BOOKS = sorted(FOLDER.glob("*.ipynb"))


def cells(book: Path) -> list[dict[str, Any]]:
    document = json.loads(book.read_text(encoding="utf-8"))
    assert document["nbformat"] == 4
    listed: list[dict[str, Any]] = document["cells"]
    return listed


class Interpreter(code.InteractiveInterpreter):
    """One namespace for all cells; what goes wrong is raised."""

    def showtraceback(self) -> None:
        raise  # the exception of the cell


def run(book: Path) -> None:
    """Runs all cells; the value of a cell's last line goes to ``sys.displayhook``."""
    interpreter = Interpreter({"__name__": "__main__"})
    for cell in cells(book):
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = [tree.body.pop()] if isinstance(tree.body[-1], ast.Expr) else []
        interpreter.runcode(compile(tree, book.name, "exec"))
        interpreter.runcode(compile(ast.Interactive(last), book.name, "single"))


def test_a_cell_that_fails_is_noticed(tmp_path: Path) -> None:
    source = {"cell_type": "code", "source": ["assert 1 == 2"]}
    broken = Path(tmp_path, "broken.ipynb")
    broken.write_text(json.dumps({"nbformat": 4, "cells": [source]}), encoding="utf-8")
    with pytest.raises(AssertionError):
        run(broken)


def test_there_is_one_for_each_reader() -> None:
    assert [book.stem for book in BOOKS] == ["analyst", "researcher", "teacher"]


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.stem)
def test_it_runs(
    book: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    shown: list[object] = []
    monkeypatch.setattr(sys, "displayhook", shown.append)
    run(book)
    assert capsys.readouterr().out
    if book.stem == "analyst":
        kinds = {type(value).__name__ for value in shown}
        assert {"Answer", "Drawing", "DataFrame"} <= kinds


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.stem)
def test_it_is_stored_without_outputs_and_with_ids(book: Path) -> None:
    listed = cells(book)
    assert len({cell["id"] for cell in listed}) == len(listed)
    for cell in listed:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
