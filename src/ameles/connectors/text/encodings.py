r"""Encodings of text files: finds where lines end in the bytes, and converts lines to UTF-8.

Bytes are cut into lines before they are decoded, so a broken character affects only its own line.
In UTF-16 a newline is one unit of two bytes, at an even offset in the file: the bytes of "\n\0" at
an odd offset, or of U+0A0A, are parts of other characters.

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
    """One encoding of text."""

    codec: str
    newline: bytes = b"\n"
    mark: bytes = b""  # a byte order mark that a file may begin with

    @property
    def width(self) -> int:
        """The bytes of a unit."""
        return len(self.newline)

    def after_first_newline(self, data: bytes) -> int:
        """The offset after the first newline; 0 if there is none.  The data begins with a unit."""
        place = data.find(self.newline)
        while place % self.width and place > 0:
            place = data.find(self.newline, place + 1)
        return place + self.width if place >= 0 else 0

    def after_last_newline(self, data: bytes) -> int:
        """The offset after the last newline; 0 if there is none.  The data begins with a unit."""
        place = data.rfind(self.newline)
        while place % self.width and place > 0:
            place = data.rfind(self.newline, 0, place + self.width - 1)
        return place + self.width if place >= 0 else 0

    def whole(self, size: int) -> int:
        """A number of bytes, rounded down to whole units."""
        return size - size % self.width

    def utf8(self, lines: bytes) -> bytes:
        """Whole lines in UTF-8; a broken character is replaced inside its own line."""
        if self.codec == "utf-8":
            return lines  # UTF-8 is decoded later, where it is split
        return lines.decode(self.codec, errors="replace").encode("utf-8")


UTF_8 = Script("utf-8", mark=_MARKS["utf-8"])


def script_of(encoding: str, head: bytes = b"") -> Script:
    """The script of a file whose first bytes are ``head``; for UTF-16 they say the byte order."""
    if encoding == "utf-16":
        # Without a mark it is little-endian, as Windows writes it.  A refusal because of the first
        # bytes would reveal that the file has some.
        encoding = "utf-16-be" if head[:2] == _MARKS["utf-16-be"] else "utf-16-le"
    if encoding in _MARKS:
        return Script(encoding, "\n".encode(encoding), _MARKS[encoding])
    return Script(_CODECS[encoding])
