"""The page on learning: its code runs, and every learner is on it."""

from __future__ import annotations

import doctest
import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np

from ameles.mechanisms import learning
from ameles.mechanisms.learning.gradients import clipped
from ameles.plot import PlotTable

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "learning.md").read_text(encoding="utf-8")


def test_the_code_of_the_page_gives_what_it_says() -> None:
    blocks = re.findall(r"^```pycon\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    test = doctest.DocTestParser().get_doctest("\n\n".join(blocks), {}, "learning.md", None, 0)
    said: list[str] = []
    assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)


def test_every_learner_is_on_the_page() -> None:
    for name in learning.__all__:
        if name not in ("MixtureModel", "leader_regret"):
            assert f"`{name}`" in PAGE, name


def test_the_picture_shows_what_its_script_computes(tmp_path: Path) -> None:
    """A small run of the script has the lines of the picture; with noise, L2 is above L1."""
    spec = importlib.util.spec_from_file_location("learning_docs", DOCS / "learning.py")
    assert spec
    assert spec.loader
    script: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert "learning/features.svg" in PAGE
    shown = PlotTable.read(DOCS / "learning" / "features.csv")
    script.FEATURES = (1, 2)
    small = script.accuracy(people=96, runs=1)
    assert small.values("line") == shown.values("line")
    assert all(0 <= share <= 1 for share in small.column("right"))
    script.draw(small, tmp_path / "features.svg")
    assert (tmp_path / "features.svg").stat().st_size > 1000
    length, size = (shown.where(line=line).column("right") for line in (script.L2, script.L1))
    assert all(one > other for one, other in zip(length[1:], size[1:], strict=True))
    vectors = np.array([[script.GRID * 2**20] * 9])
    assert np.abs(script.in_l1(vectors)).sum() <= script.GRID < np.abs(clipped(vectors)).sum()
