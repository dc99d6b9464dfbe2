"""Every correction for teachers names tests that exist and that hold its numbers."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "corrections.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if re.match(r"\| \d", line)
]


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    """The text of each test that the page names, with its cases."""
    wanted = set(re.findall(r"`(test_\w+)`", PAGE))
    bodies: dict[str, str] = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        text = file.read_text(encoding="utf-8")
        if not any(name in text for name in wanted):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name in wanted:
                lines = text.splitlines()
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                bodies[node.name] = bodies.get(node.name, "") + "\n".join(
                    lines[first - 1 : node.end_lineno]
                )
    return bodies


def test_there_are_corrections() -> None:
    assert len(ROWS) > 25
    assert {len(row) for row in ROWS} == {5}


def test_every_test_that_is_named_exists(sources: dict[str, str]) -> None:
    assert set(re.findall(r"`(test_\w+)`", PAGE)) == set(sources)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[4].strip("`")[:60])
def test_every_number_is_in_its_test(row: list[str], sources: dict[str, str]) -> None:
    _, _, true, numbers, tests = row
    text = "\n".join(sources[name] for name in re.findall(r"`(test_\w+)`", tests))
    assert text
    for number in filter(None, numbers.split(", ")):
        assert re.search(rf"(?<![\d.]){re.escape(number)}(?![\d.])", text), number
    # what the sentence says in decimals is what the column lists
    said = [n for n in re.findall(r"\d+\.\d{2,}", true) if f"1/{n}" not in true]
    assert set(said) <= {*numbers.split(", "), "0.01", "0.10", "1.00"}
