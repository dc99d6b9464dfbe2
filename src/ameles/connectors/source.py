"""Sources: where events come from, and how far they were read.

There are two kinds.  A seekable source can be read again from a stored position: files, a topic
with offsets, a table with a cursor.  A passing source hands its events out once: standard input.

The class of a source says what the plan and the engine must know before it is opened;
``sources.py`` finds the class from the plan's text.  So a new source is one file and one line
there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

from ameles.connectors.declarations import NOTHING, Declarations
from ameles.connectors.files.named_files import NamedFile
from ameles.connectors.format import DEFAULT, Format
from ameles.connectors.reading import Reading
from ameles.connectors.text.dialect import Dialect
from ameles.core.exceptions import AmelesError, PlanError, SourceUnreadable

Ends = TypeVar("Ends")
Block = TypeVar("Block", bound=Sized)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRequest:
    """What a plan says about its source; a kind of source ignores what it does not need."""

    text: str
    columns: Mapping[str, str]  # the plan's columns with their kinds
    base: Path  # the folder of the plan
    records: str = "csv"  # the format of records, if the text of the source does not say it
    form: Format = DEFAULT
    take_last: bool = False  # a last line counts without its newline
    rotated: tuple[str, ...] = ()  # patterns of copies of files that were truncated or compressed
    declarations: Declarations = NOTHING  # what the owner declares about files
    schemas: tuple[tuple[int | None, str], ...] = ()  # files with schemas, by the ids of values
    connection: Path | None = None  # a file with what is needed to connect, such as a password
    raw: bool = False  # relations also have each value as it was given (``typed.given_name``)


class SourceAway(SourceUnreadable):
    """A server that cannot be reached now, and may be back: steps wait for it."""


class Source(ABC):
    """Where events come from."""

    seekable: ClassVar[bool]  # it can be read again from a stored position
    live: ClassVar[bool]  # the program sees each event arrive, so events need no time column
    keeps_events: ClassVar[bool]  # raw events stay in it, so no plan can promise pan-privacy
    takes_format: ClassVar[bool]  # the plan's key ``format`` says how records are written
    formats: ClassVar[tuple[str, ...]] = ("csv", "jsonl")  # those that this key may name
    needs_service: ClassVar[bool] = False  # only ``ameles serve`` can give it events

    @classmethod
    @abstractmethod
    def claims(cls, text: str) -> bool:
        """Whether the text of a plan names a source of this kind."""

    @classmethod
    @abstractmethod
    def open(cls, request: SourceRequest) -> Self:
        """The source that a plan names."""

    @classmethod
    def refusal(cls, text: str) -> PlanError | None:
        """Why a text can name no source, such as one with a password in it; opens nothing."""
        return None

    @classmethod
    def describe(cls, text: str) -> str:
        """What people call it."""
        return text

    @classmethod
    def files(cls, text: str, base: Path) -> tuple[NamedFile, ...]:
        """The files that it reads now; nothing else may be written there."""
        return ()

    @classmethod
    def may_read(cls, text: str, base: Path, path: Path) -> bool:
        """Whether it would read a file at this path, now or later."""
        return False

    @property
    def dialect(self) -> Dialect | None:
        """How its lines are parsed as events; None if it has no lines."""
        return None

    def missing(self) -> AmelesError | None:
        """Why there is nothing to read yet; None if there is, or if events may come at any time."""
        return None

    def names(self) -> tuple[str, ...]:
        """The columns that every part of it has; empty if they are not known yet."""
        return ()

    def incomplete(self) -> tuple[str, ...]:
        """The names of files that were not complete when they were looked at; this is secret."""
        return ()

    def refuses_launch(self) -> AmelesError | None:
        """Why a stream cannot be launched on it now, although a launched one could go on; it reads
        no event."""
        return None

    def at_launch(self) -> str | None:
        """The position of a stream that is launched now and has read nothing.

        None if the source has no positions.
        """
        return None


class SeekableSource(Source, Generic[Ends]):
    """A source that can be read again from a stored position.

    A position is a text that only the source understands.  So is ``Ends``, which describes where
    the source ends at some moment.
    """

    seekable = True
    live = False
    keeps_events = True
    takes_format = True

    @abstractmethod
    def at_launch(self) -> str: ...

    @abstractmethod
    def ends(self) -> Ends:
        """Where the source ends at this moment."""

    @abstractmethod
    def reading(self, position: str | None, ends: Ends | None = None) -> Reading:
        """What the source has after a stored position; everything if the position is None.

        With ``ends``, only what it had when they were taken, in whole records: a line that is still
        being written waits for its newline.
        """


class PassingSource(Source, Generic[Block]):
    """A source whose events can be read once only."""

    seekable = False
    live = True
    keeps_events = False
    takes_format = True

    @abstractmethod
    def incoming(self) -> Iterator[Block]:
        """Blocks of whole records as they come, until the source ends."""


class BlockSource(PassingSource[bytes]):
    """A source that passes as a row of bytes, whose sender waits for nothing."""

    @abstractmethod
    def reading(self, blocks: list[bytes]) -> Reading:
        """A reading of some blocks, in order, which are counted together."""

    def acknowledge(self, blocks: int) -> None:
        """Says that this many more blocks, in the order of arrival, are counted and stored."""


AnySource: TypeAlias = SeekableSource[Any] | PassingSource[Any]


def unnamed(name: str, dialect: Dialect | None) -> PlanError:
    """The refusal to launch a stream on files that do not name their columns yet."""
    line = "" if dialect is None else dialect.form.delimiter.join(dialect.columns)
    return PlanError(
        f"The file '{name}' does not name its columns yet.",
        why="a launch is paid for ever, so the plan's columns are compared with the file's before "
        "it",
        tip=f"a first line such as {line}, and a newline; events can come later"
        if line
        else "a file that is written to its end; it needs no rows",
    )
