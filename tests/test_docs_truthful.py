"""The page on auctions, votes and games: its code runs, and its picture is what is computed."""

from __future__ import annotations

import doctest
import importlib.util
import re
from pathlib import Path

from ameles.mechanisms import truthful
from ameles.plot import PlotTable

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "truthful.md").read_text(encoding="utf-8")


def test_the_code_of_the_page_gives_what_it_says() -> None:
    blocks = re.findall(r"^```pycon\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5
    test = doctest.DocTestParser().get_doctest("\n\n".join(blocks), {}, "truthful.md", None, 0)
    said: list[str] = []
    assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)


def test_every_mechanism_is_on_the_page() -> None:
    for name in truthful.__all__:
        if name.endswith(("Mechanism", "Auction", "Vote", "Game", "Vcg", "Discovery", "ocation")):
            assert f"`{name}`" in PAGE, name


def test_the_picture_is_what_is_computed_and_no_lie_gains_more_than_the_bound() -> None:
    spec = importlib.util.spec_from_file_location("truthful_docs", DOCS / "truthful.py")
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    table = script.lies()
    assert table.text() == PlotTable.read(DOCS / "truthful" / "lies.csv").text()
    bounds = {epsilon: gain for _, epsilon, gain in table.where(line=script.BOUND).rows}
    for line, epsilon, gain in table.rows:
        if line != script.PRINTED:
            assert 0 < gain <= bounds[epsilon], line
