"""Sources: where events come from, and how far they were taken.

A source is opened from the plan's text; what it has now is a reading.  A reading gives relations
for DuckDB, one after the other, and the position to store once their rows are counted.  Its end
is fixed when it begins, so that it can be gone through again and has the same rows.
"""

from __future__ import annotations

import glob
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import duckdb

from ameles.connectors.compressed import is_compressed
from ameles.connectors.declarations import NOTHING, Declarations
from ameles.connectors.format import DEFAULT, Format, kind_of
from ameles.connectors.typed import check_kinds
from ameles.core.exceptions import AmelesError, PlanError, SourceUnreadable


class Reading(ABC):
    """Rows that were there when it began and had not been taken before."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many bytes are unread."""

    @property
    @abstractmethod
    def position(self) -> str:
        """What to store with the rows' counts; the next reading begins there."""

    @property
    def single(self) -> bool:
        """Whether one scan has all of it."""
        return False

    @property
    def problems(self) -> tuple[AmelesError, ...]:
        """Files that cannot be read now, each with its fix; the others are read."""
        return ()

    @abstractmethod
    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        """SQL relations, to stand after FROM, with the plan's columns in their kinds.

        Each holds until the next is asked for, and can be read several times until then.  May be
        gone through again from the start.
        """


class Source(ABC):
    """Where events come from."""

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The columns that it has: in every file, if there are several."""

    @abstractmethod
    def paths(self) -> tuple[str, ...]:
        """The files that DuckDB itself opens."""

    @abstractmethod
    def ends(self) -> dict[str, int]:
        """How far each of its files goes at this moment, in bytes."""

    @abstractmethod
    def at_launch(self) -> str:
        """The position of a stream that is launched now: the files that are there and how far they
        go, of which nothing was taken."""

    @abstractmethod
    def reading(self, position: str | None, ends: Mapping[str, int] | None = None) -> Reading:
        """What it has beyond a stored position; None: all of it.

        With ``ends``, what it had when they were taken, in whole lines: a line that is still being
        written waits for its newline.
        """


@dataclass(frozen=True, slots=True)
class Found:
    """A file of a source; its name is what the plan's text matched."""

    name: str
    path: Path


def find_files(text: str, base: Path) -> tuple[Found, ...]:
    """The files that a path or a pattern names now, by name."""
    return tuple(file for file in list_names(text, base) if os.path.isfile(file.path))


def list_names(text: str, base: Path) -> list[Found]:
    """What a path or a pattern names now, by name: some of it may be folders, or not be there."""
    names = [text]
    if glob.has_magic(text) and not (base / text).is_file():
        names = sorted(glob.glob(text, root_dir=base, recursive=True))
    return [_found(name, base) for name in names]


@lru_cache(maxsize=1 << 16)
def _found(name: str, base: Path) -> Found:
    """Made once: a watched folder is listed with every step."""
    return Found(name, base / name)


def open_source(
    text: str,
    columns: Mapping[str, str],
    base: Path,
    *,
    waiting: bool = False,
    take_last: bool = False,
    rotated: Sequence[str] = (),
    declarations: Declarations = NOTHING,
    form: Format = DEFAULT,
    raw: bool = False,
) -> Source:
    """The source that a plan names; ``columns`` are its columns with their kinds.

    ``waiting`` says that its files may still be to come, ``rotated`` which of them are
    copies of files that were cut or compressed, ``take_last`` that a last line counts
    without its newline, ``declarations`` what files are that cannot be told, and ``form`` how they
    are written.  With ``raw``, its relations also have the text of each column as it was given,
    for the owner of the data (``typed.given_name``).
    """
    # Here, because the files of this package that implement a source import this one.
    from ameles.connectors.compressed_source import CompressedSource
    from ameles.connectors.csv_lines import CsvLines
    from ameles.connectors.dialect import Dialect
    from ameles.connectors.json_lines import JsonLines
    from ameles.connectors.parquet import ParquetSource
    from ameles.connectors.text import TextSource

    check_kinds(columns)
    source: Source
    packed = is_compressed(text.rstrip("*."))
    match kind_of(text):
        case "csv" | "jsonl" as kind if not packed or is_compressed(text):
            dialects: dict[str, type[Dialect]] = {"csv": CsvLines, "jsonl": JsonLines}
            dialect = dialects[kind](columns, form, raw=raw)
            if packed:
                source = CompressedSource(text, base, dialect, declarations)
            else:
                source = TextSource(
                    text, base, dialect, declarations, take_last=take_last, rotated=rotated
                )
        case "parquet" if not packed:
            source = ParquetSource(text, base, columns, declarations, form, raw=raw)
        case _:
            raise PlanError(
                f"The source {text!r} is of no kind that Ameles can read.",
                why="the kind of a file is told by the ending of its name",
                tip="a path or pattern that ends in .csv, .jsonl, .ndjson or .parquet; the first "
                "three also with .gz, .zst or .bz2 after it",
            )
    if not waiting and not find_files(text, base):
        raise PlanError(
            f"No file matches the source {text!r}.",
            why="a source is a path, or a pattern, from the folder of the plan",
            tip=f"the file in its place, or before a launch another source than {text!r}",
        )
    return source


def unreadable(name: str) -> SourceUnreadable:
    """The error for a file that the operating system does not open."""
    return SourceUnreadable(
        f"The file '{name}' cannot be read.",
        why="its permissions do not allow it, or its disk fails; nothing of it was counted",
        tip=f"chmod u+r '{name}', as its owner: it is taken as soon as it can be read",
    )
