"""What the tests of private bounds share: small worlds, their neighbours, and the exact loss."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from ameles.engine.private_bounds.candidates import Grids
from ameles.engine.private_bounds.choose import BoundsQuestion, bounds_question
from tests.engine.worlds import COUNT, HEADER, World, day

NOW = day(20)
USERS = 'unit = "user"\nuser = "who"\nmax_per_step = 5\nmax_steps = 8'
WINDOWS = 'unit = "user-window"\nuser = "who"\nmax_per_step = 5\nmax_steps = 4\nwindow = "4d"'
SUM = (
    '[[release]]\nname = "spent"\nmeasure = "sum"\ncolumn = "amount"\n'
    "lower = -5\nupper = 20\ngranularity = 0.5\n"
)
MEAN = SUM.replace('"spent"', '"average"').replace('"sum"', '"mean"')
FEVERS = SUM + 'where = "fever"\n'


def question(world: World, grids: Grids | None = None, epsilon: str = "0.5") -> BoundsQuestion:
    return bounds_question(world.plan, epsilon=epsilon, now=NOW, grids=grids)


def world_of(
    folder: Path, releases: str = COUNT + SUM, unit: str = USERS, stream: str = ""
) -> World:
    return World(folder, releases, unit=unit, stream=stream).write([])


def scores(world: World, asked: BoundsQuestion, rows: Sequence[str]) -> list[list[int]]:
    """The exact scores that the real code computes from these rows."""
    world.file.write_text("\n".join([HEADER, *rows, ""]), encoding="utf-8")
    return asked.scores()


def without(rows: Sequence[str], window: int | None = None) -> Iterator[list[str]]:
    """The rows without one user, for every user; with a window, without one user's window."""

    def unit(row: str) -> tuple[str, int]:
        at, who, *_ = row.split(",")
        return who, 0 if window is None else (int(at[8:10]) - 1) // window

    for gone in sorted({unit(row) for row in rows}):
        yield [row for row in rows if unit(row) != gone]


def losses(asked: BoundsQuestion, one: list[list[int]], other: list[list[int]]) -> list[float]:
    """The exact loss of each choice: the worst ratio of the probabilities of a candidate.

    The chosen candidate has a probability proportional to exp(rate * score), and the rate is that
    of the recipe.
    """
    ratios = []
    for step, (here, there) in enumerate(zip(one, other, strict=True), start=1):
        rate = float(asked.recipe.choice(step).rate)
        laws = [_log_law([rate * score for score in row]) for row in (here, there)]
        ratios.append(max(abs(p - q) for p, q in zip(*laws, strict=True)))
    return ratios


def _log_law(exponents: list[float]) -> list[float]:
    top = max(exponents)
    total = math.log(sum(math.exp(one - top) for one in exponents))
    return [one - top - total for one in exponents]


def worst_loss(
    world: World, asked: BoundsQuestion, rows: Sequence[str], *, window: int | None = None
) -> float:
    """The largest loss of a choice between these rows and all their neighbours, per share."""
    whole = scores(world, asked, rows)
    return max(
        max(losses(asked, whole, scores(world, asked, fewer))) / float(asked.share)
        for fewer in without(rows, window)
    )
