"""The docs are made from the code as it is, build without a warning, and need no network."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
THEMED = ("index", "counters", "decisions/index")


# Builds all pages, then some of them again in the theme of the docs, in one process.
BUILD = """
import sys
from sphinx.cmd.build import main
*options, themed = sys.argv[1:]
quick = main([*options, "-D", "html_theme=basic"])
sys.exit(quick or main([*options, *themed.splitlines()]))
"""


def pages_in(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in folder.glob("*.md")}


def test_the_reference_is_fresh_and_the_same_everywhere(tmp_path: Path) -> None:
    """Made in a process that has little in common with whoever made the pages that are there."""
    folder = tmp_path / "made"
    ended = subprocess.run(
        [sys.executable, str(DOCS / "generate.py"), "--into", str(folder)],
        env={**os.environ, "PYTHONHASHSEED": "2", "COLUMNS": "200", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    made = pages_in(folder)
    assert made == pages_in(DOCS / "reference")
    for text in made.values():
        assert str(ROOT) not in text
        assert str(Path.home()) not in text
        assert " object at 0x" not in text


@pytest.mark.parametrize("change", ["nothing", "edited", "missing", "left over"])
def test_a_stale_reference_is_noticed(
    tmp_path: Path,
    change: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With pages that were made already: to make them takes seconds."""
    monkeypatch.syspath_prepend(DOCS)
    generator = importlib.import_module("generate")
    monkeypatch.setattr(generator, "pages", lambda: pages_in(DOCS / "reference"))
    shutil.copytree(DOCS / "reference", tmp_path / "reference")
    page = tmp_path / "reference" / "extras.md"
    match change:
        case "edited":
            page.write_text("edited by hand\n", encoding="utf-8")
        case "missing":
            page.unlink()
        case "left over":
            page = page.with_name("old.md")
            page.touch()
    options = ["generate.py", "--check", "--into", str(tmp_path / "reference")]
    monkeypatch.setattr(sys, "argv", options)
    assert generator.main() == (change != "nothing")
    assert (page.name in capsys.readouterr().err) == (change != "nothing")


class Loads(HTMLParser):
    """What a browser would fetch to show a page: not the links that a reader may follow."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "a":
            self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All pages in a theme that is quickly made, and then some in that of the docs.

    A third of the time would go into the navigation beside each page, which is the same for all.
    """
    folder = tmp_path_factory.mktemp("docs")
    options = ["-q", "-W", "--keep-going", "-d", str(folder / "trees")]
    places = [str(DOCS), str(folder / "html")]
    themed = "\n".join(str(DOCS / f"{page}.md") for page in THEMED)
    command = [sys.executable, "-c", BUILD, *options, *places, themed]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return folder / "html"


def test_some_pages_have_the_theme_of_the_docs(built: Path) -> None:
    pages = [page for page in built.rglob("*.html") if "furo" in page.read_text(encoding="utf-8")]
    names = {page.relative_to(built).with_suffix("").as_posix() for page in pages}
    assert {*THEMED, "search", "genindex"} <= names


def test_every_page_is_built(built: Path) -> None:
    written = {page.relative_to(DOCS).with_suffix("") for page in DOCS.rglob("*.md")}
    assert len(written) > 8
    for page in written:
        assert (built / page).with_suffix(".html").exists()


def test_pages_are_in_four_groups() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    captions = re.findall(r"^:caption: (.+)$", index, re.MULTILINE)
    assert captions == ["Tutorial", "How to", "Reference", "Explanation"]
    table = re.findall(r"\]\(([\w/]+)\.md\)", index)
    assert re.findall(r"^\S.* <([\w/]+)>$", index, re.MULTILINE) == table


def test_formulas_are_set(built: Path) -> None:
    page = (built / "counters.html").read_text(encoding="utf-8")
    assert '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">' in page
    assert "\\varepsilon" not in page


def test_reading_needs_no_network(built: Path) -> None:
    for page in built.rglob("*.html"):
        loads = Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        assert loads.addresses
        outside = [address for address in loads.addresses if re.match(r"(\w+:)?//", address)]
        assert not outside, page
    for sheet in built.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"""(@import|url\()\s*["']?(https?:)?//""", text), sheet


def test_pages_name_no_machine(built: Path) -> None:
    for page in built.rglob("*.html"):
        assert str(ROOT) not in page.read_text(encoding="utf-8")


def test_the_first_program_of_the_docs_runs() -> None:
    program = re.findall(r"```python\n(.*?)```", (DOCS / "index.md").read_text("utf-8"), re.DOTALL)
    assert len(program) == 1
    subprocess.run([sys.executable, "-W", "error", "-c", program[0]], check=True)
