"""The picture of releases: a panel each, the band, and the truth only where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from ameles.core.exceptions import BadInput
from ameles.plot import PlotTable, releases

HEADS = ("panel", "step", "value", "low", "high")
ROWS = [
    (panel, step, 10.0 * step, 10.0 * step - 5, 10.0 * step + 5)
    for panel in ("north", "south", "all")
    for step in (1, 2, 3)
]


def words(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def test_it_says_what_it_shows_and_is_the_same_each_time(tmp_path: Path) -> None:
    with_truth = PlotTable((*HEADS, "true"), [(*row, 10.0) for row in ROWS])
    for name in "ab":
        releases(with_truth, tmp_path / f"{name}.svg", step="day of the season")
    text = words(tmp_path / "a.svg")
    assert text == words(tmp_path / "b.svg")
    for word in ("north", "south", "all", "released", "true", "95% of the privacy noise"):
        assert f">{word}<" in text
    assert ">day of the season<" in text


def test_without_a_truth_there_is_no_line_of_it(tmp_path: Path) -> None:
    releases(PlotTable(HEADS, ROWS), tmp_path / "a.svg")
    assert ">true<" not in words(tmp_path / "a.svg")
    releases(PlotTable(HEADS, ROWS[:3]), tmp_path / "one.png", across=3)
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")


def test_a_table_without_its_columns_or_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no column"):
        releases(PlotTable(("panel", "step"), [("a", 1)]), tmp_path / "a.svg")
    with pytest.raises(BadInput, match="at least one row"):
        releases(PlotTable(HEADS, []), tmp_path / "a.svg")
    assert not list(tmp_path.iterdir())
