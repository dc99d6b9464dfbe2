"""Parquet: whole files that never change; DuckDB opens them itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

from ameles.connectors.declarations import NOTHING, Declarations
from ameles.connectors.files.compressed import is_compressed
from ameles.connectors.files.file_marks import Mark
from ameles.connectors.files.identity import Present, opened
from ameles.connectors.files.matching import Matched, match
from ameles.connectors.files.named_files import NamedFile
from ameles.connectors.files.same_files import SameFiles
from ameles.connectors.files.source import EndOf, FileSource
from ameles.connectors.format import DEFAULT, Format, kind_of
from ameles.connectors.parquet.column_types import check_text, check_type
from ameles.connectors.parquet.columns import Columns, Footers, path_of
from ameles.connectors.parquet.piece import ParquetPiece
from ameles.connectors.parquet.scan import hides_places, scan, sound_scan, without_marks
from ameles.connectors.reading import Reading
from ameles.connectors.source import SourceRequest
from ameles.connectors.text.lines import LONGEST
from ameles.connectors.typed_columns import IDS, KEY, Typed, typed
from ameles.connectors.user_ids import WHOLE_TYPES, parquet_id
from ameles.core.exceptions import PlanError, SourceUnreadable
from ameles.core.rules import LONG_TEXTS, SCHEMA
from ameles.measures.fields import identifier

_MAGIC = b"PAR1"  # the last bytes of every whole file


class ParquetSource(FileSource):
    """A Parquet file or files; a new file brings new events."""

    @classmethod
    def claims(cls, text: str) -> bool:
        return kind_of(text) == "parquet" and not is_compressed(text.rstrip("*."))

    @classmethod
    def _opened(cls, request: SourceRequest) -> Self:
        return cls(
            request.text,
            request.base,
            request.columns,
            request.declarations,
            request.form,
            raw=request.raw,
        )

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

    @contextmanager
    def _looking(self, files: list[Present]) -> Iterator[Callable[[Present], Sequence[str]]]:
        with Footers(file.file for file in files) as footers:
            yield lambda file: [*self._checked(file.file, footers).types]

    def _reading(self, files: list[Present], position: str | None, end_of: EndOf | None) -> Reading:
        with Footers(file.file for file in files) as footers:
            return self._read(footers, match(self._same, files, position), end_of)

    def _read(self, footers: Footers, matched: Matched, end_of: EndOf | None) -> Reading:
        problems = list(matched.problems)
        # files with the same columns in the same order are read as one relation
        alike: dict[
            tuple[tuple[tuple[str, str], ...], frozenset[str]], list[tuple[NamedFile, Mark]]
        ] = {}
        long_texts: set[str] = set()
        for place, file in matched.open:
            known = matched.marks[place]
            if known is not None and not known.unread:
                continue
            try:
                with opened(file) as handle:
                    if end_of is not None and not _finished(handle, end_of(file)):
                        continue
                    mark = Mark.of_parquet(handle, file.file.name, matched.declared(file, known))
                columns = self._checked(file.file, footers)
            except (PlanError, SourceUnreadable) as problem:
                problems.append(problem)
                continue
            long_texts |= self._long_texts(columns)
            millis = columns.millis.intersection(self._columns)
            key = tuple(columns.types.items()), millis
            alike.setdefault(key, []).append((file.file, mark))
            matched.marks[place] = mark
        pieces = (
            replace(
                self._piece([file for file, _ in some], dict(types), tuple(some), long_texts),
                millis=tuple((name, dict(types)[name]) for name in sorted(millis)),
            )
            for (types, millis), some in alike.items()
        )
        return Reading(tuple(pieces), self._same.position(matched.taken()), tuple(problems))

    def _checked(self, file: NamedFile, footers: Footers) -> Columns:
        """The columns of a file; refuses a file without all columns of the plan."""
        columns = footers.columns_of(file)
        self._check(columns.types, file.name)
        self._relation([file], columns.types, set())  # raises what it refuses about this file
        return columns

    def _long_texts(self, columns: Columns) -> set[str]:
        """The columns whose texts may be longer than the longest that counts."""
        longest = columns.longest
        return {name for name in self._columns if longest.get(name, LONGEST + 1) > LONGEST}

    def _check(self, types: Mapping[str, str], file: str) -> None:
        """Refuse a file that lacks a column of the plan, or has it in a type that does not fit."""
        for name, kind in self._columns.items():
            if name not in types:
                raise PlanError(
                    f"The file '{file}' has no column {name!r}.",
                    why="columns are read by name",
                    tip=f"a file with all declared columns; it has {', '.join([*types][:20])}",
                )
            check_text(name, kind, types[name], f"the file '{file}'")
            if self._form.rules >= SCHEMA:
                check_type(name, kind, types[name], self._form, f"the file '{file}'")

    def _piece(
        self,
        files: list[NamedFile],
        types: Mapping[str, str],
        some: tuple[tuple[NamedFile, Mark], ...],
        long_texts: set[str],
    ) -> ParquetPiece:
        relation = self._relation(files, types, long_texts)
        names = self._sound_texts(types)
        if not names or hides_places(types):
            return ParquetPiece(relation, some)
        columns = tuple(map(identifier, names))
        scanned = sound_scan([*map(path_of, files)], columns)
        sound = self._relation(files, types, long_texts, scanned)
        return ParquetPiece(relation, some, (columns, sound))

    def _sound_texts(self, types: Mapping[str, str]) -> list[str]:
        """The columns of ids and keys that are texts in the file: broken ones are missing."""
        sound = (name for name, kind in self._columns.items() if kind in (IDS["text"], KEY))
        return [name for name in sound if types[name] == "VARCHAR"]

    def _relation(
        self,
        files: list[NamedFile],
        types: Mapping[str, str],
        long_texts: set[str],
        scanned: str | None = None,
    ) -> str:
        columns = []
        for name, kind in self._columns.items():
            given, held, written = identifier(name), types[name], identifier(name)
            if held == "VARCHAR" and self._form.rules >= LONG_TEXTS and name in long_texts:
                # the same limit as for a line of text; longer values could use up all memory
                given = f"CASE WHEN strlen({given}) <= {LONGEST} THEN {given} END"
            if hides_places(types) and name in self._sound_texts(types):
                given = without_marks(given)
            if kind in IDS.values() and not (kind == IDS["integer"] and held in WHOLE_TYPES):
                holder = f"the file '{files[0].name}'"
                given, held = parquet_id(given, held, holder, name), "VARCHAR"
            columns.append(Typed(name, kind, given, held, written))
        return typed(columns, scanned or _scan(files), self._form, raw=self._raw)


def _finished(handle: int, end: int | None) -> bool:
    """Whether an open file is complete, and was when the ends were taken; others wait."""
    size = os.fstat(handle).st_size
    return size == end and os.pread(handle, len(_MAGIC), max(0, size - len(_MAGIC))) == _MAGIC


def _scan(files: list[NamedFile]) -> str:
    return scan([*map(path_of, files)])
