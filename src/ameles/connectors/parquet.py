"""Parquet: whole files that never change; DuckDB opens them itself."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path

import duckdb

from ameles.connectors.declarations import NOTHING, Declarations
from ameles.connectors.duck import connect
from ameles.connectors.file_identity import Present, changed, opened, present, readable
from ameles.connectors.file_matching import match
from ameles.connectors.format import DEFAULT, Format
from ameles.connectors.lines import LONGEST
from ameles.connectors.marks import Mark
from ameles.connectors.parquet_types import check_type
from ameles.connectors.same_files import SameFiles
from ameles.connectors.settled_files import settled
from ameles.connectors.source import Found, Reading, Source, find_files
from ameles.connectors.typed import IDS, Typed, typed
from ameles.connectors.user_ids import WHOLE_TYPES, parquet_id
from ameles.core.exceptions import AmelesError, PlanError, SourceUnreadable
from ameles.core.rules import LONG_TEXTS, SCHEMA
from ameles.measures.fields import identifier, literal

_MEMORY = 256 << 20  # to look into a footer
_MAGIC = b"PAR1"  # the last bytes of every whole file


class ParquetSource(Source):
    """A Parquet file or files; a new file brings new events."""

    def __init__(
        self,
        pattern: str,
        base: Path,
        columns: Mapping[str, str],
        declarations: Declarations = NOTHING,
        form: Format = DEFAULT,
        *,
        raw: bool = False,
    ) -> None:
        self._pattern = pattern
        self._base = base
        self._columns = columns
        self._form = form
        self._raw = raw
        self._same = SameFiles("parquet", declarations, fits=Mark.fits_parquet)

    def names(self) -> tuple[str, ...]:
        return settled(self._files, self._common_names)

    def _common_names(self, files: list[Present]) -> tuple[str, ...]:
        found, problems = [], []
        for file in files:
            try:
                found.append([*self._checked_types(file.file)])
            except (PlanError, SourceUnreadable) as problem:
                problems.append(problem)
        if problems and not found:
            raise problems[0]
        if not found:
            return ()
        everywhere = set(found[0]).intersection(*found[1:])
        return tuple(name for name in found[0] if name in everywhere)

    def paths(self) -> tuple[str, ...]:
        found = []
        for file in self._files():
            with suppress(PlanError):  # a name that DuckDB cannot be given is left out
                found.append(_opened(file.file))
        return tuple(found)

    def ends(self) -> dict[str, int]:
        """By what a file is and not by its name."""
        return {_key(file): file.status.st_size for file in self._files()}

    def at_launch(self) -> str:
        return self._same.unread(self.reading(None).position)

    def reading(
        self, position: str | None, ends: Mapping[str, int] | None = None
    ) -> ParquetReading:
        return settled(self._files, lambda files: self._reading(files, position, ends))

    def _reading(
        self, files: list[Present], position: str | None, ends: Mapping[str, int] | None
    ) -> ParquetReading:
        matched = match(self._same, files, position)
        fresh, taken, problems = [], [], list(matched.problems)
        # files that have the same columns, in the same order, are one relation
        alike: dict[tuple[tuple[str, str], ...], list[Found]] = {}
        for file, known in matched.files:
            if known is not None:
                taken.append(known)
                if not known.unread:
                    continue
            try:
                with opened(file) as handle:
                    if ends is not None and not _finished(handle, ends.get(_key(file))):
                        continue
                    mark = Mark.of_parquet(handle, file.file.name, matched.declared(file, known))
                types = self._checked_types(file.file)
            except (PlanError, SourceUnreadable) as problem:
                problems.append(problem)
                continue
            alike.setdefault(tuple(types.items()), []).append(file.file)
            fresh.append((file.file, mark))
            taken[-1 if known is not None else len(taken) :] = [mark]
        taken += matched.gone
        relations = [self._relation(some, dict(types)) for types, some in alike.items()]
        position = self._same.position(taken)
        return ParquetReading(fresh, relations, position, tuple(problems))

    def _files(self) -> list[Present]:
        return present(find_files(self._pattern, self._base))

    def _checked_types(self, file: Found) -> dict[str, str]:
        """The columns of a file with their types; all of the plan's must be there."""
        types = _types(file)
        self._check(types, file.name)
        self._relation([file], types)  # what it refuses, it refuses for this file
        return types

    def _check(self, types: Mapping[str, str], file: str) -> None:
        """Refuse a file that lacks a column of the plan, or has it in a type that cannot be it."""
        for name, kind in self._columns.items():
            if name not in types:
                raise PlanError(
                    f"The file '{file}' has no column {name!r}.",
                    why="the plan's columns are read by name",
                    tip=f"a file with all of the plan's columns; it has {', '.join([*types][:20])}",
                )
            if self._form.rules >= SCHEMA:
                check_type(name, kind, types[name], self._form, file)

    def _relation(self, files: list[Found], types: Mapping[str, str]) -> str:
        columns = []
        for name, kind in self._columns.items():
            given, held, written = identifier(name), types[name], identifier(name)
            if held == "VARCHAR" and self._form.rules >= LONG_TEXTS:
                # as long as a line of text may be; longer ones could take all memory
                given = f"CASE WHEN strlen({given}) <= {LONGEST} THEN {given} END"
            if kind in IDS.values() and not (kind == IDS["integer"] and held in WHOLE_TYPES):
                given, held = parquet_id(given, held, files[0].name, name), "VARCHAR"
            columns.append(Typed(name, kind, given, held, written))
        return typed(columns, _scan(files), self._form, raw=self._raw)


class ParquetReading(Reading):
    """The files that were not there before."""

    def __init__(
        self,
        fresh: list[tuple[Found, Mark]],
        relations: list[str],
        position: str,
        problems: tuple[AmelesError, ...] = (),
    ) -> None:
        self._problems = problems
        self._fresh = fresh
        self._relations = relations
        self._position = position

    @property
    def size(self) -> int:
        """How many bytes are unread."""
        return sum(mark.offset for _, mark in self._fresh)

    @property
    def position(self) -> str:
        """What to store with the rows' counts; the next reading begins there."""
        return self._position

    @property
    def problems(self) -> tuple[AmelesError, ...]:
        """Files that cannot be read now, each with its fix."""
        return self._problems

    @property
    def single(self) -> bool:
        """Whether one scan has all of it."""
        return len(self._relations) == 1

    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        yield from self._relations
        for file, mark in self._fresh:
            with readable(file), file.path.open("rb", buffering=0) as raw:
                if not mark.fits_parquet(raw.fileno()):
                    raise changed(file.name)


def _finished(handle: int, end: int | None) -> bool:
    """Whether an open file was there and has its end: one that is still being written waits."""
    size = os.fstat(handle).st_size
    return size == end and os.pread(handle, len(_MAGIC), max(0, size - len(_MAGIC))) == _MAGIC


def _key(file: Present) -> str:
    return f"{file.status.st_dev}:{file.status.st_ino}"


def _opened(file: Found) -> str:
    """The path as DuckDB is given it, which would take some characters for a pattern."""
    path = str(file.path.resolve())
    if glob.has_magic(path):
        raise PlanError(
            f"The path of the file '{file.name}' has one of the characters * ? [ in it.",
            why="DuckDB would take it for a pattern",
            tip="another name for the file or its folder",
        )
    return path


def _scan(files: list[Found]) -> str:
    # Broken UTF-8 would end the query for all rows; so it is replaced in its own value.
    options = "hive_partitioning = false, utf8_validation = 'replace'"
    paths = ", ".join(literal(_opened(file)) for file in files)
    return f"read_parquet([{paths}], {options})"


def _types(file: Found) -> dict[str, str]:
    """The columns of a file with DuckDB's types."""
    try:
        with closing(connect(zone="UTC", memory=_MEMORY, readable=[_opened(file)])) as duck:
            rows = duck.execute(f"DESCRIBE SELECT * FROM {_scan([file])}").fetchall()
    except duckdb.Error:
        rows = []
    if not rows:
        raise SourceUnreadable(
            f"The file '{file.name}' cannot be read as Parquet.",
            why="it is damaged, incomplete or something else; nothing of it was counted",
            tip="a file that gets its name, with .parquet at its end, only when it is complete",
        )
    return {name: kind for name, kind, *_ in rows}
