"""A plot for terminals, if matplotlib is not installed: one series as columns, another as dots.

>>> print(*chart([1, 2, 4], [1, 3, 4], width=3, height=4), sep="\\n")
  ·
 ·█
 ██
·██
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise


def chart(bars: Sequence[float], dots: Sequence[float], *, width: int, height: int) -> list[str]:
    """The lines of the plot, from the top; both series are averaged down to ``width`` columns."""
    columns = min(width, len(bars))
    tall, points = _averaged(bars, columns), _averaged(dots, columns)
    top = max(*tall, *points, 1e-9)
    lines = []
    for row in range(height, 0, -1):
        cells = []
        for bar, point in zip(tall, points, strict=True):
            at = max(1, round(point / top * height))
            filled = round(bar / top * height) >= row
            cells.append("·" if at == row else "█" if filled else " ")
        lines.append("".join(cells).rstrip())
    return lines


def _averaged(series: Sequence[float], columns: int) -> list[float]:
    edges = [round(place * len(series) / columns) for place in range(columns + 1)]
    return [sum(series[low:high]) / (high - low) for low, high in pairwise(edges)]
