"""Pictures without a file of their own, for notebooks.

>>> from ameles.plot.answers import answers
>>> from ameles.plot.table import PlotTable
>>> table = PlotTable(("key", "value", "low", "high"), [("north", 12, 9, 15)])
>>> drawing(lambda file: answers(table, file))
<drawing>
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory


@dataclass(frozen=True, slots=True, repr=False)
class Drawing:
    """A picture that a notebook shows; ``svg`` is its text."""

    svg: str

    def __repr__(self) -> str:
        return "<drawing>"

    def _repr_svg_(self) -> str:
        """As a notebook shows it."""
        return self.svg


def drawing(draw: Callable[[Path], None]) -> Drawing:
    """The picture that ``draw`` writes into a given file."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "drawing.svg")
        draw(file)
        return Drawing(file.read_text(encoding="utf-8"))
