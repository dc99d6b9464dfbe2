"""What all pictures share: matplotlib, loaded on demand, one style, and the file's ending.

Colours are those of Okabe and Ito, which people with any kind of colour vision can tell
apart; lines also differ in their dashes and points in their shape, for print.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ameles.core.exceptions import BadInput, MissingExtra

ENDINGS = (".png", ".svg")
INK, GREY, PALE = "#222222", "#767676", "#dddddd"
BLUE, RED, GREEN, ORANGE = "#0072b2", "#d55e00", "#009e73", "#e69f00"
PINK, SKY = "#cc79a7", "#56b4e9"

LOOK: dict[str, Any] = {
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "figure.dpi": 150,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "grid.color": PALE,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text: small files, and a reader can search them
    "svg.hashsalt": "ameles",  # the same picture gives the same bytes
    "xtick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.color": GREY,
    "ytick.labelcolor": INK,
}


@dataclass(frozen=True, slots=True)
class Pen:
    """How the lines and points of one name look, in every picture."""

    colour: str
    dashes: str = "-"
    marker: str = "o"


PENS = {
    "Simple I": Pen(GREY, "-", "x"),
    "Simple II": Pen(GREY, "--", "P"),
    "Two-level": Pen(ORANGE, "-.", "^"),
    "Binary": Pen(RED, "-", "s"),
    "Honaker": Pen(PINK, "--", "v"),
    "k-ary": Pen(SKY, "-.", "<"),
    "Elders": Pen(GREEN, "-", "D"),
    "Siblings": Pen(BLUE, "-", "o"),
    "Hats": Pen(PINK, "-", "*"),
    "Toeplitz": Pen(INK, "-", "h"),
    "Buffered": Pen(ORANGE, "--", "8"),
}
OTHERS = [Pen(colour, dashes) for dashes in (":", "-.") for colour in (INK, BLUE, RED, GREEN, PINK)]


def pens(names: list[str]) -> dict[str, Pen]:
    """A pen for each name, chosen by the text before its first comma: the same one everywhere."""
    spare = iter(OTHERS * (1 + len(names) // len(OTHERS)))
    return {name: PENS.get(name.partition(",")[0]) or next(spare) for name in names}


def check_picture(file: Path) -> None:
    """Checks, before any work, that a picture can be drawn into this file; raises if not.

    >>> check_picture(Path("errors.svg"))
    """
    if file.suffix.lower() not in ENDINGS:
        raise BadInput(
            f"A picture's file must end in {' or '.join(ENDINGS)}. Got '{file.name}' instead.",
            tip=str(file.with_suffix(".svg")),
        )
    if not file.absolute().parent.is_dir():
        raise BadInput(
            f"The file '{file}' cannot be written: its folder does not exist.",
            tip="a folder that exists and that you may write to",
        )
    if find_spec("matplotlib") is None:
        raise MissingExtra(
            "Pictures need matplotlib, which is not installed.",
            tip="pip install '.[plot]' in the clone of Ameles",
        )


@contextmanager
def canvas(file: Path, width: float, height: float, **grid: Any) -> Iterator[Any]:
    """A figure, in inches, that becomes the file when the drawing is done."""
    check_picture(file)
    matplotlib = importlib.import_module("matplotlib")
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **LOOK}):
        # not through pyplot, which keeps every figure and may open a window
        figure = importlib.import_module("matplotlib.figure").Figure(
            figsize=(width, height), layout="constrained", **grid
        )
        yield figure
        date = {"Date": None} if file.suffix.lower() == ".svg" else {}
        figure.savefig(file, metadata=date)


def number(value: float) -> str:
    """A tick's label: plain digits, with thousands separated.

    >>> [number(value) for value in (0.01, 0.5, 10, 65536)]
    ['0.01', '0.5', '10', '65,536']
    """
    return f"{value:,.0f}" if value >= 1 and value == int(value) else f"{value:g}"


def log_axis(axis: Any, ticks: list[float] | None = None) -> None:
    """Logarithmic, with numbers that people read: at the ticks given, or at powers of ten and,
    where there are fewer than two of those, at their doubles and fives."""
    ticker = importlib.import_module("matplotlib.ticker")
    low, high = axis.get_view_interval()
    if ticks is not None:
        axis.set_major_locator(ticker.FixedLocator(ticks))
    elif high < 100 * low:
        axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: number(value)))
    axis.set_minor_formatter(ticker.NullFormatter())
