r"""Encodings of text files: where a line ends in their bytes, and the line in UTF-8.

Bytes are cut into lines before they are decoded, so what is broken in one line stays in it.  In
UTF-16 a newline is one unit of two bytes, at an even place in the file: the bytes of "\n\0" at an
odd place, or of U+0A0A, are parts of other characters.

>>> script = script_of("utf-16-le")
>>> data = "a\u0a0a\nb".encode("utf-16-le")
>>> data.count(b"\n"), script.after_last_newline(data), script.utf8(data[:6])
(3, 6, b'a\xe0\xa8\x8a\n')
"""

from __future__ import annotations

from dataclasses import dataclass

_MARKS = {"utf-8": b"\xef\xbb\xbf", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}
_CODECS = {"latin-1": "latin-1", "windows-1252": "cp1252"}


@dataclass(frozen=True, slots=True)
class Script:
    """One way in which bytes are text."""

    codec: str
    newline: bytes = b"\n"
    mark: bytes = b""  # which may stand at the start of a file

    @property
    def width(self) -> int:
        """The bytes of a unit."""
        return len(self.newline)

    def after_first_newline(self, data: bytes) -> int:
        """The place after the first newline in data that begins with a unit; 0: it has none."""
        place = data.find(self.newline)
        while place % self.width and place > 0:
            place = data.find(self.newline, place + 1)
        return place + self.width if place >= 0 else 0

    def after_last_newline(self, data: bytes) -> int:
        """The place after the last newline in data that begins with a unit; 0: it has none."""
        place = data.rfind(self.newline)
        while place % self.width and place > 0:
            place = data.rfind(self.newline, 0, place + self.width - 1)
        return place + self.width if place >= 0 else 0

    def whole(self, size: int) -> int:
        """A number of bytes without those of half a unit at its end."""
        return size - size % self.width

    def utf8(self, lines: bytes) -> bytes:
        """Whole lines in UTF-8; what is broken is replaced inside its own line."""
        if self.codec == "utf-8":
            return lines  # it is decoded where it is split
        return lines.decode(self.codec, errors="replace").encode("utf-8")


UTF_8 = Script("utf-8", mark=_MARKS["utf-8"])


def script_of(encoding: str, head: bytes = b"") -> Script:
    """The script of a file whose first bytes are ``head``: these say which of two UTF-16 it is."""
    if encoding == "utf-8":
        return UTF_8
    if encoding == "utf-16":
        # Without a mark it is little-endian, as Windows writes it: to refuse a file for its first
        # bytes would tell that it has some.
        encoding = "utf-16-be" if head[:2] == _MARKS["utf-16-be"] else "utf-16-le"
    if encoding in _MARKS:
        return Script(encoding, "\n".encode(encoding), _MARKS[encoding])
    return Script(_CODECS[encoding])
