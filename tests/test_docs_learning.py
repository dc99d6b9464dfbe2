"""The page on learning: its code runs, and every learner is on it."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from ameles.mechanisms import learning

PAGE = (Path(__file__).parents[1] / "docs" / "learning.md").read_text(encoding="utf-8")


def test_the_code_of_the_page_gives_what_it_says() -> None:
    blocks = re.findall(r"^```pycon\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    test = doctest.DocTestParser().get_doctest("\n\n".join(blocks), {}, "learning.md", None, 0)
    said: list[str] = []
    assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)


def test_every_learner_is_on_the_page() -> None:
    for name in learning.__all__:
        if name not in ("MixtureModel", "leader_regret"):
            assert f"`{name}`" in PAGE, name
