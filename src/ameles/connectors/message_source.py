"""Messages as a source: the base of brokers and tables, whose records are no lines of a file.

Each message is one line of a dialect (``message_lines.py``).  A position says up to where messages
were read, and where the source keeps fewer messages than follow from it, some were removed before
they were read.  That is a gap.  It is refused, because which messages are removed may depend on how
many others came; the owner may declare that the stream goes on without them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self
from urllib.parse import SplitResult, urlsplit

import duckdb

from ameles.connectors.message_lines import line_blocks
from ameles.connectors.reading import Piece, Skipped
from ameles.connectors.source import Ends, SeekableSource, SourceRequest
from ameles.connectors.text.dialect import Dialect
from ameles.connectors.text.dialects import DIALECTS
from ameles.connectors.text.encodings import script_of
from ameles.connectors.text.line_blocks import handed_over
from ameles.connectors.typed_columns import check_kinds
from ameles.core import codec
from ameles.core.exceptions import PlanError, SourceUnreadable, StoreRefused

JSON = "jsonl"


class MessageSource(SeekableSource[Ends]):
    """Messages that a server keeps, and how far they were read."""

    schemes: ClassVar[tuple[str, ...]]  # of its addresses
    kind: ClassVar[str]  # the name of its positions
    example: ClassVar[str]  # an address
    noun: ClassVar[str] = "messages"  # what people call its records

    @classmethod
    def claims(cls, text: str) -> bool:
        return text.partition("://")[0] in cls.schemes and "://" in text

    @classmethod
    def describe(cls, text: str) -> str:
        """The address without whatever may be secret in it."""
        address = urlsplit(text)
        host = address.netloc.rpartition("@")[2]
        return address._replace(netloc=host).geturl()

    @classmethod
    def refusal(cls, text: str) -> PlanError | None:
        try:
            cls.check_address(text)
        except PlanError as problem:
            return problem
        return None

    @classmethod
    @abstractmethod
    def check_address(cls, text: str) -> None:
        """Refuses an address that names nothing, or that has something secret in it."""

    @classmethod
    def open(cls, request: SourceRequest) -> Self:
        check_kinds(request.columns)
        records = request.records if cls.takes_format else JSON
        dialect = DIALECTS[records](request.columns, request.form, raw=request.raw)
        if dialect.header:
            raise PlanError(
                "CSV messages need header in the plan.",
                why="a message has one line, which is an event; none names the columns",
                tip="header with the names of all fields of a message, in their order",
            )
        return cls._opened(request, urlsplit(request.text), dialect)

    @classmethod
    @abstractmethod
    def _opened(cls, request: SourceRequest, address: SplitResult, dialect: Dialect) -> Self:
        """Opens the source; its columns were checked."""

    def __init__(self, request: SourceRequest, dialect: Dialect) -> None:
        self._skip_gap = request.declarations.skip_gap
        self._dialect = dialect
        self._records = request.records if self.takes_format else JSON

    @property
    def dialect(self) -> Dialect:
        return self._dialect

    def names(self) -> tuple[str, ...]:
        return self._dialect.names("")

    def _position(self, **fields: Any) -> str:
        return codec.write("position", 1, {"kind": self.kind, **fields})

    def _stored(self, position: str) -> dict[str, Any]:
        """The fields of a stored position."""
        fields = codec.read("position", 1, position)
        if fields.pop("kind", None) != self.kind:
            raise StoreRefused(
                f"The stored position is not one of {self.kind}.",
                why="the store is damaged, or the plan had another source when it was launched",
            )
        return fields

    def _skipped(self, place: str) -> tuple[Skipped, ...]:
        """Refuses a gap, unless the owner has declared that the stream goes on."""
        if self._skip_gap is None:
            raise gap(place, self.noun)
        return (Skipped(place, self._skip_gap),)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class MessagePiece(Piece):
    """Messages of a range that is fixed: whoever reads it gets the same."""

    dialect: Dialect
    records: str

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    @abstractmethod
    def messages(self) -> Iterator[bytes | None]:
        """The messages, in order."""

    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        script = script_of(self.dialect.form.encoding)
        blocks = line_blocks(self.messages(), self.records, script)
        return handed_over(duck, self.dialect, self.dialect.names(""), blocks)


def gap(place: str, noun: str) -> SourceUnreadable:
    """The refusal of records that are gone."""
    return SourceUnreadable(
        f"{noun.capitalize()} of {place} were removed before they were read.",
        why="their events are lost, and how many others came may have decided which",
        tip=f"a source that keeps its {noun} for longer; to go on without them, and have that "
        "recorded: ameles run --skip-gap 'what happened'",
    )
