"""The plot of characters keeps its size and its shape whatever the numbers are."""

from __future__ import annotations

import pytest

from ameles.cli.terminal_plot import chart


@pytest.mark.parametrize(
    ("bars", "dots"),
    [
        ([0.0] * 5, [0.0] * 5),
        ([-3.0, 5.0], [-1.0, 2.0]),
        ([1.0], [1e9]),
        ([float(n) for n in range(182)], [float(n) for n in range(182)]),
    ],
)
def test_it_has_its_size(bars: list[float], dots: list[float]) -> None:
    lines = chart(bars, dots, width=78, height=10)
    assert len(lines) == 10
    assert max(map(len, lines)) <= 78


def test_taller_bars_are_taller() -> None:
    lines = chart([1, 4, 2, 8], [0, 0, 0, 0], width=4, height=8)
    heights = [sum(line.ljust(4)[place] == "█" for line in lines[:-1]) for place in range(4)]
    assert heights == [0, 3, 1, 7]
