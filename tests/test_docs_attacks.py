"""The page on attacks has every attack, its words, and numbers that a guarantee allows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ameles.audit.attacks import differencing
from ameles.audit.attacks.catalogue import ATTACKS
from ameles.plot import PlotTable

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "attacks.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_has_its_section_picture_and_table(name: str) -> None:
    assert f"](attacks/{name}.svg)" in PAGE
    assert (DOCS / "attacks" / f"{name}.svg").exists()
    for target, effort, reached, allowed in PlotTable.read(DOCS / "attacks" / f"{name}.csv").rows:
        assert f"| {target} |" in PAGE, effort
        if allowed != "":
            assert float(reached) <= float(allowed) + 0.06, "regenerate: docs/attacks.py"


def test_the_words_of_the_page_are_those_of_the_reports() -> None:
    report = differencing(games=10)
    assert report.story in PAGE
    assert report.meaning in PAGE


def test_what_the_page_says_of_epsilon_is_so() -> None:
    assert re.search(r"73\.1% for epsilon 1, 52\.5% for epsilon 0\.1", PAGE)
