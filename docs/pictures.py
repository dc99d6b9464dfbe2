"""Makes every picture of the docs again, each with the CSV that it is drawn from.

    python docs/pictures.py                  all of them, in a few minutes
    python docs/pictures.py --only horizon   one
    python docs/pictures.py --into X         into another folder
    python docs/pictures.py --width 200      measured on fewer counters

Lines come from the formulas in the code, points from real runs: so many counters that are
fed nothing but zeros release their noise.  Lines are the same at every run, points are not.
The picture of users is measured on a hundredth of the runs, whose users come evenly.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
from matplotlib.cm import ScalarMappable

from ameles.core.guarantee import Intrusions
from ameles.engine.engine import Engine
from ameles.mechanisms.continual.estimators.distinct import ExactDistinct, NoisyDistinct
from ameles.mechanisms.continual.monotone import continual_monotone
from ameles.mechanisms.continual.transformation import HALTED, Halted
from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.choose import objective_of
from ameles.mechanisms.counters.deviations import points
from ameles.mechanisms.counters.elders import EldersCounter, balanced_digits
from ameles.mechanisms.counters.gaussian.binary import GaussianBinaryCounter
from ameles.mechanisms.counters.gaussian.buffered import BufferedCounter
from ameles.mechanisms.counters.gaussian.error import gaussian_lower_bound
from ameles.mechanisms.counters.gaussian.toeplitz import ToeplitzCounter
from ameles.mechanisms.counters.hats.counter import HatsCounter
from ameles.mechanisms.counters.hats.error import lower_nodes
from ameles.mechanisms.counters.hats.repeated import RepeatedShape
from ameles.mechanisms.counters.honaker import HonakerCounter
from ameles.mechanisms.counters.k_ary import KAryCounter
from ameles.mechanisms.counters.lower_bounds import (
    intrusion_bound,
    packing_bound,
    varying_bound,
)
from ameles.mechanisms.counters.psum import covers
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.counters.siblings import SiblingsCounter
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.counters.two_level import TwoLevelCounter
from ameles.mechanisms.discovery import KeyDiscovery, KeyInputs
from ameles.mechanisms.local import RandomizedResponse, RandomizedResponseCounter
from ameles.mechanisms.one_shot.geometric import GeometricMechanism
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.mechanisms.pan_private.modular import ResidueFraction
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.noise import System, Tape, Zero
from ameles.plan.clock import instant
from ameles.plan.plan import read_plan
from ameles.plot import (
    PlotTable,
    covering_nodes,
    error_against_epsilon,
    error_against_horizon,
    error_within_stream,
    noise_matrices,
    releases,
)
from ameles.plot.canvas import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PALE,
    PINK,
    RED,
    SKY,
    Pen,
    canvas,
    log_axis,
    pens,
)
from ameles.simulate import season as simulated
from ameles.simulate import write_csv
from ameles.store import open_store

FOLDER = Path(__file__).parent / "pictures"
README = Path(__file__).parents[1] / "README.md"
WIDTH = 20_000
CHUNK = 1 << 22  # numbers held at a time
BETA = 0.05
APPROXIMATE: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}

KINDS: dict[str, Callable[..., CounterRecipe]] = {
    "Simple I": SimpleOneCounter,
    "Simple II": SimpleTwoCounter,
    "Two-level": TwoLevelCounter,
    "Binary": BinaryCounter,
    "Honaker": HonakerCounter,
    "k-ary": KAryCounter,
    "Elders": EldersCounter,
    "Siblings": SiblingsCounter,
    "Hats": HatsCounter,
}
GAUSSIAN: dict[str, Callable[..., CounterRecipe]] = {
    "Binary": GaussianBinaryCounter,
    "Toeplitz": ToeplitzCounter,
    "Buffered": BufferedCounter,
}
# Those that stand beside them.
PURE: dict[str, Callable[..., CounterRecipe]] = {
    "Siblings, pure": SiblingsCounter,
    "Hats, pure": HatsCounter,
}
MEAN = "mean standard deviation"
ALL = "all steps at once within, with 95%"
LAST = "the last step within, with 95%"
HEADS = ("panel", "mechanism", "kind", "x", "y")
# Of the picture of discovered keys: when a tag begins, and how many people a day begin to use it.
TAGS = {
    "#weather": (1, 120),
    "#football": (1, 40),
    "#storm": (25, 200),
    "#concert": (10, 15),
    "#bakery": (1, 5),
    "#lostcat": (20, 3),
    "#chess": (1, 1),
}
DAYS = 60
# Of the picture of users: how many there are, and how many runs are measured.
USERS = 10**6
RUNS = 100
# The step whose count the picture of hats shows.
HATS_STEP = 22
PENS = {
    "Pan-private tree": Pen(GREEN, "-.", "D"),
    "Pan-private, seized once": Pen(GREEN, "-.", "D"),
    "Randomized bits, seized at every step": Pen(RED, "--", "s"),
    "odd users": Pen(RED, "-", "s"),
    "distinct users": Pen(BLUE, "-", "o"),
    "distinct users, seized once": Pen(GREEN, "-.", "D"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Makes the pictures of the docs.")
    parser.add_argument("--only", choices=sorted(PICTURES), help="one picture instead of all")
    parser.add_argument("--into", type=Path, default=FOLDER, help="the folder to write into")
    parser.add_argument("--width", type=int, default=WIDTH, help="counters measured at once")
    parser.add_argument("--longest", type=int, default=1 << 22, help="the longest stream shown")
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    for name, (compute, draw) in PICTURES.items():
        if options.only in (None, name):
            table = compute(options.width, options.longest)
            table.write(options.into / f"{name}.csv")
            draw(table, options.into / f"{name}.svg")
            sys.stdout.write(
                f"{name}: python docs/pictures.py --only {name} --width {options.width} "
                f"--longest {options.longest}\n"
            )
    return 0


def measured(recipe: CounterRecipe, steps: int) -> tuple[float, float, list[float]]:
    """From zeros fed to all counters of the recipe: the root of the mean square error, what the
    largest error of 95% of the counters stays within, and the deviation at each step."""
    forgets = recipe.guarantee.intrusions is not Intrusions.NONE
    run = recipe.start(System.direct() if forgets else System())
    largest = np.zeros(recipe.columns, dtype=np.int64)
    squares: list[float] = []
    while len(squares) < steps:
        count = min(steps - len(squares), max(1, CHUNK // recipe.columns))
        errors = np.abs(run.feed(np.zeros((count, recipe.columns), dtype=np.int64)))
        np.maximum(largest, errors.max(axis=0), out=largest)
        squares += np.mean(errors.astype(np.float64) ** 2, axis=1).tolist()
    return (
        math.sqrt(sum(squares) / steps),
        quantile(largest),
        [math.sqrt(square) for square in squares],
    )


def season(width: int, longest: int) -> PlotTable:
    """The plan of the README, run on a simulated season; with the truth, since nobody is real."""
    (text,) = re.findall(r"^```toml\n(.*?)^```$", README.read_text("utf-8"), re.M | re.S)
    with TemporaryDirectory() as folder:
        events = 15_000 if longest > 1 << 10 else 2_000
        write_csv(Path(folder, "visits.csv"), simulated(events=events, visitors=5 * events))
        Path(folder, "ameles.toml").write_text(text, encoding="utf-8")
        plan = read_plan(Path(folder, "ameles.toml"))
        with closing(open_store(str(Path(folder, plan.store.url)))) as store:
            Engine(plan, store).run(instant(plan.clock.end_of(plan.stream.horizon or 1)))
            with store.reading() as transaction:
                stream = transaction.stream(plan.stream.name)
                releases = [] if stream is None else list(transaction.releases(stream))
        day = f"(epoch_us(reported_at) - {plan.clock.first}) // 86400000000 + 1"
        with duckdb.connect() as duck:
            daily: dict[int, int] = dict(
                duck.execute(
                    f"SELECT {day}, count(*) FROM read_csv('{folder}/visits.csv') "
                    "WHERE fever GROUP BY 1"
                ).fetchall()
            )
    title = "visits with a fever in the last 7 days, epsilon 1 for each visitor"
    return PlotTable(
        ("panel", "kind", "step", "value", "low", "high", "true"),
        [
            (title, "measured", each.step, each.value or 0, each.low or 0, each.high or 0, true)
            for each in releases
            for true in [sum(daily.get(each.step - back, 0) for back in range(7))]
        ],
    )


def band(table: PlotTable, file: Path) -> None:
    """The released line with its band, wide enough for the head of a page."""
    releases(table, file, across=1, step="day of the season", width=8.2, height=3.0)


def horizon(width: int, longest: int) -> PlotTable:
    """Pure counters against T, with the packing bound."""
    rows: list[tuple[str, str, str, float, float]] = []
    lengths = [1 << power for power in range(4, 21, 2) if 1 << power <= longest]
    for name, kind in KINDS.items():
        for steps in lengths:
            if name == "Simple I" and steps > 1 << 8:
                continue  # beyond the picture: its error is 1.41 T
            recipe = kind(epsilon=1, horizon=steps)
            rows.append((MEAN, name, "theory", steps, objective_of(recipe, points(steps), "mean")))
            rows.append((ALL, name, "theory", steps, recipe.error.bound_all(steps, BETA)))
            if steps <= 1 << 12:
                mean, within, _ = measured(kind(epsilon=1, horizon=steps, width=width), steps)
                rows.append((MEAN, name, "measured", steps, mean))
                rows.append((ALL, name, "measured", steps, within))
    for steps in lengths:
        least = packing_bound(horizon=steps, epsilon=1, beta=BETA)
        rows.append((ALL, "no counter", "bound", steps, least))
    return PlotTable(HEADS, rows)


def epsilon(width: int, longest: int) -> PlotTable:
    """Pure counters against epsilon, at T = 1024 or less."""
    rows: list[tuple[str, str, str, float, float]] = []
    steps = min(1 << 10, longest)
    losses = ("0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10")
    for name in ("Binary", "k-ary", "Elders", "Siblings", "Hats"):
        for loss in losses:
            recipe = KINDS[name](epsilon=loss, horizon=steps)
            x = float(loss)
            rows.append((MEAN, name, "theory", x, objective_of(recipe, points(steps), "mean")))
            rows.append((ALL, name, "theory", x, recipe.error.bound_all(steps, BETA)))
            if loss in losses[::3]:
                wide = KINDS[name](epsilon=loss, horizon=steps, width=width)
                mean, within, _ = measured(wide, steps)
                rows.append((MEAN, name, "measured", x, mean))
                rows.append((ALL, name, "measured", x, within))
    for loss in losses:
        least = packing_bound(horizon=steps, epsilon=float(loss), beta=BETA)
        if least:  # zero has no place on a logarithmic axis
            rows.append((ALL, "no counter", "bound", float(loss), least))
    return PlotTable(HEADS, rows)


def gaussian(width: int, longest: int) -> PlotTable:
    """Counters with Gaussian noise against T, beside pure ones of the same epsilon."""
    rows: list[tuple[str, str, str, float, float]] = []
    sigma = GaussianBinaryCounter(horizon=1, **APPROXIMATE).error.std(1)
    for steps in (1 << power for power in range(4, 21, 2)):
        if steps > longest:
            break
        for name, kind in {**GAUSSIAN, **PURE}.items():
            if name == "Toeplitz" and steps > 1 << 16:
                continue  # its limit
            given = APPROXIMATE if name in GAUSSIAN else {"epsilon": 1}
            recipe = kind(horizon=steps, **given)
            y = objective_of(recipe, points(steps), "mean")
            rows.append((MEAN, name, "theory", steps, y))
            if steps <= 1 << 8:
                mean, _, _ = measured(kind(horizon=steps, width=width, **given), steps)
                rows.append((MEAN, name, "measured", steps, mean))
        least = sigma * gaussian_lower_bound(steps)
        rows.append((MEAN, "no Gaussian factorisation", "bound", steps, least))
    return PlotTable(HEADS, rows)


def stream(width: int, longest: int) -> PlotTable:
    """The deviation at each step of a stream of 256."""
    rows: list[tuple[str, str, int, float]] = []
    steps = min(256, longest)
    kinds: dict[str, Callable[..., CounterRecipe]] = {
        "Binary": partial(BinaryCounter, epsilon=1),
        "Toeplitz, delta 1e-6": partial(ToeplitzCounter, **APPROXIMATE),
        "Siblings": partial(SiblingsCounter, epsilon=1),
        "Hats": partial(HatsCounter, epsilon=1),
    }
    for name, kind in kinds.items():
        recipe = kind(horizon=steps)
        rows += [(name, "theory", t, recipe.error.std(t)) for t in range(1, steps + 1)]
        _, _, deviations = measured(kind(horizon=steps, width=width), steps)
        rows += [(name, "measured", t, deviations[t - 1]) for t in range(8, steps + 1, 13)]
    return PlotTable(("mechanism", "kind", "t", "std"), rows)


def tree(width: int, longest: int) -> PlotTable:
    """How the count of 11 of 13 steps is put together, by the binary counter and by Elders."""
    steps, t = 13, 11
    dyadic = [(level, 2**level) for level in range(steps.bit_length())]
    intervals = tuple(
        sorted(
            ((k * size + 1, (k + 1) * size) for _, size in dyadic for k in range(steps // size)),
            key=lambda pair: (pair[1], -pair[0]),
        )
    )
    starts, used, end = covers(intervals, steps), {}, t
    while end:
        used[starts[end], end] = "added"
        end = starts[end] - 1
    rows = [("Binary, t = 11: 8 + 2 + 1", *row) for row in _nodes(2, steps, used)]
    used, place = {}, 0
    levels = EldersCounter(epsilon=1, horizon=steps, arity=3).levels
    for level, digit in reversed(list(enumerate(balanced_digits(t, 3, levels)))):
        size = 3**level
        sign = 1 if digit > 0 else -1
        for _ in range(abs(digit)):
            ends = (place, place + sign * size)
            used[min(ends) + 1, max(ends)] = "added" if digit > 0 else "subtracted"
            place += sign * size
    rows += [("Elders with k = 3, t = 11: 9 + 3 − 1", *row) for row in _nodes(3, steps, used)]
    return PlotTable(("panel", "level", "first", "last", "role"), rows)


def _nodes(
    k: int, steps: int, used: dict[tuple[int, int], str]
) -> Iterator[tuple[int, int, int, str]]:
    level = 0
    while k**level <= steps:
        for first in range(1, steps - k**level + 2, k**level):
            last = first + k**level - 1
            yield level, first, last, used.get((first, last), "unused")
        level += 1


def hats(width: int, longest: int) -> PlotTable:
    """The nodes of a tree and of hats, and how much of each is in the count of 22 of 48 steps."""
    steps, t, k = 48, HATS_STEP, 4
    rows: list[tuple[str, int, int, float, float, float]] = []
    boxes = f"Boxes: each is as wide as {k} boxes of the level below; {t} = 16 + 4 + 1 + 1"
    left = t
    used: set[tuple[int, int]] = set()
    for level in (2, 1, 0):
        done = t - left
        used |= {(level, done // k**level + i) for i in range(left // k**level)}
        left %= k**level
    for level in range(3):
        for node in range(steps // k**level):
            counts = float((level, node) in used)
            rows += [(boxes, level, node, x, y, counts) for x, y in _box(node, k**level)]
    shape = RepeatedShape.of((k, k), (340, 340, 344))
    title = f"Hats: each is as wide as {k} hats of the level below, and overlaps its neighbours"
    lower, top = lower_nodes(shape, np.array([t]))
    knots = np.arange(steps // shape.spans[-1] + 1)
    found = [
        (int(first[0]), weights[0] * span)
        for (first, weights), span in zip(lower, shape.spans, strict=False)
    ]
    found.append((0, top.at(knots - top.cell[:, None])[0]))
    for level, (first, weights) in enumerate(found):
        span = shape.spans[level]
        weight = {first + place: float(one) for place, one in enumerate(weights)}
        for node in range(steps // span + (level > 0)):
            corners = _box(node, 1)
            if level:
                corners = [((node + side) * span, 1.0 - abs(side)) for side in (-1.0, 0.0, 1.0)]
            counts = round(weight.get(node, 0.0), 4)
            inside = [(x, y) for x, y in corners if 0 <= x <= steps]
            rows += [(title, level, node, x, y, counts) for x, y in inside]
    return PlotTable(("panel", "level", "node", "x", "y", "counts"), rows)


def hat_nodes(table: PlotTable, file: Path) -> None:
    """Each node in the colour of its weight in the count; nodes above the steps with a number."""
    panels, t = table.values("panel"), HATS_STEP
    with canvas(file, 7.4, 5.6) as figure:
        axes = figure.subplots(len(panels), 1, sharex=True)
        colours = ScalarMappable(cmap="RdBu")
        colours.set_clim(-1, 1)
        for panel, ax in zip(panels, axes, strict=True):
            here = table.where(panel=panel)
            levels = sorted(here.values("level"))
            for level in levels:
                for node in here.where(level=level).values("node"):
                    shape = here.where(level=level, node=node)
                    x, counts = shape.column("x"), shape.column("counts")[0]
                    corners = [level + 0.8 * y for y in shape.column("y")]
                    if counts:
                        colour = colours.to_rgba(counts)
                        ax.fill_between(x, level, corners, color=colour, alpha=0.7, linewidth=0)
                    ax.plot(x, corners, color=GREY, linewidth=0.6)
                    if counts and level:
                        top = max(corners)
                        middle = sum(at for at, y in zip(x, corners, strict=True) if y == top)
                        middle /= corners.count(top)
                        said = f"{counts:.2f}".replace("-", "\u2212")
                        ax.text(middle, top + 0.03, said, ha="center", fontsize=6.5, color=INK)
            ax.axvline(t, color=INK, linestyle="--", linewidth=1)
            ax.set_title(panel)
            ax.set_ylim(levels[0] - 0.1, levels[-1] + 1.05)
            ax.set_yticks([level + 0.4 for level in levels], [f"level {level}" for level in levels])
            ax.tick_params(axis="y", length=0)
            for side in ax.spines.values():
                side.set_visible(False)
        axes[-1].set_xticks([0, 10, t, 30, 40, 48], ["0", "10", f"t = {t}", "30", "40", "48"])
        axes[-1].set_xlabel("step")
        bar = figure.colorbar(colours, ax=list(axes), alpha=0.7, ticks=[-1, -0.5, 0, 0.5, 1])
        bar.set_label(f"weight of the node's noise in the count at t = {t}")


def _box(node: int, span: int) -> list[tuple[float, float]]:
    """The corners of a box as wide as its steps."""
    first, last = float(node * span), float((node + 1) * span)
    return [(first, 0.0), (first, 1.0), (last, 1.0), (last, 0.0)]


def matrix(width: int, longest: int) -> PlotTable:
    """Which draw enters which release, from impulses on the tape of the real code."""
    steps = 26
    rows: list[tuple[str, int, int, float]] = []
    recipes: dict[str, CounterRecipe] = {
        "Binary": BinaryCounter(epsilon=1, horizon=steps),
        "Elders, k = 3": EldersCounter(epsilon=1, horizon=steps, arity=3),
        "Siblings, k = 3": SiblingsCounter(epsilon=1, horizon=steps, arity=3),
    }
    for name, recipe in recipes.items():
        zeros = np.zeros(steps, dtype=np.int64)
        tape = Tape(beyond=Zero())
        recipe.start(tape).feed(zeros)
        unit = getattr(recipe, "resolution", 1)  # an impulse that no rounding can touch
        for draw in range(len(tape.draws)):
            column = recipe.start(Tape([0] * draw + [unit])).feed(zeros) / unit
            weights = enumerate(column.tolist(), start=1)
            rows += [(name, t, draw + 1, weight) for t, weight in weights if weight]
    return PlotTable(("mechanism", "t", "draw", "weight"), rows)


def packing(width: int, longest: int) -> PlotTable:
    """All steps at once: counters of every generation above the bound of log T."""
    rows: list[tuple[str, str, str, float, float]] = []
    lengths = [1 << power for power in range(4, 21, 2) if 1 << power <= longest]
    kinds: dict[str, Callable[..., CounterRecipe]] = {
        "Simple II": SimpleTwoCounter,
        "Binary": BinaryCounter,
        "Pan-private tree": PanPrivateTreeCounter,
        "Siblings": SiblingsCounter,
    }
    for name, kind in kinds.items():
        for steps in lengths:
            promised = kind(epsilon=1, horizon=steps).error.bound_all(steps, BETA)
            rows.append((ALL, name, "theory", steps, promised))
            if steps <= 1 << 10:
                _, within, _ = measured(kind(epsilon=1, horizon=steps, width=width), steps)
                rows.append((ALL, name, "measured", steps, within))
    for steps in doubled(16, lengths[-1]):
        least = packing_bound(horizon=steps, epsilon=1, beta=BETA)
        rows.append((ALL, "no counter", "bound", steps, least))
    return PlotTable(HEADS, rows)


def intrusions(width: int, longest: int) -> PlotTable:
    """The last step: counters that may be seized at every step, and one that may be once."""
    rows: list[tuple[str, str, str, float, float]] = []
    lengths = [1 << power for power in range(4, 21, 2) if 1 << power <= longest]
    kinds: dict[str, Callable[..., CounterRecipe]] = {
        "Simple II, seized at every step": SimpleTwoCounter,
        "Randomized bits, seized at every step": RandomizedResponseCounter,
        "Pan-private, seized once": PanPrivateCounter,
    }
    for name, kind in kinds.items():
        for steps in lengths:
            promised = kind(epsilon=1, horizon=steps).error.bound(steps, BETA)
            rows.append((LAST, name, "theory", steps, promised))
            if steps <= 1 << 10:
                run = kind(epsilon=1, horizon=steps, width=width).start(System.direct())
                errors = np.abs(run.feed(np.zeros((steps, width), dtype=np.int64))[-1])
                rows.append((LAST, name, "measured", steps, quantile(errors)))
    for steps in doubled(16, lengths[-1]):
        least = intrusion_bound(intrusions=steps, epsilon=1, beta=BETA)
        rows.append((LAST, "no counter that may be seized at every step", "bound", steps, least))
    return PlotTable(HEADS, rows)


def varying(width: int, longest: int) -> PlotTable:
    """Users at a loss of 1: how many are odd, which nobody can tell for long, and how many came."""
    rows: list[tuple[str, str, str, float, float]] = []
    measures: dict[str, Callable[[int], Measure]] = {
        "odd users": odd,
        "distinct users": distinct,
        "distinct users, seized once": seizable,
    }
    lengths = [1 << power for power in range(4, 23, 2) if 1 << power <= longest]
    for steps in lengths:
        for name, measure in measures.items():
            promised, largest_error = measure(steps)
            rows.append((ALL, name, "theory", steps, promised))
            if steps <= (1 << 6 if measure is odd else 1 << 8):
                errors = [largest_error() for _ in range(max(1, width * RUNS // WIDTH))]
                rows.append((ALL, name, "measured", steps, quantile(errors)))
    for steps in doubled(16, lengths[-1]):
        least = varying_bound(changes=steps, jump=USERS, users=USERS, epsilon=1, beta=BETA)
        rows.append((ALL, "nobody can tell how many are odd", "bound", steps, least))
    return PlotTable(HEADS, rows)


# What is promised for all steps, and the largest error of a run.
Measure = tuple[float, Callable[[], float]]


def odd(steps: int) -> Measure:
    """How many users occurred an odd number of times: a release at each step, each paid for, or
    one half of the users at every step, whoever came."""
    recipe = ResidueFraction(
        users=USERS,
        modulus=2,
        residues=(1,),
        neighbours="user-presence",
        epsilon_state="1/2",
        epsilon_output=Fraction(1, 2 * steps),
        releases=min(steps, 1 << 20),  # the most; the half is better long before
    )

    def largest_error() -> float:
        nobody: list[list[int]] = [[]] * steps
        return max(abs(told.value) for told in recipe.start(System.direct()).feed(nobody)) * USERS

    return min(recipe.error.bound_all(steps, BETA), 0.5) * USERS, largest_error


def distinct(steps: int) -> Measure:
    """How many users occurred: the transformation of an exact count."""
    recipe = continual_monotone(
        ExactDistinct(users=USERS),
        highest=USERS,
        horizon=steps,
        epsilon="2/5",
        sensitivity=1,
        beta=BETA,
    )
    promised = recipe.error.bound_all(steps, BETA)
    return promised, lambda: apart(recipe.start(System()).feed(come(steps)))


def seizable(steps: int) -> Measure:
    """The same from bits that may be seized, which takes half of the loss."""
    bits = NoisyDistinct(users=USERS, epsilon="1/2", neighbours="user-presence")
    recipe = continual_monotone(
        bits, highest=bits.highest, horizon=steps, epsilon="1/5", sensitivity=1, beta=BETA
    )
    promised = bits.users_of(recipe.error.bound_all(steps, BETA))

    def largest_error() -> float:
        return apart(recipe.start(System.direct()).feed(come(steps)), worth=bits.users_of(1))

    return promised, largest_error


def come(steps: int) -> list[Any]:
    """All users, the same number at each step."""
    return np.array_split(np.arange(USERS), steps)


def apart(told: Sequence[int | Halted], worth: float = 1) -> float:
    """How far at most the releases are from how many have come; a halt tells nothing."""
    truth = np.cumsum([len(users) for users in come(len(told))])
    return max(
        float(USERS) if value is HALTED else abs(value * worth - true)
        for value, true in zip(told, truth, strict=True)
    )


def doubled(first: int, last: int) -> Iterator[int]:
    """first, twice as much, ..., last."""
    while first <= last:
        yield first
        first *= 2


def gap(width: int, longest: int) -> PlotTable:
    """The count of n people at a loss of 1: with a curator, and by randomized response."""
    rows: list[tuple[str, str, str, float, float]] = []
    panel = "one count at epsilon 1"
    central = GeometricMechanism(epsilon=1, neighbours="replace")
    local = RandomizedResponse(categories=2, epsilon=1)
    for people in doubled(1 << 4, min(longest, 1 << 20)):
        rows.append((panel, "a curator", "theory", people, central.error.std(1)))
        rows.append((panel, "everyone for themselves", "theory", people, local.error.std(people)))
        if people <= 1 << 10:
            values = np.tile(np.arange(people) % 2, width)
            told = local.start(System.direct()).feed(values).reshape(width, people)
            counts = local.error.estimate(told.sum(axis=1), people).counts
            spread = float(np.sqrt(np.mean((counts - people // 2) ** 2)))
            rows.append((panel, "everyone for themselves", "measured", people, spread))
    return PlotTable(HEADS, rows)


def gap_lines(table: PlotTable, file: Path) -> None:
    """The two deviations against the number of people."""
    with canvas(file, 7.4, 3.4) as figure:
        ax = figure.subplots()
        for name, pen in pens(table.values("mechanism")).items():
            promised = table.where(mechanism=name, kind="theory")
            points = table.where(mechanism=name, kind="measured")
            style = {"color": pen.colour, "markersize": 4.5}
            ax.plot(promised.column("x"), promised.column("y"), pen.dashes, label=name, **style)
            ax.plot(points.column("x"), points.column("y"), pen.marker, **style)
        ax.set_title(table.values("panel")[0])
        ax.set_xlabel("people, n; lines are computed, points measured")
        ax.set_ylabel("standard deviation of the count")
        ax.set_xscale("log")
        ax.set_yscale("log")
        log_axis(ax.yaxis)
        log_axis(ax.xaxis)
        ax.grid(visible=True, which="major")
        ax.tick_params(which="minor", color=PALE)
        figure.legend(loc="outside right center")


def keys(width: int, longest: int) -> PlotTable:
    """Tags that are found while people begin to use them; with the truth, as nobody is real."""
    recipe = KeyDiscovery(epsilon=2, delta="1e-8", horizon=DAYS, records=4)
    noise, run = System(), recipe.start(System())
    number = run.numbers(list(TAGS))
    true = np.zeros(len(TAGS), dtype=np.int64)
    rows: list[tuple[str, str, int, float, float, float, float]] = []
    for day in range(1, DAYS + 1):
        # from half as many people as on average to one and a half times as many
        people = np.array(
            [
                daily // 2 + int(noise.uniform(daily + 1, 1)[0]) if day >= first else 0
                for first, daily in TAGS.values()
            ]
        )
        true += people
        # each of them has a first slot
        out = run.step(KeyInputs.of(number=number, selected=4 * people, amounts=people[:, None]))
        values = dict(zip(run.names(out.public), out.values[:, 0].tolist(), strict=True))
        since = dict(zip(run.names(out.public), out.since.tolist(), strict=True))
        for tag, count in zip(TAGS, true.tolist(), strict=True):
            value = half = math.nan
            if tag in values:
                value, half = values[tag], recipe.value_error(since[tag]).bound(day, BETA)
            rows.append((tag, "measured", day, value, value - half, value + half, count))
    return PlotTable(("panel", "kind", "step", "value", "low", "high", "true"), rows)


def discoveries(table: PlotTable, file: Path) -> None:
    """Above, true against released; below, when each key was first used and when it was found."""
    names, colours = table.values("panel"), (INK, BLUE, RED, GREEN, PINK, ORANGE, SKY)
    with canvas(file, 7.4, 5.4) as figure:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1.3))
        for place, (name, colour) in enumerate(zip(names, colours, strict=True)):
            here = table.where(panel=name)
            days, true = here.column("step"), here.column("true")
            public = [math.isfinite(value) for value in here.column("value")]
            used = next(day for day, count in zip(days, true, strict=True) if count)
            upper.plot(days, true, color=colour, linewidth=0.8, linestyle=":")
            lower.plot([used, DAYS], [place, place], color=PALE, linewidth=6)
            if any(public):
                start = public.index(True)
                seen = [here.column(column)[start:] for column in ("step", "low", "high", "value")]
                upper.fill_between(*seen[:3], color=colour, alpha=0.2, linewidth=0, step="mid")
                upper.step(seen[0], seen[3], where="mid", color=colour, linewidth=1.1)
                upper.plot(seen[0][:1], seen[3][:1], "o", color=colour, markersize=4.5)
                lower.plot([days[start], DAYS], [place, place], color=colour, linewidth=6)
                lower.plot(days[start : start + 1], [place], "o", color=colour, markersize=7)
        upper.set_title("people who have used a tag; dotted is true, a point is the discovery")
        upper.set_yscale("log")
        upper.set_ylim(1, None)
        log_axis(upper.yaxis)
        upper.grid(visible=True, axis="y")
        lower.set_title("pale: used, and secret; coloured: public")
        lower.set_yticks(range(len(names)), names)
        lower.invert_yaxis()
        lower.set_xlabel("day")
        lower.set_xlim(1, DAYS)


def quantile(errors: Sequence[float] | np.ndarray[Any, np.dtype[np.int64]]) -> float:
    """What 95% of the errors are within."""
    return float(np.quantile(errors, 1 - BETA, method="inverted_cdf"))


def limit(table: PlotTable, file: Path, counted: str) -> None:
    """What is promised and what was measured, above what nobody can reach."""
    with canvas(file, 7.4, 3.8) as figure:
        ax = figure.subplots()
        bound = table.where(kind="bound")
        floor = min(bound.column("y")) / 4
        ax.fill_between(bound.column("x"), floor, bound.column("y"), color=PALE, linewidth=0)
        ax.plot(bound.column("x"), bound.column("y"), color=INK, linewidth=1)
        region = textwrap.fill(bound.column("mechanism")[0], 18)
        ax.text(0.95, 0.05, region, transform=ax.transAxes, ha="right")
        for name in table.where(kind="theory").values("mechanism"):
            pen = PENS.get(name) or pens([name])[name]
            promised = table.where(mechanism=name, kind="theory")
            points = table.where(mechanism=name, kind="measured")
            style = {"color": pen.colour, "markersize": 4.5}
            ax.plot(promised.column("x"), promised.column("y"), pen.dashes, linewidth=1.4, **style)
            ax.plot(points.column("x"), points.column("y"), pen.marker, **style)
            ax.plot([], [], linestyle=pen.dashes, marker=pen.marker, label=name, **style)
        ax.set_title(table.values("panel")[0])
        ax.set_xlabel("steps of the stream, T; lines are promised, points measured")
        ax.set_ylabel(f"error, {counted}")
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.set_ylim(bottom=floor)
        log_axis(ax.yaxis)
        log_axis(ax.xaxis, [float(1 << power) for power in range(4, 23, 4)])
        ax.set_xlim(bound.column("x")[0] / 1.3, bound.column("x")[-1] * 1.3)
        ax.xaxis.set_major_formatter(lambda x, _: f"$2^{{{round(x).bit_length() - 1}}}$")
        ax.grid(visible=True, which="major")
        ax.tick_params(which="minor", color=PALE)
        figure.legend(loc="outside right center")


PICTURES: dict[str, tuple[Callable[[int, int], PlotTable], Callable[[PlotTable, Path], None]]] = {
    "season": (season, band),
    "horizon": (horizon, error_against_horizon),
    "epsilon": (epsilon, error_against_epsilon),
    "gaussian": (gaussian, error_against_horizon),
    "stream": (stream, error_within_stream),
    "tree": (tree, covering_nodes),
    "hats": (hats, hat_nodes),
    "matrix": (matrix, noise_matrices),
    "packing": (packing, partial(limit, counted="counts")),
    "intrusions": (intrusions, partial(limit, counted="counts")),
    "varying": (varying, partial(limit, counted="users")),
    "gap": (gap, gap_lines),
    "keys": (keys, discoveries),
}

if __name__ == "__main__":
    sys.exit(main())
