"""``ameles convert``: the owner of the data converts CSV files to one Parquet file."""

from __future__ import annotations

import glob
import json
import os
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from pydantic import ValidationError

from ameles.cli.plans import DEFAULT, reading_progress, say
from ameles.cli.secret_output import HEADING, SecretTo, secret_output
from ameles.connectors.files.looks import Looks
from ameles.connectors.files.named_files import NamedFile, find_files, list_names
from ameles.connectors.format import kind_of
from ameles.connectors.text.csv_records import Broken
from ameles.connectors.text.csv_to_parquet import Conversion, Converting
from ameles.core.exceptions import AmelesError, BadInput
from ameles.core.rules import CURRENT
from ameles.core.words import printable
from ameles.plan.format_fields import FormatFields
from ameles.plan.plan import read_plan
from ameles.plan.problems import BadPlan, problems_of

# The keys of a plan that say how its source is written.  The source itself is an argument here.
_FORMAT = sorted(FormatFields.model_fields.keys() - {"source", "format"})
NAMED = 20  # broken records that a terminal shows


class BrokenRecords(AmelesError):
    """The file has broken records, and was to be converted without leaving any out."""

    code = "records"


def convert(
    source: Annotated[
        list[str],
        typer.Argument(
            help="CSV files, also .csv.gz, .csv.zst, .csv.bz2; a pattern of files; or a folder.",
            metavar="FILE...",
        ),
    ],
    target: Annotated[
        Path, typer.Argument(help="The Parquet file to write.", metavar="OUT", readable=False)
    ],
    plan: Annotated[
        Path | None,
        typer.Option(
            help="The plan that declares the columns, their kinds and the format; options of "
            "this command override it.  [default: ameles.toml, if --columns is not given]"
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            help="The columns to keep, with their kinds: at=timestamp,who=text.", metavar="COLUMNS"
        ),
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="The character between fields.")] = None,
    quote: Annotated[str | None, typer.Option(help="The quote character; '' for none.")] = None,
    decimal: Annotated[str | None, typer.Option(help="The decimal separator: . or ,")] = None,
    encoding: Annotated[
        str | None, typer.Option(help="utf-8, utf-16, latin-1 or windows-1252.")
    ] = None,
    time_format: Annotated[
        list[str] | None, typer.Option(help="How times are written, such as %d.%m.%Y.")
    ] = None,
    header: Annotated[
        str | None, typer.Option(help="All column names, for a file without a header: at,who.")
    ] = None,
    zone: Annotated[str | None, typer.Option(help="The zone of times without an offset.")] = None,
    skip_broken: Annotated[
        bool, typer.Option("--skip-broken", help="Leave broken records out instead of stopping.")
    ] = False,
    secret_to: SecretTo = None,
) -> None:
    """Convert CSV files to one Parquet file, even if they have newlines inside quotes.

    A run ends an event at every newline: otherwise one open quote would change how all lines after
    it are read.  This command reads records strictly, as RFC 4180 defines them, and names every
    broken record.  Several files need the same first line.  It is not part of a run: what it prints
    is exact and secret.
    """
    files, left_out = _once(file for text in source for file in _files(text))
    others = [file for file in files if kind_of(file.name) != "csv"]
    if others or target.suffix.lower() != ".parquet":
        raise BadInput(
            "This command makes a Parquet file from CSV files.",
            why="the ending of a file's name says its kind",
            tip="ameles convert visits.csv visits.parquet, or ameles convert 'folder/*.csv' "
            "visits.parquet",
        )
    for name, kept in left_out:
        say(f"'{name}' is another name of '{kept}', so it is left out.", err=True)
    planned: dict[str, Any] = {}
    if columns is None or plan is not None:
        stream = read_plan(plan or DEFAULT).stream
        planned = {name: getattr(stream, name) for name in _FORMAT}
        zone = zone or stream.zone
    said = _declared(
        planned,
        source=files[0].name,
        columns=None if columns is None else _kinds(columns),
        delimiter=delimiter,
        quote=quote,
        decimal=decimal,
        encoding=encoding,
        time_format=time_format or None,
        header=header.split(",") if header else None,
    )
    kinds, form = dict(said.columns), said.form(CURRENT)
    shown = secret_to is not None or sys.stdout.isatty()
    with (
        secret_output(secret_to) if shown else nullcontext() as out,
        reading_progress("converting") as tell,
    ):
        named = _Named(out, most=None if secret_to else NAMED, several=len(files) > 1)
        converting = Converting(files, form, kinds, zone or "UTC", named.hear, tell)
        conversion = converting.to(target, skip_broken=skip_broken)
        named.end(conversion)
    if conversion.broken and not skip_broken:
        named_by = f"'{source[0]}'" if len(source) == 1 else "One of the files"
        raise BrokenRecords(
            f"{named_by} has broken records, and nothing was written.",
            why="they would be missing in what is counted"
            if shown
            else "they would be missing; this is no terminal, so they are not named here",
            tip="fix them, or --skip-broken; --secret-to FILE names all of them",
        )
    # a source is relative to the folder of its plan
    place = "a plan in this folder" if plan is None else f"'{plan}'"
    base = (plan or DEFAULT).parent.resolve()
    path = os.path.relpath(target.parent.resolve() / target.name, base)
    say(
        f"Wrote '{target}'. In {place}: source = {json.dumps(path, ensure_ascii=False)}, without "
        "the keys that describe CSV.",
        err=True,
    )
    if skip_broken and not shown:
        say(
            "If there were broken records, they were left out: --secret-to FILE names them.",
            err=True,
        )


def _files(text: str) -> tuple[NamedFile, ...]:
    """The CSV files that an argument names: one file, those of a pattern, or those of a folder."""
    if Path(text).is_dir():
        found = list_names(str(Path(glob.escape(text)) / "*"), Path())
        files = tuple(file for file in found if kind_of(file.name) == "csv")
    elif glob.has_magic(text):
        files = find_files(text, Path())
    else:
        return (NamedFile(text, Path(text)),)
    if not files:
        raise BadInput(
            f"No CSV file matches '{text}'.",
            why="a folder stands for the CSV files in it, and a pattern for those that it matches",
            tip="ameles convert 'folder/*.csv' visits.parquet",
        )
    return files


def _once(
    named: Iterable[NamedFile],
) -> tuple[tuple[NamedFile, ...], list[tuple[str, str]]]:
    """The files, each once, as a source has them; and the other names of a file, each with the one
    that is kept.  A file that cannot be looked at is refused when it is opened."""
    files = tuple(dict.fromkeys(named))
    there = Looks(Path()).present(files)
    left_out = [(link.name, one.file.name) for one in there for link in one.links[1:]]
    others = {name for name, _ in left_out}
    return tuple(file for file in files if file.name not in others), left_out


def _kinds(columns: str) -> dict[str, str]:
    """Columns with their kinds, from the text on the command line."""
    pairs = [part.partition("=") for part in columns.split(",")]
    return {name.strip(): kind.strip() for name, _, kind in pairs}


def _declared(planned: dict[str, Any], **given: Any) -> FormatFields:
    """The columns and the format from the plan and the command line, checked like a plan's."""
    asked = {name: value for name, value in given.items() if value is not None}
    try:
        return FormatFields.model_validate({**planned, **asked})
    except ValidationError as failure:
        raise BadPlan(problems_of(failure, "", FormatFields.model_fields)) from None


class _Named:
    """Prints each broken record to the owner when it is found, and at the end how many."""

    def __init__(self, out: TextIO | None, most: int | None, *, several: bool) -> None:
        self._out = out
        self._most = most
        self._several = several
        self._heard = 0

    def hear(self, file: str, broken: Broken) -> None:
        """Prints one broken record."""
        if not self._heard:
            self._say(HEADING)
        self._heard += 1
        if self._most is None or self._heard <= self._most:
            place = f"'{file}' line" if self._several else "line"
            self._say(f"{place} {broken.line}: {broken.why}")

    def end(self, conversion: Conversion) -> None:
        """Prints how many records there were, and how many values did not fit."""
        if not self._heard:
            self._say(HEADING)
        elif self._most is not None and self._heard > self._most:
            self._say(f"and {self._heard - self._most} more: --secret-to FILE names all of them")
        self._say(f"{conversion.converted} records are sound, {conversion.broken} are broken.")
        for name, unfit in conversion.unfit.items():
            if unfit:
                self._say(f"Column '{name}': {unfit} values do not fit and are missing.")

    def _say(self, line: str) -> None:
        if self._out is not None:
            print(printable(line), file=self._out)
