"""Prints what ``ameles check`` found, as a page for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ameles.cli.plans import moment
from ameles.cli.secret_output import HEADING
from ameles.connectors.text.lines import LinePlace
from ameles.core.words import brief, printable
from ameles.engine.owner_check.facts import (
    CheckFinding,
    ColumnFacts,
    Facts,
    ReleaseFacts,
    UserFacts,
)
from ameles.plan.plan import Plan

SHAPES = "their shapes"
BY_LOOKING = "A choice made by looking is outside of the guarantee; better look at a past season."
MOST_KEYS = 12
MOST_FILES = 5
_FLAWS = {
    "open quote": "with an open quote",
    "bad quotes": "with misplaced quotes",
    "trailing delimiter": "with a delimiter at the end",
    "too many fields": "with too many fields",
    "too few fields": "with too few fields",
    "no object": "that are not a JSON object",
    "no JSON": "with broken JSON",
    "NUL": "with a NUL",
    "too long": "longer than 1 MiB",
}


class FactsPage:
    """Writes the facts to a console, one part after the other."""

    def __init__(self, console: Console, plan: Plan) -> None:
        self._console = console
        self._plan = plan

    def show(self, facts: Facts) -> None:
        """Prints everything; what to fix comes last, next to the prompt."""
        self._console.print(HEADING, soft_wrap=True)
        self._say("Nothing was spent, and no stream, position or sink has changed.")
        self._files(facts)
        if facts.unreadable:
            self._unreadable(facts)
            return
        self._rows(facts)
        self._columns(facts.columns)
        if facts.users is not None:
            self._users(facts.users)
        self._releases(facts.releases)
        self._findings(facts)

    def _say(self, text: str) -> None:
        self._console.print(Text(printable(text)))

    def _table(self, heads: Sequence[str], rows: Sequence[Sequence[str]], *, left: int) -> None:
        grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        for place, head in enumerate(heads):
            words = place < left or head == SHAPES
            grid.add_column(head, justify="left" if words else "right", no_wrap=head != SHAPES)
        for row in rows:
            grid.add_row(*(Text(printable(cell)) for cell in row))
        self._console.print(grid)

    def _head(self, text: str) -> None:
        self._console.print()
        self._console.print(Text(printable(text), style="bold"))

    def _files(self, facts: Facts) -> None:
        shown = [f"{file.name} ({_size(file.size)})" for file in facts.files[:MOST_FILES]]
        more = len(facts.files) - len(shown)
        listed = ", ".join(shown) + (f" and {more:,} more" if more else "")
        self._head(f"Source {facts.source}" + (f": {listed}" if listed else ""))
        if facts.released:
            self._say(
                f"Step {facts.released} is released. This is what the stream has not read yet."
            )

    def _rows(self, facts: Facts) -> None:
        lines, times = facts.lines, facts.times
        flawed = [(count, _FLAWS.get(flaw, flaw)) for flaw, count in lines.flaws.most_common()]
        rows = [("lines or rows", _n(lines.events + sum(lines.flaws.values())))]
        rows += [(f"  broken: {what}", _n(count)) for count, what in flawed if count]
        rows += [("events", _n(lines.events))]
        named = {
            "without a time": times.without,
            "before the start": times.before,
            "after the horizon": times.after,
            f"late, {_fate(self._plan)}": times.late,
            "of steps that have not ended": times.waiting,
            "without a user": facts.users.without if facts.users else 0,
            "without a weight": facts.weights.missing if facts.weights else 0,
        }
        rows += [(f"  {what}", _n(count)) for what, count in named.items() if count]
        rows += [("events that count in a step", _n(times.counted))]
        if facts.weights is not None:
            weights = facts.weights
            rows += [("  stand for", _n(weights.total))]
            parts = {
                "negative weights": weights.negative,
                "weights of zero": weights.zero,
                "weights that are clamped": weights.clamped,
            }
            rows += [(f"  {what}", _n(count)) for what, count in parts.items() if count]
        self._table(("", "count"), rows, left=1)
        for flaw, places in lines.places.items():
            if where := _places(places, lines.flaws[flaw]):
                self._say(f"Broken: {_FLAWS.get(flaw, flaw)}: {where}.")
        if times.first is not None and times.last is not None:
            first, last = (
                moment(time.replace(microsecond=0)) for time in (times.first, times.last)
            )
            self._say(f"From {first} to {last} UTC.")

    def _columns(self, columns: Sequence[ColumnFacts]) -> None:
        self._head("Columns")
        rows = [
            (
                column.name,
                column.kind,
                _n(column.read),
                _n(column.missing),
                _n(column.unfit),
                ", ".join(_shapes(column)),
            )
            for column in columns
        ]
        heads = ("column", "kind", "read", "missing", "do not fit", SHAPES)
        self._table(heads, rows, left=2)

    def _users(self, users: UserFacts) -> None:
        privacy = self._plan.privacy
        self._head("Users")
        kept = f"{users.kept / users.events:.1%}" if users.events else "nothing"
        self._say(
            f"{_n(users.users)} users with {_n(users.events)} events; one user has at "
            f"most {_n(users.most_in_a_step)} in a step, and at most {_n(users.most_steps)} steps."
        )
        if not users.choices:
            return
        self._say(
            f"max_per_step = {privacy.max_per_step} and max_steps = {privacy.max_steps} keep "
            f"{_n(users.kept)} events ({kept}), and leave out events of {_n(users.bounded)} users."
        )
        release = self._plan.releases[0].name
        self._say(f"What other bounds would keep, and ± of release '{release}' at the last step:")
        steps = sorted({choice.max_steps for choice in users.choices})
        rows = []
        for per_step in sorted({choice.max_per_step for choice in users.choices}):
            cells = [
                f"{choice.kept / max(1, users.events):.1%} ±{brief(choice.half_widths[release])}"
                + (" ←" if (per_step, choice.max_steps) == self._own else "  ")
                for choice in users.choices
                if choice.max_per_step == per_step
            ]
            rows.append((f"{per_step} a step", *cells))
        heads = [f"{step} steps  " if step > 1 else "1 step  " for step in steps]
        self._table(("bounds", *heads), rows, left=1)
        self._say(BY_LOOKING)

    @property
    def _own(self) -> tuple[int | None, int | None]:
        return self._plan.privacy.max_per_step, self._plan.privacy.max_steps

    def _releases(self, releases: Sequence[ReleaseFacts]) -> None:
        self._head("Releases, before users are bounded")
        weighted = self._plan.stream.weight is not None
        rows = [
            (
                release.name,
                release.measure,
                _n(release.matched),
                _n(release.counted),
                *([_n(sum(release.keys.values()))] if weighted else []),
                _n(release.matched - release.counted),
                _n(release.below) if release.below or release.above else "",
                _n(release.above) if release.below or release.above else "",
            )
            for release in releases
        ]
        more = ["stand for"] if weighted else []
        heads = ["release", "measure", "meet where", "counted", *more]
        heads += ["in no cell", "below", "above"]
        self._table(heads, rows, left=2)
        for release in releases:
            for line in _keys(release):
                self._say(line)

    def _unreadable(self, facts: Facts) -> None:
        """Prints why the source is unreadable and how to fix it; nothing else was looked at."""
        self._head("The source cannot be read as the plan declares it")
        if not any(finding.what == facts.unreadable for finding in facts.findings):
            self._say(facts.unreadable)
        for finding in facts.findings:
            self._say(finding.what)
            self._mend(finding)

    def _mend(self, finding: CheckFinding) -> None:
        if finding.mend:
            self._say(f"   try: {finding.mend}")
            if finding.by_looking:
                self._say(f"   {BY_LOOKING}")

    def _findings(self, facts: Facts) -> None:
        if not facts.findings:
            self._head("Nothing looks wrong.")
            return
        self._head("To look at")
        for number, finding in enumerate(facts.findings, start=1):
            self._say(f"{number}. {finding.what}")
            self._mend(finding)


def _keys(release: ReleaseFacts) -> Iterator[str]:
    if release.found is not None:
        yield f"{release.name}: {_n(release.found)} different keys, of which common ones are found"
    if len(release.keys) > 1:
        shown = sorted(release.keys.items(), key=lambda one: -one[1])[:MOST_KEYS]
        more = len(release.keys) - len(shown)
        listed = ", ".join(f"{key} {_n(count)}" for key, count in shown)
        yield f"{release.name}: {listed}{f' and {more:,} more keys' if more else ''}"
    for column, values in release.others.items():
        if values:
            listed = ", ".join(f"{value!r} {_n(count)}" for value, count in values)
            yield f"{release.name}: values of {column} that are not a key: {listed}"


def _places(places: Sequence[LinePlace], count: int) -> str:
    """The first lines, by file, and how many more there are.

    >>> _places([LinePlace("a.csv", 3), LinePlace("a.csv", 7), LinePlace("b.csv", 2)], 5)
    "'a.csv' lines 3, 7; 'b.csv' line 2; and 2 more"
    """
    lines: dict[str, list[str]] = {}
    for place in places:
        if place.file:
            lines.setdefault(place.file, []).append(f"{place.line:,}")
    parts = [
        f"'{file}' {'line' if len(numbers) == 1 else 'lines'} {', '.join(numbers)}"
        for file, numbers in lines.items()
    ]
    more = count - len(places)
    return "; ".join([*parts, *([f"and {more:,} more"] if more else [])]) if parts else ""


def _shapes(column: ColumnFacts) -> Iterator[str]:
    for one in column.shapes:
        example = f" such as {one.example!r}" if one.example is not None else ""
        yield f"{one.shape} ({_n(one.count)}{example})"


def _fate(plan: Plan) -> str:
    return "joining the open step" if plan.stream.late == "next" else "dropped"


def _size(count: int) -> str:
    """Bytes for people.

    >>> _size(812), _size(4_130_000)
    ('812 bytes', '4.1 MB')
    """
    if count < 1000:
        return f"{count} bytes"
    power = min((len(str(count)) - 1) // 3, 3)
    return f"{count / 1000**power:.1f} {('', 'kB', 'MB', 'GB')[power]}"


def _n(count: int) -> str:
    return f"{count:,}"
