"""One file of a Parquet sink: its name, its steps, and the note in its metadata that says so.

>>> file = ReleaseFile(number=2, first=8, last=9, rows=4, tail="1f")
>>> file.name
'00000002.parquet'
>>> document = codec.read(KIND, VERSION, file.note("flu", "launch-1"))
>>> document.pop("stream"), document.pop("identity"), ReleaseFile.from_note(document) == file
('flu', 'launch-1', True)
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

from ameles.core import codec

KIND, VERSION = "sink", 2  # of the note in a file; version 1 was one file of all steps


@dataclass(frozen=True, slots=True)
class ReleaseFile:
    """A file of whole steps, by its place in the folder and its content."""

    number: int = 1
    first: int = 1  # step
    last: int = 0
    rows: int = 0
    tail: str = ""  # the digest of the rows of its last step

    @property
    def name(self) -> str:
        """Its name in the folder: files in the order of their names are in the order of steps."""
        return f"{self.number:08d}.parquet"

    def note(self, stream: str, identity: str) -> str:
        """The text in its metadata: whose it is, and what it has."""
        whose = {"stream": stream, "identity": identity}
        return codec.write(KIND, VERSION, whose | asdict(self))

    @classmethod
    def from_note(cls, document: dict[str, Any]) -> Self:
        """The file that a note describes; ``document`` has no stream and identity any more."""
        try:
            file = cls(**document)
        except TypeError:
            raise codec.damaged(KIND) from None
        numbers: list[Any] = [file.number, file.first, file.last, file.rows]
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise codec.damaged(KIND)
        return file
