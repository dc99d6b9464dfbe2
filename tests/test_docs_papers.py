"""Every paper that the code cites is on the page of papers, with its DOI or arXiv number."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| ([^|]+ \d{4}) \| (.+) \|$", PAGE, re.MULTILINE))
# As docstrings cite: Chan-Shi-Song 2010, Hay et al. 2010, Honaker 2015.
NAME = r"(?:Mc)?[A-Z][a-zéš]+"
CITATION = re.compile(rf"\b({NAME}(?:-{NAME})*(?: et al\.)? (?:19|20)\d\d)\b(?!-)")
LINK = re.compile(r"\]\((https://doi\.org/10\.\d{4,}/\S+|https://arxiv\.org/abs/\d{4}\.\d{4,5})\)")


def cited(text: str) -> set[str]:
    return set(CITATION.findall(text))


def test_citations_are_found_however_they_are_written() -> None:
    text = "Chan-Shi-Song 2010, Thm 3; (McSherry 2009, Thm 4), Hay et al. 2010 and Lécuyer 2021."
    assert cited(text) == {
        *("Chan-Shi-Song 2010", "McSherry 2009", "Hay et al. 2010", "Lécuyer 2021")
    }


def test_every_paper_that_the_code_cites_is_listed() -> None:
    missing = {
        (file.name, paper)
        for file in (ROOT / "src").rglob("*.py")
        for paper in cited(file.read_text(encoding="utf-8")) - set(ROWS)
    }
    assert not missing, f"docs/papers.md needs rows: {missing}"


@pytest.mark.parametrize("paper", ROWS)
def test_every_paper_has_its_number_or_none(paper: str) -> None:
    assert bool(LINK.search(ROWS[paper])) != ROWS[paper].endswith("it has no DOI")


def test_numbers_on_other_pages_are_on_this_one() -> None:
    listed = set(re.findall(r"https://(?:doi\.org|arxiv\.org)/[^)\s]+", PAGE))
    for page in sorted((ROOT / "docs").glob("*.md")):
        used = set(re.findall(r"https://(?:doi\.org|arxiv\.org)/[^)\s]+", page.read_text("utf-8")))
        assert used <= listed, page.name
