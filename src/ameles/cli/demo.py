"""``ameles demo``: the real engine publishes a simulated season of an influenza site.

The visitors are made up, so the demo may show true values beside the published ones.  No other
command does, except those in which the data's owner looks in secret.
"""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from contextlib import closing
from importlib import resources
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from ameles.cli.demo_live import PUBLIC, serve_season
from ameles.cli.demo_truth import Point, Truth
from ameles.cli.plan import show
from ameles.cli.plans import progress, say, store_path, table
from ameles.cli.serve import LISTEN, need_serve
from ameles.cli.terminal_plot import chart
from ameles.core.exceptions import BadInput
from ameles.core.release import Release
from ameles.core.words import brief
from ameles.engine.engine import Engine
from ameles.plan.clock import instant
from ameles.plan.forecast import forecasts, in_words
from ameles.plan.plan import Plan, read_plan
from ameles.plot import PlotTable
from ameles.plot import releases as drawn
from ameles.simulate import season, write_csv
from ameles.store import open_store

DEFAULT_FOLDER = "ameles-demo"
EVENTS = 100_000
SHOWN = (28, 63, 84, 98, 182)
PANELS = {
    ("visits", "north"): "visits of the last 7 days, north",
    ("visits", "south"): "visits of the last 7 days, south",
    ("fever-today", ""): "adults with a fever, each day",
    ("visitors", ""): "different visitors so far",
}
FILES = {
    "visits.csv": "the raw visits; with real data, only you would see them",
    "ameles.toml": "the plan",
    "flu.db": "the store: ledger, releases and secret state",
    "releases.csv": "what is published",
    "releases.png": "true against released",
}


def demo(
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="A folder that does not exist yet, or is empty.",
            show_default=f"{DEFAULT_FOLDER}, or with a number",
        ),
    ] = None,
    events: Annotated[int, typer.Option(help="How many visits to simulate.", min=1000)] = EVENTS,
    serve: Annotated[
        bool, typer.Option("--serve", help="Show the season live on a page, a day a second.")
    ] = False,
    listen: Annotated[
        str | None,
        typer.Option(help="With --serve: the address and port.", show_default=LISTEN),
    ] = None,
) -> None:
    """Simulate an influenza site and publish its season.

    Makes a folder with the visits, a plan, a store and the releases, and shows what came out.  With
    --serve the season happens now, a day a second: open the address that it prints.
    """
    if listen is not None and not serve:
        raise BadInput("--listen goes with --serve.", tip="ameles demo --serve --listen ...")
    if serve:
        need_serve()
    since = time.monotonic()
    folder = _free() if folder is None else folder
    _empty(folder)
    _say("A simulated season of visits to an influenza self-assessment site, and its plan:")
    # Most people come once or twice; a few come very often, and exceed the bounds.
    visits = season(events=events, visitors=5 * events)
    text = resources.files("ameles.cli").joinpath("demo.toml").read_text(encoding="utf-8")
    (folder / "ameles.toml").write_text(text + (PUBLIC if serve else ""), encoding="utf-8")
    plan = read_plan(folder / "ameles.toml")
    for sentence in in_words(plan):
        _say(f"  {sentence}")
    _say("")
    if serve:
        serve_season(plan, visits, listen)
        return
    write_csv(folder / "visits.csv", visits)
    show(forecasts(plan))
    published = _published(plan)
    truth = Truth.of(plan)
    points = [truth.beside(release) for release in published if truth.knows(release)]
    _say("")
    _show(points)
    _say(alarms(plan, published))
    _say(
        f"{truth.left_out:.1%} of the visits exceed the bounds of the plan and are not counted; "
        "± does not include that."
    )
    _picture(points, folder)
    _say("")
    for name, what in FILES.items():
        if (folder / name).exists():
            _say(f"  {folder / name}: {what}")
    _say(f"Done in {time.monotonic() - since:.0f} s. True values are shown: nobody is real.")
    _say(f"Next: cd {folder} && {_program()} explain visits 98")


def _free() -> Path:
    """The first folder name that is free: the default, or the default with a number."""
    names = (DEFAULT_FOLDER if number == 1 else f"{DEFAULT_FOLDER}-{number}" for number in count(1))
    return next(path for path in map(Path, names) if not path.exists())


def _program() -> str:
    """What to type to start this program: its path, if the shell would not find it."""
    beside = Path(sys.executable).with_name("ameles")
    if shutil.which("ameles") is None and beside.exists():
        return shlex.quote(str(beside))
    return "ameles"


def _empty(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(
            f"'{folder}' already exists and is not an empty folder.",
            tip="ameles demo second-demo, or move it away",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise BadInput(
            f"The folder '{folder}' cannot be made: {problem.strerror or problem}.",
            tip="a folder in which this user may write",
        ) from None


def _published(plan: Plan) -> list[Release]:
    """Runs the plan to its end and reads what it has published."""
    end = instant(plan.clock.end_of(plan.stream.horizon or 1))
    with closing(open_store(store_path(plan))) as store:
        with progress() as tell:
            Engine(plan, store, progress=tell).run(end)
        with store.reading() as transaction:
            stream = transaction.stream(plan.stream.name)
            return [] if stream is None else list(transaction.releases(stream))


def _show(points: list[Point]) -> None:
    rows = [
        (
            point.released.release,
            point.released.key,
            str(point.released.step),
            *map(brief, (point.true, point.released.value, point.half)),
        )
        for name in PANELS
        for point in points
        if point.name == name and point.released.step in SHOWN
    ]
    table(("release", "key", "day", "true", "released", "±95%"), rows, left=2)


def alarms(plan: Plan, published: list[Release]) -> str:
    """One sentence that says when the plan's alert fired."""
    alert = next(release for release in plan.releases if release.measure == "alert")
    told = {r.step: r.label for r in published if r.release == alert.name}
    above = [step for step, label in told.items() if label == "above"]
    if not above:
        return f"{alert.name}: no alarm."
    halted = [step for step, label in told.items() if label == "halted"]
    ends = f"; halted from day {halted[0]} on" if halted else ""
    many = "1 alarm" if len(above) == 1 else f"{len(above)} alarms"
    return f"{alert.name}: {many}, the first on day {above[0]}, the last on day {above[-1]}{ends}."


def _picture(points: list[Point], folder: Path) -> None:
    rows = [
        (
            title,
            point.released.step,
            point.released.value or 0,
            point.released.low or 0,
            point.released.high or 0,
            point.true,
        )
        for name, title in PANELS.items()
        for point in points
        if point.name == name
    ]
    if find_spec("matplotlib") is not None:
        heads = ("panel", "step", "value", "low", "high", "true")
        drawn(PlotTable(heads, rows), folder / "releases.png", step="day of the season")
        return
    title = PANELS["fever-today", ""]
    here = [row for row in rows if row[0] == title]
    say("", f"{title}: released █, true ·")
    for line in chart([row[2] for row in here], [row[5] for row in here], width=78, height=10):
        say(line)


def _say(text: str) -> None:
    say(text, err=True)
