"""Buckets of object stores: each object is a whole file that never changes.

A position has the objects that were read, by their names, with what tells them from another upload
under the same name.  Such an upload is refused: nobody could say which of its events were counted
before.  An object that is new since then brings new events.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

from ameles.connectors.declarations import Declarations
from ameles.connectors.format import kind_of
from ameles.connectors.message_source import gap
from ameles.connectors.objects.object_store import EXAMPLE, SCHEMES, ObjectPattern, StoredObject
from ameles.connectors.objects.parquet import ParquetObjects
from ameles.connectors.objects.text import TextObjects
from ameles.connectors.reading import Piece, Reading, Skipped
from ameles.connectors.source import SeekableSource, SourceAway, SourceRequest, unnamed
from ameles.connectors.text.dialect import Dialect, undecided
from ameles.connectors.text.dialects import DIALECTS
from ameles.connectors.typed_columns import check_kinds
from ameles.core import codec
from ameles.core.exceptions import AmelesError, PlanError, SourceUnreadable, StoreRefused

AT_A_TIME = 16  # objects whose beginnings or footers are fetched at the same time
LOOKED_AT = 100  # objects whose columns are looked at before a launch
Found = TypeVar("Found")


class ObjectKind(Protocol):
    """How the objects of a source are read."""

    def names(self, each: StoredObject) -> Iterable[str]:
        """The columns of an object."""

    def pieces(self, each: StoredObject) -> tuple[Piece, ...]:
        """All of its rows; refuses an object without a column of the plan."""


@dataclass(frozen=True, slots=True)
class ObjectMark:
    """An object that a position has."""

    tag: str
    modified: str
    unread: bool = False  # it was there at the launch, and is not read yet

    def is_of(self, each: StoredObject) -> bool:
        """Whether this is the object, and not another upload under its name."""
        return (self.tag, self.modified) == each.identity


class ObjectSource(SeekableSource[Mapping[str, StoredObject]]):
    """The objects that a name or a pattern matches; an object that is new brings new events."""

    takes_format = False

    @classmethod
    def claims(cls, text: str) -> bool:
        return text.partition("://")[0] in SCHEMES and "://" in text

    @classmethod
    def refusal(cls, text: str) -> PlanError | None:
        try:
            ObjectPattern.at(text)
        except PlanError as problem:
            return problem
        return None

    @classmethod
    def open(cls, request: SourceRequest) -> Self:
        check_kinds(request.columns)
        place = ObjectPattern.at(request.text, request.connection)
        kind = kind_of(place.pattern)
        if kind is None:
            raise PlanError(
                f"The source {request.text!r} is not of a kind that Ameles can read.",
                why="the ending of an object's name says its kind",
                tip=f'an address such as "{EXAMPLE}"; endings are .csv, .jsonl, .ndjson and '
                ".parquet, the first three also with .gz, .zst or .bz2 after them",
            )
        if kind == "parquet":
            parquet = ParquetObjects(place, request.columns, request.form, request.raw)
            return cls(place, parquet, None, request.declarations)
        dialect = DIALECTS[kind](request.columns, request.form, raw=request.raw)
        return cls(place, TextObjects(place, dialect), dialect, request.declarations)

    def __init__(
        self,
        place: ObjectPattern,
        kind: ObjectKind,
        dialect: Dialect | None,
        declarations: Declarations,
    ) -> None:
        self._place = place
        self._kind = kind
        self._dialect = dialect
        self._declarations = declarations
        self._skip_gap = declarations.skip_gap

    @property
    def dialect(self) -> Dialect | None:
        return self._dialect

    def missing(self) -> PlanError | None:
        if self._place.objects():
            return None
        return PlanError(
            f"No object matches the source '{self._place}'.",
            why="a source is a bucket and a name or a pattern of objects in it",
            tip="put an object there, or before a launch change the source",
        )

    def names(self) -> tuple[str, ...]:
        if self._dialect is not None and not self._dialect.header:
            return self._dialect.names("")
        some = [each for each in self._place.objects().values() if each.size]
        found = _each(self._kind.names, some[:: -(-len(some) // LOOKED_AT) or 1])
        refused = [each for each in found if isinstance(each, AmelesError)]
        known = [list(each) for each in found if not isinstance(each, AmelesError)]
        if refused and not known:
            raise refused[0]
        everywhere = set(known[0]).intersection(*known[1:]) if known else set[str]()
        return tuple(name for name in known[0] if name in everywhere) if known else ()

    def refuses_launch(self) -> AmelesError | None:
        if self._dialect is not None and (refusal := undecided(self._dialect)):
            return refusal
        # objects of a pattern may come later, but a name without one is most likely misspelt
        if not glob.has_magic(self._place.pattern) and (missing := self.missing()):
            return missing
        objects = self._place.objects()
        header = self._dialect is None or self._dialect.header
        if header and objects and not any(each.size for each in objects.values()):
            return unnamed(next(iter(objects)), self._dialect)
        return None

    def at_launch(self) -> str:
        if refusal := self.refuses_launch():
            raise refusal
        return _position(
            {
                name: ObjectMark(*each.identity, unread=True)
                for name, each in self._place.objects().items()
            }
        )

    def ends(self) -> Mapping[str, StoredObject]:
        return self._place.objects()

    def reading(
        self, position: str | None, ends: Mapping[str, StoredObject] | None = None
    ) -> Reading:
        there = self.ends() if ends is None else ends
        marks = {} if position is None else _stored(position)
        gaps = self._lost(marks, there)
        fresh, problems = list[StoredObject](), list[AmelesError]()
        for each in there.values():
            try:
                if self._is_unread(each, marks.get(each.name)):
                    fresh.append(each)
                else:
                    marks[each.name] = ObjectMark(*each.identity)
            except StoreRefused as problem:
                problems.append(problem)
        pieces = list[Piece]()
        for each, found in zip(fresh, _each(self._kind.pieces, fresh), strict=True):
            if isinstance(found, AmelesError):
                problems.append(found)
            else:
                pieces += found
                marks[each.name] = ObjectMark(*each.identity)
        self._skip_gap = None  # it was declared about what is lost now
        return Reading(tuple(pieces), _position(marks), tuple(problems), gaps)

    def _is_unread(self, each: StoredObject, mark: ObjectMark | None) -> bool:
        """Whether all of an object is to be read now; refuses another upload under its name."""
        if mark is None or mark.is_of(each):
            return mark is None or mark.unread
        match self._declarations.about({each.name}):
            case "same":
                return mark.unread
            case "new":
                return True
        raise _uploaded_again(each.name, unread=mark.unread)

    def _lost(
        self, marks: dict[str, ObjectMark], there: Mapping[str, StoredObject]
    ) -> tuple[Skipped, ...]:
        """Objects of the launch that were removed unread, which the owner goes on without; refuses
        them unless that is declared."""
        lost = [name for name, mark in marks.items() if mark.unread and name not in there]
        if lost and self._skip_gap is None:
            raise gap(f"'{self._place}'", "objects")
        for name in lost:
            del marks[name]
        return tuple(Skipped(f"the object '{name}'", self._skip_gap or "") for name in lost)


def _uploaded_again(name: str, *, unread: bool) -> StoreRefused:
    """The error for an object that is not the one that was read or, if ``unread``, listed at the
    launch."""
    return StoreRefused(
        f"The object '{name}' was uploaded again since "
        + ("the launch." if unread else "it was read."),
        why="what it had then was not counted yet, and may be gone"
        if unread
        else "Ameles cannot tell which of its events were counted before",
        tip="new events in an object of a new name; if this one has what it had before, "
        f"ameles run --same-file '{name}'; if none of its events was counted before, "
        f"ameles run --new-file '{name}'",
    )


def _each(
    look: Callable[[StoredObject], Found], objects: Iterable[StoredObject]
) -> list[Found | AmelesError]:
    """What a look at each object gives, or its refusal; a store that is away is raised."""

    def looked(each: StoredObject) -> Found | AmelesError:
        try:
            return look(each)
        except (PlanError, SourceUnreadable) as problem:
            if isinstance(problem, SourceAway):
                raise
            return problem

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return list(pool.map(looked, objects))


def _position(marks: Mapping[str, ObjectMark]) -> str:
    objects = [
        [name, mark.tag, mark.modified, *([True] if mark.unread else [])]
        for name, mark in marks.items()
    ]
    return codec.write("position", 1, {"kind": "objects", "objects": objects})


def _stored(position: str) -> dict[str, ObjectMark]:
    """The objects of a stored position."""
    fields = codec.read("position", 1, position)
    if fields.get("kind") != "objects":
        raise StoreRefused(
            "The stored position is not one of objects.",
            why="the store is damaged, or the plan had another source when it was launched",
        )
    return {name: ObjectMark(*rest) for name, *rest in fields["objects"]}
