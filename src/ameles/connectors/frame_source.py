"""A data frame as a source: a program hands it over once, with ``ameles.spark.release``.

A stream takes one data frame.  Its position only says whether the frame was read, so handing it
over again counts nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import duckdb

from ameles.connectors.reading import Piece, Reading
from ameles.connectors.source import SeekableSource, SourceRequest
from ameles.core import codec
from ameles.core.exceptions import PlanError, StoreRefused

TEXT = "dataframe"


@dataclass(frozen=True, slots=True)
class FramePiece(Piece):
    """All rows of a data frame; only the tasks of its own session can open them."""

    @property
    def size(self) -> int:
        return 1  # not known before it is computed

    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        raise _only_by_program()


class FrameSource(SeekableSource[None]):
    """The data frame of a program; ``columns`` are its columns."""

    takes_format = False

    def __init__(self, columns: tuple[str, ...]) -> None:
        self._columns = columns

    @classmethod
    def claims(cls, text: str) -> bool:
        return text == TEXT

    @classmethod
    def describe(cls, text: str) -> str:
        return "a data frame"

    @classmethod
    def open(cls, request: SourceRequest) -> Self:
        raise _only_by_program()

    def names(self) -> tuple[str, ...]:
        return self._columns

    def at_launch(self) -> str:
        return _position(read=False)

    def ends(self) -> None:
        """It does not grow."""

    def reading(self, position: str | None, ends: None = None) -> Reading:
        fields = {} if position is None else codec.read("position", 1, position)
        if fields.get("kind") != TEXT:
            raise StoreRefused(
                "The stored position is not one of a data frame.",
                why="the store is damaged, or the plan had another source when it was launched",
            )
        return Reading(() if fields["read"] else (FramePiece(),), _position(read=True))


def _position(*, read: bool) -> str:
    return codec.write("position", 1, {"kind": TEXT, "read": read})


def _only_by_program() -> PlanError:
    return PlanError(
        "The source is a data frame, which only a program can hand over.",
        why=f'the plan has source = "{TEXT}"',
        tip="ameles.spark.release(dataframe, plan) in that program",
    )
