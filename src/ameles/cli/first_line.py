"""The first line of a file, for ``ameles init``: shown only if it names columns.

A file without a header begins with an event, and no value of an event is ever shown.  So the first
line is shown only if none of its fields looks like a value.  Otherwise the user must type the name
of a column.

>>> looks_like_names(["reported_at", "region", "age group", "n"])
True
>>> [looks_like_names(["who", field]) for field in ("2026-01-01", "17", "", "true", "a@b.c", "who")]
[False, False, False, False, False, False]
"""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from pathlib import Path

from ameles.connectors.files.compressed import Damaged, Incomplete, opened, without_ending
from ameles.connectors.format import kind_of
from ameles.core.exceptions import BadInput

_LONGEST = 64
_WORDS = {"true", "false", "t", "f", "yes", "no", "null", "none", "nan", "na", "n/a"}
_BEGINNINGS = {
    b"\x1f\x8b": ("compressed with gzip", ".gz"),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", ".zst"),
    b"BZh": ("compressed with bzip2", ".bz2"),
    b"PK\x03\x04": ("an archive, such as a spreadsheet", ""),
    b"PAR1": ("Parquet", ".parquet"),
    b"SQLite format 3": ("a database", ""),
}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


# The character, how to type it in a shell, and its name.
_DELIMITERS = ((";", "';'", "semicolons"), ("\t", "$'\\t'", "tabs"), ("|", "'|'", "bars"))


def looks_like_names(fields: Sequence[str]) -> bool:
    """Whether no field of a line looks like a value; a real name may look like one by accident."""
    different = {field.casefold() for field in fields}
    return len(different) == len(fields) and not any(_is_value(field) for field in fields)


def _is_value(field: str) -> bool:
    numbers = re.findall(r"\d+", field)
    return (
        not any(letter.isalpha() for letter in field)
        or len(field) > _LONGEST
        or not field.isprintable()
        or field.casefold() in _WORDS
        or "@" in field
        or "�" in field
        or field[0].isdigit()
        or len(numbers) > 1
        or sum(map(len, numbers)) > 3
    )


def check_beginning(file: Path, encoding: str) -> None:
    """Refuses a file whose first bytes contradict the ending of its name or the encoding."""
    if kind_of(file.name) not in ("csv", "jsonl"):
        return
    try:
        with opened(file) as inside:
            first = inside.read(16)
    except (OSError, Incomplete, Damaged):
        return  # the code that reads the file refuses it
    for beginning, (what, ending) in _BEGINNINGS.items():
        if first.startswith(beginning):
            named = file.with_suffix(ending) if ending == ".parquet" else f"{file}{ending}"
            raise BadInput(
                f"'{file}' is {what}, but its name ends in {file.suffix}.",
                why="the ending of a file's name says its kind",
                tip=f"mv '{file}' '{named}'" if ending else "export the table to a CSV file",
            )
    if first.startswith(_UTF_16) and not encoding.startswith("utf-16"):
        raise BadInput(
            f"'{file}' is in UTF-16, but would be read as {encoding}.",
            why="an encoding is declared, never detected",
            tip='--encoding utf-16; in the plan, encoding = "utf-16"',
        )


def check_commas(fields: Sequence[str], file: str) -> None:
    """Refuses a first line that is a single field and contains another delimiter."""
    if len(fields) == 1:
        for delimiter, written, name in _DELIMITERS:
            if delimiter in fields[0]:
                raise BadInput(
                    f"The first line of '{file}' has {name} and no commas.",
                    why="commas separate the fields of a CSV file, unless the plan says otherwise",
                    tip=f"--delimiter {written}",
                )


def without_names(file: str) -> BadInput:
    """The refusal of a file whose first line is an event."""
    return BadInput(
        f"The first line of '{file}' does not name this column, and looks like an event.",
        why="the first line of a CSV file names its columns; this one is not shown, because it "
        "may be an event",
        tip="add a first line such as reported_at,region; or --header reported_at,region",
    )


def _ending(name: str) -> str:
    """The ending of a file name, with the ending of its compression.

    >>> _ending("a.csv"), _ending("2026.01.csv.gz")
    ('.csv', '.csv.gz')
    """
    plain = without_ending(name)
    return Path(plain).suffix + name[len(plain) :]


def files_of(source: str) -> list[Path]:
    """The files that a path or a pattern names.  A folder is refused, with a pattern as tip."""
    if source == "-":
        raise BadInput(
            "'-' is standard input, which has no columns to look at.",
            tip='ameles init with a file of the same columns, then source = "-" in its plan',
        )
    path = Path(source)
    if path.is_dir():
        there = sorted({_ending(file.name) for file in path.iterdir() if kind_of(file.name)})
        raise BadInput(
            f"'{source}' is a folder.",
            why="a source is a file, or a pattern that says which files of a folder are meant",
            tip=f"ameles init '{path / ('*' + (there[0] if there else '.csv'))}'",
        )
    paths = [path] if path.is_file() or not glob.has_magic(source) else []
    paths += [Path(name) for name in sorted(glob.glob(source, recursive=True)) if not paths]
    files = [file for file in paths if file.is_file()]
    if not files:
        raise BadInput(f"There is no file '{source}'.", tip="a file of events, as in visits.csv")
    return files
