"""Neighbouring streams: a site that publishes, its file with a line more, and what the world sees.

Everything goes through ``ameles run``.  The operating system's noise is replaced by a tape of
zeros that passes for it, and its random bytes by the same ones for every site, so that two views
differ by what the files differ in.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from shlex import quote
from typing import Any, ClassVar
from unittest import mock

import numpy as np

from ameles import cli
from ameles.engine.gathering.pending import Totals
from ameles.noise import Tape
from ameles.noise.arrays import IntArray
from ameles.plan.plan import Plan, read_plan

HEADER = "at,who,region,age,amount,fever"
REGIONS = ("north", "south", "east")
HORIZON = 7
# Clocks in Rome are changed in step 3, which has 23 hours.  The first run closes three steps, the
# second two more; two stay open.
FIRST_CUT, SECOND_CUT = "2026-03-30", "2026-04-01"
CLOSED, CLOSED_LATER = 3, 5

UNITS = {
    "event": 'unit = "event"',
    "user": 'unit = "user"\nuser = "who"\nmax_per_step = 2\nmax_steps = 3',
    "user-window": 'unit = "user-window"\nuser = "who"\nmax_per_step = 2\nmax_steps = 2\n'
    'window = "4d"',
}
WINDOW = 4
# (steps, events in a step) that one unit may have: in all, or in a window
BOUNDS = {"event": (1, 1), "user": (3, 2), "user-window": (2, 2)}

BY = 'by = { region = ["north", "south", "east"] }\nother = true\n'
BOUNDED = 'column = "amount"\nlower = -5\nupper = 20\ngranularity = 0.5\n'
RELEASES = {
    "visits": 'measure = "count"\n' + BY,
    "daily": 'measure = "count"\nover = "step"\n' + BY,
    "lately": 'measure = "count"\nover = "3d"\n' + BY,
    "feverish": 'measure = "count"\nwhere = "fever AND age * age >= 324"\n' + BY,
    "spent": 'measure = "sum"\nover = "step"\n' + BOUNDED + BY,
    "average": 'measure = "mean"\n' + BOUNDED + BY,
    "ages": 'measure = "histogram"\nover = "step"\ncolumn = "age"\nedges = [0, 18, 65, 120]\n',
    "median": 'measure = "quantile"\ncolumn = "age"\nedges = [0, 18, 65, 120]\nq = 0.5\n',
    "most": 'measure = "top"\nk = 2\nby = { region = ["north", "south", "east"] }\n',
    "alarm": 'measure = "alert"\nover = "step"\nthreshold = 4\ntimes = 2\n' + BY,
    "people": 'measure = "distinct"\n' + BY,
    "people-today": 'measure = "distinct"\nover = "step"\n' + BY,
}
WEIGHED = ("visits", "daily", "lately", "feverish", "spent", "average", "ages", "median", "most")
# What one event adds to the vector of a release at the most: a sum of -5 to 20 by halves is
# 40 halves; a mean counts from the middle, 25 halves to each side, and each event as heavy.
REACH = dict.fromkeys(RELEASES, 1) | {"spent": 40, "average": 50}
ONCE = {"people": 1, "people-today": None}  # users count once: in all, or in each of their steps
UNKEYED = {"ages", "median", "most"}  # one cell is all that they publish


@dataclass(frozen=True)
class View:
    """All that can be seen of two runs, and the vectors that went into the mechanisms."""

    exits: list[int]
    talk: list[str]
    rows: list[list[str]]
    files: dict[str, list[list[str]]]
    laws: list[tuple[str, Any]]
    inputs: dict[str, IntArray] = field(repr=False)


class Site:
    """A plan with every measure, and what it publishes for some lines."""

    def __init__(
        self,
        folder: Path,
        unit: str,
        late: str = "next",
        *,
        weighed: bool = False,
        keys: str = "",
        written: Callable[[bytes], bytes] = lambda line: line + b"\n",
    ):
        """``keys`` are more of those of [stream], and ``written`` puts a line into the file."""
        self.folder, self.unit, self.weighed = folder, unit, weighed
        self.written = written
        self.late = late
        names = [n for n in RELEASES if unit != "event" or n not in ONCE]
        self.names = [n for n in names if not weighed or n in WEIGHED]
        columns = {
            "at": "timestamp",
            "who": "text",
            "region": "text",
            "age": "integer",
            "amount": "number",
            "fever": "boolean",
        } | ({"n": "integer"} if weighed else {})
        kinds = ", ".join(f'{name} = "{kind}"' for name, kind in columns.items())
        releases = "".join(f'[[release]]\nname = "{n}"\n{RELEASES[n]}' for n in self.names)
        self.header = ",".join(columns)
        self.text = (
            f'[stream]\nname = "s"\nsource = "events.csv"\ntime = "at"\ncolumns = {{ {kinds} }}\n'
            f"{'weight = ' + chr(34) + 'n' + chr(34) if weighed else ''}\n"
            f'{keys}start = "2026-03-27"\nevery = "1d"\nzone = "Europe/Rome"\nhorizon = {HORIZON}\n'
            f'late = "{late}"\n[privacy]\npopulation = "people"\n{UNITS[unit]}\nepsilon = 1\n'
            f'{releases}[store]\nurl = "s.db"\n[[sink]]\nstdout = "csv"\n'
            '[[sink]]\ncsv = "out.csv"\n[[sink]]\njsonl = "out.jsonl"\n'
        )

    def plan(self, folder: Path) -> Plan:
        file = folder / "plan.toml"
        file.write_text(self.text, encoding="utf-8")
        return read_plan(file)

    def view(self, name: str, first: Sequence[bytes], second: Sequence[bytes]) -> View:
        """What is seen of a run on the first lines and one after the second were appended."""
        folder = self.folder / name
        folder.mkdir()
        self.plan(folder)
        file = folder / "events.csv"
        tape = Pretender()
        inputs: list[IntArray] = []
        exits, talk, printed = [], [], ""
        with _replaced(tape, inputs):
            for lines, until in ((first, FIRST_CUT), (second, SECOND_CUT)):
                header = [] if file.exists() else [self.header.encode()]
                with file.open("ab") as opened:
                    opened.writelines(self.written(line) for line in [*header, *lines])
                plan = str(folder / "plan.toml")
                code, out, err = command("run", plan, "--yes", "--until", until)
                exits.append(code)
                talk.append(err.replace(quote(plan), "PLAN").replace(str(folder), ""))
                printed += out
        vectors: dict[str, IntArray] = {}
        each = len(self.names)
        for place, release in enumerate(self.names):
            parts = inputs[place::each]
            vectors[release] = np.concatenate(parts) if parts else np.empty((0, 0), dtype=np.int64)
        return View(
            exits=exits,
            talk=talk,
            rows=list(csv.reader(io.StringIO(printed))),
            files=_files(folder),
            laws=[(draw.law, draw.scale) for draw in tape.draws],
            inputs=vectors,
        )


class Pretender(Tape):
    """Zeros that pass for the operating system's noise."""

    genuine: ClassVar[bool] = True
    now: ClassVar[Pretender]  # that of the view that is being taken


def command(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of ``ameles`` with these arguments."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = None
    with mock.patch("sys.argv", ["ameles", *arguments]), redirect_stdout(out), redirect_stderr(err):
        try:
            cli.main()
        except SystemExit as ended:
            code = ended.code
    return int(code or 0), out.getvalue(), err.getvalue()


@contextmanager
def _replaced(tape: Pretender, inputs: list[IntArray]) -> Iterator[None]:
    """The same noise and random bytes for all, and an eye on what enters the mechanisms."""
    numbers = count()
    matrix = Totals.matrix
    Pretender.now = tape

    def bytes_like_random(size: int) -> bytes:
        return hashlib.shake_256(str(next(numbers)).encode()).digest(size)

    def watched(self: Totals, first: int, steps: int, cells: int) -> IntArray:
        inputs.append(matrix(self, first, steps, cells))
        return inputs[-1]

    with (
        mock.patch(
            "ameles.ledger.ledger.System", mock.Mock(return_value=tape, direct=lambda: tape)
        ),
        mock.patch("os.urandom", bytes_like_random),
        mock.patch.object(Totals, "matrix", watched),
    ):
        yield


def _files(folder: Path) -> dict[str, list[list[str]]]:
    """The sinks, row by row, without what is published; of other files their names."""
    contents: dict[str, list[list[str]]] = {name.name: [] for name in folder.iterdir()}
    for name in contents.keys() & {"out.csv", "out.jsonl"}:
        text = (folder / name).read_text(encoding="utf-8").splitlines()
        rows = csv.reader(text) if name == "out.csv" else map(_texts, text)
        contents[name] = [frame(row) for row in rows]
    return contents


def _texts(record: str) -> list[str]:
    return [str(value) for value in json.loads(record).values()]


def frame(row: list[str]) -> list[str]:
    """A row without value, low, high and label."""
    return [*row[:6], *row[10:]]


@dataclass(frozen=True)
class Line:
    """One line more: where it may be seen, if at all."""

    text: bytes
    keys: frozenset[str] = frozenset()  # of the declared column; none: it counts nowhere
    step: int = 1  # that it is in, by its own time
    weight: int = 1

    def lands(self, part: int, late: str) -> int | None:
        """The step that it is counted in."""
        if not self.keys:
            return None
        if part == 2 and self.step <= CLOSED:
            return CLOSED + 1 if late == "next" else None
        return self.step


def violations(
    site: Site, base: View, other: View, *, keys: frozenset[str], step: int | None, times: int = 1
) -> list[str]:
    """What is different though it must not be.

    ``keys`` may have changed from ``step`` on; ``times``: by how many units.
    """
    problems = [
        f"{name} differ"
        for name in ("exits", "talk", "files", "laws")
        if getattr(base, name) != getattr(other, name)
    ]
    if [frame(row) for row in base.rows] != [frame(row) for row in other.rows]:
        return [*problems, "the published rows are others"]
    for before, after in zip(base.rows, other.rows, strict=True):
        release, key, at = before[1], before[2], before[3]
        if before != after:
            own = key in keys or (bool(keys) and release in UNKEYED)
            if not own or step is None or int(at) < step:
                problems.append(f"{release} {key!r} changed at step {at}")
    return problems + _too_far(site, base, other, times)


def _too_far(site: Site, base: View, other: View, times: int) -> list[str]:
    """Releases whose vectors moved further than one unit may move them, in L1."""
    problems = []
    steps, per_step = BOUNDS[site.unit]
    for release in site.names:
        if base.inputs[release].shape != other.inputs[release].shape:
            problems.append(f"{release} has other steps")
            continue
        moved = np.abs(other.inputs[release] - base.inputs[release]).sum(axis=1)
        most = steps * per_step * REACH[release]
        if release in ONCE:
            most = ONCE[release] or steps
        length = WINDOW if site.unit == "user-window" else HORIZON
        for window in range(0, len(moved), length):
            if moved[window : window + length].sum() > times * most:
                problems.append(f"{release} moved by more than {times} x {most}")
    return problems


def check(site: Site, base: View, other: View, line: Line, part: int) -> list[str]:
    """What one line more changed and must not."""
    step = line.lands(part, site.late)
    keys = line.keys if step is not None else frozenset[str]()
    return violations(site, base, other, keys=keys, step=step, times=abs(line.weight))
