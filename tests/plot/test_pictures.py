"""Every picture is drawn as PNG and SVG, says what it shows, and is the same file each time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from ameles import plot
from ameles.core.exceptions import BadInput, MissingExtra
from ameles.plot import PlotTable
from ameles.plot.canvas import OTHERS, PENS, pens

AGAINST = PlotTable(
    ("panel", "mechanism", "kind", "x", "y"),
    [
        *(("left", name, "theory", 2.0**power, power + 1.0) for name in "AB" for power in (2, 6)),
        ("left", "A", "measured", 4.0, 3.1),
        ("right", "A", "theory", 4.0, 3.0),
        *(("right", "nothing here", "bound", x, 1.0) for x in (4.0, 64.0)),
    ],
)
TABLES: dict[str, tuple[Callable[[PlotTable, Path], None], PlotTable, set[str]]] = {
    "horizon": (plot.error_against_horizon, AGAINST, {"left", "right", "nothing here", "counts"}),
    "epsilon": (plot.error_against_epsilon, AGAINST, {"left", "privacy loss, epsilon"}),
    "stream": (
        plot.error_within_stream,
        PlotTable(
            ("mechanism", "kind", "t", "std"),
            [("A", "theory", 1, 1.0), ("A", "theory", 2, 1.5), ("A", "measured", 2, 1.4)],
        ),
        {"step t", "standard deviation of the count", "A"},
    ),
    "tree": (
        plot.covering_nodes,
        PlotTable(
            ("panel", "level", "first", "last", "role"),
            [
                *(("two steps", 0, t, t, "unused") for t in (1, 2)),
                ("two steps", 1, 1, 2, "added"),
                ("one of them", 0, 1, 1, "subtracted"),
            ],
        ),
        {"two steps", "one of them", "1–2", "level 0", "added", "subtracted"},
    ),
    "matrix": (
        plot.noise_matrices,
        PlotTable(("mechanism", "t", "draw", "weight"), [("A", 1, 1, 1.0), ("A", 2, 3, -0.5)]),
        {"A", "draw of noise", "release, step t", "weight"},
    ),
    "nodes": (
        plot.node_shapes,
        PlotTable(
            ("panel", "level", "node", "x", "y", "counts"),
            [
                *(("a hat", 1, 0, x, y, 0.5) for x, y in ((0, 0.0), (2, 1.0), (4, 0.0))),
                *(("a step", 0, 0, x, 1.0, 1.0) for x in (0, 1)),
            ],
        ),
        {"a hat", "a step", "level 1", "level 0", "step"},
    ),
    "answers": (
        plot.answers,
        PlotTable(("key", "value", "low", "high"), [("north", 1, 0, 2), ("south", 9.5, 9, 10)]),
        {"north", "south", "value, with its 95% interval"},
    ),
    "side": (
        plot.side_by_side,
        PlotTable(
            ("mechanism", "mean", "worst", "to_best"), [("A", 1.0, 2.0, 1.0), ("B", 9.0, 9.0, 9.0)]
        ),
        {"A", "B", "× 9", "standard deviation of the count"},
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_picture_says_what_it_shows_and_is_the_same_each_time(name: str, tmp_path: Path) -> None:
    draw, table, words = TABLES[name]
    draw(table, tmp_path / "a.svg")
    draw(table, tmp_path / "b.svg")
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert text == (tmp_path / "b.svg").read_text(encoding="utf-8")
    for word in words:
        assert f">{word}<" in text, word


@pytest.mark.parametrize("name", TABLES)
def test_a_picture_as_pixels(name: str, tmp_path: Path) -> None:
    draw, table, _ = TABLES[name]
    draw(table, tmp_path / "a.PNG")
    assert (tmp_path / "a.PNG").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_without_its_columns_or_rows_is_refused(name: str, tmp_path: Path) -> None:
    draw, table, _ = TABLES[name]
    with pytest.raises(BadInput, match="no column"):
        draw(PlotTable(("other",), [(1,)]), tmp_path / "a.svg")
    with pytest.raises(BadInput, match="at least one row"):
        draw(PlotTable(table.heads, []), tmp_path / "a.svg")
    assert not list(tmp_path.iterdir())


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"must end in \.png or \.svg"):
        plot.check_picture(tmp_path / "a.pdf")


def test_without_matplotlib_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = util.find_spec

    def without(name: str, *rest: Any) -> Any:
        return None if name == "matplotlib" else find(name, *rest)

    monkeypatch.setattr("ameles.plot.canvas.find_spec", without)
    with pytest.raises(MissingExtra, match=r"\.\[plot\]"):
        TABLES["side"][0](TABLES["side"][1], tmp_path / "a.svg")


def test_matplotlib_is_loaded_by_the_first_picture_only() -> None:
    program = "import ameles.plot, sys; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_names_keep_their_pen_and_others_get_one_each() -> None:
    chosen = pens(["Binary", "Siblings, pure", *map(str, range(len(OTHERS) + 3))])
    assert chosen["Binary"] is PENS["Binary"]
    assert chosen["Siblings, pure"] is PENS["Siblings"]
    assert len({str(chosen[str(place)]) for place in range(len(OTHERS))}) == len(OTHERS)


def test_one_look_does_not_change_the_users_own() -> None:
    program = (
        "import matplotlib, pathlib, tempfile; from ameles import plot\n"
        "before = dict(matplotlib.rcParams)\n"
        "columns = 'mechanism', 'mean', 'worst', 'to_best'\n"
        "table = plot.PlotTable(columns, [('A', 1.0, 2.0, 1.0)])\n"
        "plot.side_by_side(table, pathlib.Path(tempfile.mkdtemp()) / 'a.png')\n"
        "assert dict(matplotlib.rcParams) == before"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
