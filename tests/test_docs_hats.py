"""The page about hats is true: its code gives what hats.md says, and its table is the counters'."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import ameles
from ameles.mechanisms.counters.choose import compare
from ameles.mechanisms.counters.recipe import CounterRecipe

PAGE = (Path(__file__).parents[1] / "docs" / "hats.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| \**([\w ]+?)\** \|((?: \**[\d.]+ / [\d.]+\** \|){3})$", re.MULTILINE)
NAMES: dict[str, type[CounterRecipe]] = {
    "binary tree": ameles.BinaryCounter,
    "Elders": ameles.EldersCounter,
    "Siblings": ameles.SiblingsCounter,
    "Hats": ameles.HatsCounter,
}


def test_the_code_gives_what_the_page_says() -> None:
    blocks = re.findall(r"^```pycon\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    test = doctest.DocTestParser().get_doctest("\n\n".join(blocks), {}, "hats.md", None, 0)
    said: list[str] = []
    assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)


@pytest.mark.parametrize("place", [0, 1])
def test_the_table_is_that_of_the_counters(place: int) -> None:
    rows = {name: re.findall(r"([\d.]+) / ([\d.]+)", cells) for name, cells in ROW.findall(PAGE)}
    assert rows.keys() == NAMES.keys()
    found = {
        type(row.recipe): row for row in compare(epsilon=1, horizon=(2**10, 2**16, 2**20)[place])
    }
    for name, kind in NAMES.items():
        mean, worst = map(float, rows[name][place])
        assert mean == pytest.approx(found[kind].mean, abs=0.06)
        assert worst == pytest.approx(found[kind].worst, abs=0.06)
