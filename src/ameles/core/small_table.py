"""Small tables for people: the same rows as text for a terminal and as HTML for a notebook.

>>> rows = [["north", "812"], ["south", "9"]]
>>> print(SmallTable(("region", "count"), rows, numbers=(1,), footer="Paid."))
region   count
north      812
south        9
<BLANKLINE>
Paid.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SmallTable:
    """Rows of texts under their heads; columns whose places are in ``numbers`` align right."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[int] = ()
    footer: str = ""

    def __str__(self) -> str:
        lines = [self.heads, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        texts = [
            "   ".join(
                text.rjust(width) if place in self.numbers else text.ljust(width)
                for place, (text, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([*texts, *(["", self.footer] if self.footer else [])])

    def html(self) -> str:
        """As a notebook shows it."""
        caption = f"<caption>{html.escape(self.footer)}</caption>" if self.footer else ""
        heads = "".join(f"<th>{html.escape(text)}</th>" for text in self.heads)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in line) + "</tr>"
            for line in self.rows
        )
        return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
