"""Settings of the docs: plain Markdown, one theme, nothing from the network.

Formulas are MathML, which browsers show by themselves: the usual scripts would be loaded from
somebody's server, and drawing pictures of formulas would need LaTeX.
"""

from __future__ import annotations

import gc
from functools import cache

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish
from sphinx.writers.html5 import HTML5Translator

gc.disable()  # a build fits into memory; collecting garbage would take a fifth of its time

project = "Ameles"
author = "the Ameles authors"
project_copyright = "2026, the Ameles authors"

extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 2
exclude_patterns = ["_build"]
nitpicky = True

html_theme = "furo"
html_title = "Ameles"
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"


def inline_formula(page: HTML5Translator, node: nodes.math) -> None:
    page.body.append(convert(node.astext()))
    raise nodes.SkipNode


def displayed_formula(page: HTML5Translator, node: nodes.math_block) -> None:
    page.body.append(convert(node.astext(), display="block"))
    raise nodes.SkipNode


class OneStem(SearchEnglish):
    """Finds the stem of a word once, and not again for every page that has it."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self.stem = cache(self.stem)


def setup(app: Sphinx) -> None:
    app.add_search_language(OneStem)
    app.add_html_math_renderer("mathml", (inline_formula, None), (displayed_formula, None))
