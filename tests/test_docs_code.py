"""The code on the pages that teach runs, and gives what the pages say."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize(
    ("page", "blocks"),
    [
        ("library.md", 10),
        ("proving.md", 5),
        ("synthetic.md", 8),
        ("one_shot.md", 11),
        ("local.md", 6),
        ("discovery.md", 2),
    ],
)
def test_the_code_of_the_page_gives_what_it_says(page: str, blocks: int) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    examples = re.findall(r"^```pycon\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(examples) == blocks
    test = doctest.DocTestParser().get_doctest("\n\n".join(examples), {}, page, None, 0)
    said: list[str] = []
    assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)


def test_every_page_with_code_is_tested() -> None:
    """The other pages with code have tests of their own, in ``test_docs_*.py`` or beside them."""
    tests = Path(__file__).parent
    sources = "".join(file.read_text(encoding="utf-8") for file in tests.rglob("test_*.py"))
    for page in DOCS.glob("*.md"):
        if "```pycon\n" in page.read_text(encoding="utf-8"):
            assert page.name in sources, page.name
