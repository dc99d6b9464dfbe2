"""Converts CSV with newlines inside quotes to Parquet, which no quote can break.

This is a tool for the data's owner and not part of a run: what it prints about the data is exact.
It reads records strictly, as RFC 4180 defines them, and gives their values the same kinds as a run
would.  The new file appears under its name only when it is whole, and only its owner can read it.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import duckdb
import numpy as np

from ameles.connectors.duck import connect, quiet
from ameles.connectors.files.compressed import Damaged, Incomplete, opened
from ameles.connectors.files.named_files import NamedFile
from ameles.connectors.files.refusals import unreadable
from ameles.connectors.format import Format
from ameles.connectors.text.csv_records import Broken, CsvRecord, records
from ameles.connectors.typed_columns import Typed, check_kinds, given_name, typed
from ameles.core.exceptions import AmelesError, BadInput
from ameles.core.own_file import open_own
from ameles.measures.fields import identifier, literal

_MEMORY = 1 << 30
_AT_ONCE = 100_000  # records in memory at a time


@dataclass
class Conversion:
    """How many records of a file were sound and broken: exact, so as secret as the file."""

    converted: int = 0
    broken: int = 0
    unfit: dict[str, int] = field(
        default_factory=dict
    )  # by column: values that are of another kind

    def __repr__(self) -> str:
        return "<Conversion>"


@dataclass(frozen=True)
class Converting:
    """The conversion of files with the same columns; ``kinds`` are the columns to keep.

    ``told`` is called with the file of every broken record, ``progress`` with the bytes read and in
    all.
    """

    sources: tuple[NamedFile, ...]
    form: Format
    kinds: Mapping[str, str]
    zone: str = "UTC"
    told: Callable[[str, Broken], None] = lambda file, broken: None
    progress: Callable[[int, int], None] = lambda done, of: None

    def to(self, target: Path, *, skip_broken: bool = False) -> Conversion:
        """Writes a new Parquet file; writes none if a record is broken, unless those are
        skipped."""
        conversion = Conversion()
        with _new(target) as folder:
            parts = self._parts(folder, conversion)
            if conversion.broken and not skip_broken:
                return conversion
            whole = folder / "whole.parquet"
            readable = [str(path) for path in (*parts, whole)]
            listed = ", ".join(literal(str(part)) for part in parts)
            with closing(connect(zone="UTC", memory=_MEMORY, readable=readable)) as duck:
                _write(duck, f"SELECT * FROM read_parquet([{listed}])", whole)
            with whole.open("rb") as file:
                os.fsync(file.fileno())
            whole.replace(target)
        return conversion

    def _parts(self, folder: Path, conversion: Conversion) -> list[Path]:
        """Files of at most ``_AT_ONCE`` records each; at least one file."""
        parts: list[Path] = []
        header: tuple[str, ...] = ()
        sizes = [_size(source) for source in self.sources]
        for place, source in enumerate(self.sources):
            try:
                with opened(source.path) as unpacked:
                    # Invalid bytes are replaced, and their record is reported as broken.
                    text = io.TextIOWrapper(
                        unpacked, encoding=_codec(self.form), errors="replace", newline=""
                    )
                    reading = records(text, delimiter=self.form.delimiter, quote=self.form.quote)
                    names = self._names(source.name, reading)
                    header = header or names
                    if names != header:
                        raise self._other_header(source.name)
                    sound = self._sound(source.name, reading, len(names), conversion)
                    while (rows := list(islice(sound, _AT_ONCE))) or not parts:
                        parts.append(folder / f"{len(parts)}.parquet")
                        self._write_part(parts[-1], names, rows, conversion)
                        read = os.lseek(unpacked.fileno(), 0, os.SEEK_CUR)
                        self.progress(sum(sizes[:place]) + read, sum(sizes))
            except (OSError, Incomplete, Damaged) as problem:
                refusal = _refused(source.name, problem)
            else:
                continue
            raise refusal  # outside of the handler: the caught error may quote the file
        return parts

    def _names(self, file: str, reading: Iterator[CsvRecord | Broken]) -> tuple[str, ...]:
        names = self.form.header
        if not names:
            first = next(reading, None)
            names = tuple(n.strip() for n in first.fields) if isinstance(first, CsvRecord) else ()
        for name in self.kinds:
            if names.count(name) != 1:
                has = "no column" if name not in names else "more than one column"
                raise BadInput(
                    f"The file '{file}' has {has} {name!r}.",
                    why="columns are found by name, in the first record or in the declared header",
                    tip="columns that the file has, each once; --header for a file without names",
                )
        check_kinds(self.kinds)
        return names

    def _other_header(self, file: str) -> BadInput:
        return BadInput(
            f"The first line of the file '{file}' names other columns than that of "
            f"'{self.sources[0].name}', or in another order.",
            why="files of one Parquet file must have the same columns: with other ones they are "
            "probably not of the same kind",
            tip='convert them into a Parquet file each, and name these as source = "*.parquet"',
        )

    def _sound(
        self,
        file: str,
        reading: Iterator[CsvRecord | Broken],
        width: int,
        conversion: Conversion,
    ) -> Iterator[list[str]]:
        """The fields of the sound records; the broken ones go to ``told``."""
        for one in reading:
            if isinstance(one, CsvRecord) and len(one.fields) == width:
                conversion.converted += 1
                yield one.fields
                continue
            if isinstance(one, CsvRecord):
                fields = "1 field" if len(one.fields) == 1 else f"{len(one.fields)} fields"
                one = Broken(one.line, f"it has {fields} instead of {width}")
            conversion.broken += 1
            self.told(file, one)

    def _write_part(
        self, part: Path, names: tuple[str, ...], rows: list[list[str]], conversion: Conversion
    ) -> None:
        kinds = self.kinds
        held, columns = {}, []
        for place, (name, kind) in enumerate(kinds.items()):
            column = np.empty(len(rows), dtype=object)
            column[:] = [row[names.index(name)] for row in rows]
            held[f"field_{place}"] = column
            given = f"CAST(field_{place} AS VARCHAR)"  # without rows DuckDB does not know the type
            given = f"trim({given})" if self.form.strip else given
            columns.append(Typed(name, kind, f"nullif({given}, '')"))
        relation = typed(columns, "batch", self.form, raw=True)
        wanted = ", ".join(identifier(name) for name in kinds)
        unfit = ", ".join(
            f"count({identifier(given_name(name))}) - count({identifier(name)})" for name in kinds
        )
        with closing(connect(zone=self.zone, memory=_MEMORY, readable=[str(part)])) as duck:
            with quiet("converting records"):
                duck.register("batch", held)
                counted = duck.execute(f"SELECT {unfit} FROM {relation}").fetchall()[0]
            _write(duck, f"SELECT {wanted} FROM {relation}", part)
        for name, more in zip(kinds, counted, strict=True):
            conversion.unfit[name] = conversion.unfit.get(name, 0) + more


def _size(source: NamedFile) -> int:
    """The bytes of a file; 0 if it cannot be looked at, because opening it says so better."""
    try:
        return source.path.stat().st_size
    except OSError:
        return 0


def _refused(name: str, problem: OSError | Incomplete | Damaged) -> AmelesError:
    if isinstance(problem, FileNotFoundError):
        return BadInput(
            f"There is no file '{name}'.",
            why="a name is relative to the folder in which the command runs",
            tip="the name of a file, a folder with CSV files, or a pattern such as 'folder/*.csv'",
        )
    if isinstance(problem, OSError):
        return unreadable(name)
    return BadInput(
        f"The file '{name}' cannot be unpacked.",
        why="it is incomplete, or not what its ending says",
        tip="the whole file, or a name without .gz, .zst or .bz2 if it is not compressed",
    )


def _codec(form: Format) -> str:
    """Python's name of an encoding; for UTF-8 the one that drops a byte order mark."""
    return "utf-8-sig" if form.encoding == "utf-8" else form.encoding


def _write(duck: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    path.touch(mode=0o600)
    with quiet("writing Parquet"):
        duck.execute(
            f"COPY ({query}) TO {literal(str(path))} (FORMAT parquet, USE_TMP_FILE false)"
        ).fetchall()


@contextmanager
def _new(target: Path) -> Iterator[Path]:
    """Reserves a free name, and gives a folder beside it for unfinished files."""
    try:
        os.close(open_own(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        raise BadInput(
            f"'{target}' already exists.", tip="another name, or move the file away"
        ) from None
    except OSError as problem:
        raise BadInput(
            f"'{target}' cannot be written: {problem.strerror}.", tip="a folder that is yours"
        ) from None
    # The absolute path, because DuckDB compares paths as texts.
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent.resolve()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            if not target.stat().st_size:
                target.unlink()
