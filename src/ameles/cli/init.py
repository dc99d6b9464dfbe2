"""``ameles init``: writes a first plan for a file, from its column names and a person's answers.

Values, types and keys are not looked up in the data: a plan is public, and the data is not.
"""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Annotated, get_args

import typer

from ameles.cli.first_line import (
    check_beginning,
    check_commas,
    files_of,
    looks_like_names,
    without_names,
)
from ameles.cli.plans import DEFAULT, say, with_plan
from ameles.cli.questions import Questions
from ameles.connectors.format import DEFAULT as PLAIN
from ameles.connectors.format import Encoding, Format, kind_of
from ameles.connectors.sources import open_source
from ameles.core.exceptions import BadInput
from ameles.measures.key_words import SMALL_DELTA, published_once
from ameles.measures.keys import DISCOVERED
from ameles.plan.plan import read_plan_text

DELTA = "1e-9"  # of a plan whose keys are discovered
KINDS = ("text", "integer", "number", "boolean", "timestamp")


def init(
    source: Annotated[
        str,
        typer.Argument(
            help="A file of events: csv, jsonl or parquet; or a pattern such as 'logs/*.csv'.",
            metavar="FILE",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the plan.")
    ] = DEFAULT,
    delimiter: Annotated[
        str, typer.Option(help="The character between fields of a CSV file.", metavar="CHARACTER")
    ] = ",",
    header: Annotated[
        str | None,
        typer.Option(help="The columns of a CSV file without a header: at,who.", metavar="NAMES"),
    ] = None,
    encoding: Annotated[
        str, typer.Option(help="The encoding of the file, such as utf-16.", metavar="NAME")
    ] = PLAIN.encoding,
    time: Annotated[
        str | None, typer.Option(help="The column with the time of an event.", metavar="COLUMN")
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            help="The column that tells users apart; '' protects single events.", metavar="COLUMN"
        ),
    ] = None,
    max_per_step: Annotated[
        str | None, typer.Option(help="Most events of one user in a step.", metavar="COUNT")
    ] = None,
    max_steps: Annotated[
        str | None, typer.Option(help="Most steps in which one user counts.", metavar="COUNT")
    ] = None,
    population: Annotated[
        str | None, typer.Option(help="Whose data it is.", metavar="NAME")
    ] = None,
    start: Annotated[
        str | None, typer.Option(help="When the first step begins.", metavar="DATE")
    ] = None,
    every: Annotated[
        str | None, typer.Option(help="How often to publish, such as 1d or 10m.", metavar="TIME")
    ] = None,
    horizon: Annotated[
        str | None, typer.Option(help="How many steps; '' for no end.", metavar="COUNT")
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="A column to count by; '' for none.", metavar="COLUMN")
    ] = None,
    keys: Annotated[
        str | None,
        typer.Option(help="Its public keys: north,south; or: discovered.", metavar="KEYS"),
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="The privacy loss of the whole stream.", metavar="NUMBER")
    ] = None,
) -> None:
    """Write a plan for a file.

    Only the column names are read from the file, and they are shown only if they look like names.
    The command asks for everything that you do not give as an option.
    """
    files = files_of(source)
    if output.exists():
        raise BadInput(
            f"'{output}' already exists.",
            why="a plan of a launched stream must stay as it is",
            tip="--output with another name, or move it away",
        )
    form = _form(delimiter, header, encoding)
    names, shown = _columns(source, files, form)
    if shown:
        say(f"Columns: {', '.join(names)}", err=True)
    ask = Questions(names, hidden=None if shown or not names else without_names(source))
    answers: dict[str, str] = {"time": ask.column("Which column is the time of an event?", time)}
    answers["user"] = ask.column(
        "Which column tells users apart? (empty: only single events are protected)", user, ""
    )
    if answers["user"]:
        answers["max_per_step"] = ask.count(
            "At most how many events of one user may count in a step?", max_per_step, "1"
        )
        answers["max_steps"] = ask.count(
            "In at most how many steps may one user count?", max_steps, "10"
        )
    answers["population"] = ask.text(
        "Whose data is it? (a name for these people)", population, "visitors"
    )
    answers["start"] = ask.date("On which day does the first step begin?", start)
    answers["every"] = ask.duration("How often do you publish?", every, "1d")
    answers["horizon"] = ask.count("For how many steps? (empty: without end)", horizon, "")
    answers["by"] = ask.column("Count by which column? (empty: all together)", by, "")
    declared = ask.keys(f"Which keys of '{answers['by']}' are public?", keys, asked=answers["by"])
    answers["epsilon"] = ask.number("Which epsilon, for the whole stream?", epsilon, "1.0")
    text = plan_text(
        place_of(source, output.parent),
        _name(Path(source).name.partition(".")[0]),
        answers,
        declared,
        others=names if shown else (),
        form=form,
    )
    read_plan_text(text, base=output.parent)  # all problems, before anything is written
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        raise BadInput(
            f"'{output}' cannot be written: {problem.strerror or problem}.",
            tip="--output in a folder in which this user may write",
        ) from None
    say(f"Wrote {output}. Next: {with_plan('ameles plan', output)}", err=True)


def _form(delimiter: str, header: str | None, encoding: str) -> Format:
    """The format of a file, from the options."""
    if len(delimiter) != 1:
        raise BadInput(
            f"--delimiter must be one character. Got {delimiter[:40]!r} instead.",
            tip="--delimiter ';'",
        )
    names = () if header is None else tuple(name.strip() for name in header.split(","))
    script = next((known for known in get_args(Encoding) if known == encoding), None)
    if script is None:
        raise BadInput(
            f"--encoding must be a known encoding. Got {encoding[:40]!r} instead.",
            tip=f"one of {', '.join(get_args(Encoding))}",
        )
    return Format(delimiter=delimiter, header=names, encoding=script)


def _columns(source: str, files: list[Path], form: Format) -> tuple[tuple[str, ...], bool]:
    """The columns of a source, and whether they may be shown."""
    for file in files:
        check_beginning(file, form.encoding)
    names = open_source(source, {}, Path(), form=form).names()
    if form.header:
        return form.header, True
    if kind_of(source) != "csv":
        return names, bool(names)  # from the schema of a Parquet file
    check_commas(names, source)
    shown = bool(names) and looks_like_names(names)
    if not shown:
        say(f"The first line of '{source}' looks like an event, so it is not shown.", err=True)
    return names, shown


def place_of(source: str, folder: Path) -> str:
    """A path or pattern relative to the folder of the plan."""
    first, rest = Path(source), list[str]()
    while glob.has_magic(str(first)) and not first.exists():
        first, rest = first.parent, [first.name, *rest]
    return os.path.join(os.path.relpath(first.resolve(), folder.resolve()), *rest)


def plan_text(
    source: str,
    name: str,
    answers: dict[str, str],
    keys: list[str],
    others: tuple[str, ...] = (),
    form: Format = PLAIN,
) -> str:
    """The text of a plan with one release: the number of events, by key."""
    time, user, by = answers["time"], answers["user"], answers["by"]
    columns = {time: "timestamp"} | {column: "text" for column in (user, by) if column}
    declared = ", ".join(f"{_key(column)} = {_quoted(kind)}" for column, kind in columns.items())
    unread = [column for column in others if column not in columns]
    horizon = f"horizon = {answers['horizon']}"
    if not answers["horizon"]:
        horizon = "# horizon = 365  # how many steps; a stream that knows its end needs less noise"
    lines = [
        "[stream]",
        f"name = {_quoted(name)}",
        f"source = {_quoted(source)}",
        *([f"delimiter = {_quoted(form.delimiter)}"] if form.delimiter != "," else []),
        *([f"header = [{', '.join(map(_quoted, form.header))}]"] if form.header else []),
        *([f"encoding = {_quoted(form.encoding)}"] if form.encoding != PLAIN.encoding else []),
        f"time = {_quoted(time)}",
        f"columns = {{ {declared} }}",
        f"# a column is one of {', '.join(KINDS)}",
        *([f"# not read: {_quoted(', '.join(unread))}"] if unread else []),
        *_hints(kind_of(source), form, users=bool(user)),
        f"start = {_quoted(answers['start'])}",
        f"every = {_quoted(answers['every'])}",
        horizon,
        "",
        "[privacy]",
        f"population = {_quoted(answers['population'])}  # whose budget this is",
        *_protected(answers),
        f"epsilon = {_number(answers['epsilon'])}",
        *([f"delta = {DELTA}  # {SMALL_DELTA}"] if keys == [DISCOVERED] else []),
        "",
        "[[release]]",
        'name = "events"',
        'measure = "count"',
        'over = "total"  # or "step", or a window such as "7d"',
    ]
    if by:
        listed = f"[{', '.join(_quoted(key) for key in keys)}]"
        by_keys, told = listed, "the public list of keys"
        if keys == [DISCOVERED]:
            by_keys, told = _quoted(DISCOVERED), published_once("as ameles plan says")
        lines.append(f"by = {{ {_key(by)} = {by_keys} }}  # {told}")
    lines += ["", "[store]", f"url = {_quoted(name + '.db')}  # secret", ""]
    lines += ["[[sink]]", 'csv = "releases.csv"  # public', ""]
    return "\n".join(lines)


def _hints(kind: str | None, form: Format, *, users: bool) -> list[str]:
    """Commented lines for other keys of a plan that some files need."""
    text, plain = kind != "parquet", form.encoding == PLAIN.encoding
    weight = 'weight = "n"  # lines are counts: n events each, with n = "integer" in columns'
    hints = {
        'time_format = "%d.%m.%Y %H:%M"  # or "epoch", "epoch-ms"; without it, as ISO 8601': True,
        'decimal = ","  # numbers such as 1,5': kind == "csv",
        'encoding = "utf-16"  # or "latin-1", "windows-1252"': text and plain,
        'zone = "Europe/Rome"  # where days begin, and times without an offset are read': True,
        weight: not users,
    }
    return [f"# {hint}" for hint, fits in hints.items() if fits]


def _protected(answers: dict[str, str]) -> list[str]:
    if not answers["user"]:
        return ['unit = "event"  # one event, not one person']
    return [
        'unit = "user"  # a user with all events',
        f"user = {_quoted(answers['user'])}",
        f"max_per_step = {answers['max_per_step']}  # events of one user that a step counts",
        f"max_steps = {answers['max_steps']}  # steps of one user that count at all",
    ]


def _quoted(text: str) -> str:
    """A TOML string.

    >>> _quoted('a "b"')
    '"a \\\\"b\\\\""'
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'


def _key(text: str) -> str:
    """A TOML key, in quotes where it needs them."""
    plain = text.isascii() and text.replace("_", "").replace("-", "").isalnum()
    return text if plain else _quoted(text)


def _number(text: str) -> str:
    """A number in TOML; a fraction is written as a string."""
    return _quoted(text) if "/" in text else text


def _name(text: str) -> str:
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "-" for c in text)
    return kept.strip("-_")[:64] or "stream"
