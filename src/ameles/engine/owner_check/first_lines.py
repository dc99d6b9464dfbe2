"""Looks at the first lines of files: empty, compressed, another encoding, other delimiters.

A run does not look for any of this: it reads what the plan declares.  The owner uses the findings
to correct the plan.
"""

from __future__ import annotations

import codecs
import csv
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ameles.connectors.files.compressed import Damaged, Incomplete, is_compressed
from ameles.connectors.files.compressed import opened as opened_unpacked
from ameles.connectors.files.named_files import NamedFile
from ameles.connectors.files.refusals import carriage_returns
from ameles.connectors.files.refusals import packed as packed_file
from ameles.connectors.format import Format
from ameles.core.exceptions import SourceUnreadable
from ameles.engine.owner_check.facts import CheckFinding, FileFacts

MOST = 100  # files that are opened
_START = 64 << 10
_MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst", b"BZh": ".bz2"}
_DELIMITERS = {";": '";"', "\t": '"\\t"', "|": '"|"', ",": '","'}


class FirstLines:
    """The beginnings of some files; ``columns`` are the plan's, ``kind`` is the kind of the files.

    ``source`` is the path or pattern in the plan; None if the file is a sample.
    """

    def __init__(
        self,
        files: Sequence[NamedFile],
        columns: Sequence[str],
        kind: str,
        form: Format,
        *,
        source: str | None,
    ) -> None:
        self.facts: list[FileFacts] = []
        self.findings: list[CheckFinding] = []
        self._columns = columns
        self._kind = kind
        self._source = source
        self._encoding = form.encoding
        self._delimiter = form.delimiter
        self._named = not form.header  # the first line names the columns
        for file in files[:MOST]:
            self._look(file)
        if files and not self.facts:
            raise SourceUnreadable(
                f"The file '{files[0].name}' cannot be read.",
                why="it does not exist, or its permissions do not allow it",
                tip="a file that the user who runs Ameles may read",
            )

    @property
    def empty(self) -> set[str]:
        """The names of the files without a byte."""
        return {file.name for file in self.facts if not file.size}

    def _look(self, file: NamedFile) -> None:
        try:
            start, last, size = _ends(file.path)
        except OSError:
            self.findings.append(
                CheckFinding(
                    f"The file '{file.name}' cannot be read.",
                    f"chmod u+r {file.name}, or a pattern without it",
                )
            )
            return
        packed = next((end for magic, end in _MAGIC.items() if start.startswith(magic)), None)
        text = self._kind != "parquet"
        closed = not last or last.endswith(self._newline(start))
        self.facts.append(FileFacts(file.name, size, text and packed is None and not closed))
        if not size:
            self.findings.append(
                CheckFinding(f"The file '{file.name}' is empty.", "wait for what writes it")
            )
        elif packed is not None and self._source is None:
            self.findings.append(
                CheckFinding(
                    f"The file '{file.name}' is compressed: none of its events is read.",
                    "--sample FILE, with lines as they come from standard input",
                )
            )
        elif packed is not None and Path(file.name).suffix.lower() != packed:
            self.findings.append(
                CheckFinding(
                    f"The file '{file.name}' is compressed.",
                    f"mv {file.name} {file.name}{packed}, and the same ending in source",
                )
            )
        elif packed is not None and text and not is_compressed(self._source or ""):
            copies = not self._encoding.startswith("utf-16")
            refusal = packed_file(file.name, self._source or "", copies=copies)
            self.findings.append(CheckFinding(refusal.what, refusal.tip))
        elif text:
            start = start if packed is None else _unpacked(file.path)
            encoded = self._encoded(start)
            if encoded is not None:
                self.findings.append(
                    CheckFinding(f"The file '{file.name}' {encoded[0]}.", encoded[1])
                )
            elif self._returns(start):
                self.facts[-1].open_line = False
                self.findings.append(self._converted(file.name))
            elif start:
                self.findings += self._headed(file.name, start)

    def _newline(self, start: bytes) -> bytes:
        if not self._encoding.startswith("utf-16"):
            return b"\n"
        big = self._encoding == "utf-16-be" or start.startswith(b"\xfe\xff")
        return b"\0\n" if big else b"\n\0"

    def _encoded(self, start: bytes) -> tuple[str, str] | None:
        """The encoding that the file seems to have instead of the declared one, and its line."""
        declared = self._encoding
        if start.startswith((b"\xff\xfe", b"\xfe\xff")):
            order = "utf-16-le" if start.startswith(b"\xff") else "utf-16-be"
            if declared in ("utf-16", order):
                return None
            return "begins like UTF-16", 'encoding = "utf-16"'
        if start.count(b"\0") > len(start) / 4:
            order = "utf-16-le" if start[1:2] == b"\0" else "utf-16-be"
            if declared == order:
                return None
            return "looks like UTF-16 without a byte order mark", f'encoding = "{order}"'
        if declared == "utf-8" or not start:
            return None
        plain, text = start.isascii(), _is_utf8(start)
        if declared.startswith("utf-16") and b"\0" not in start:
            mend = "leave encoding out" if text else 'encoding = "windows-1252"'
            return "is not in UTF-16", mend
        if not declared.startswith("utf-16") and text and not plain:
            return "is in UTF-8", "leave encoding out"
        return None

    def _returns(self, start: bytes) -> bool:
        """Whether lines end with CR alone; the last of them may lack its LF for the moment."""
        text = start.decode(self._encoding, errors="replace")
        return "\r" in text and "\n" not in text

    def _converted(self, name: str) -> CheckFinding:
        refusal = carriage_returns(name, self._encoding)
        if self._source is not None:
            return CheckFinding(refusal.what, refusal.tip)
        return CheckFinding(refusal.what, "PROGRAM | tr '\\r' '\\n' | ameles run")

    def _headed(self, name: str, start: bytes) -> Iterator[CheckFinding]:
        """What is wrong with a first line that should name the columns."""
        encoding = "utf-8-sig" if self._encoding == "utf-8" else self._encoding
        if self._kind != "csv" or not self._named:
            return
        line = start.decode(encoding, errors="replace").partition("\n")[0].rstrip("\r")
        names = _split(line, self._delimiter)
        missing = [column for column in self._columns if column not in names]
        if not missing:
            return
        for delimiter, written in _DELIMITERS.items():
            other = _split(line, delimiter)
            if delimiter != self._delimiter and set(self._columns) <= set(other):
                yield CheckFinding(
                    f"The fields of '{name}' are separated by {written}.", f"delimiter = {written}"
                )
                return
        if self._encoding == "utf-8":
            western = start.decode("cp1252", errors="replace").partition("\n")[0].rstrip("\r")
            if set(self._columns) <= set(_split(western, self._delimiter)):
                yield CheckFinding(
                    f"The first line of '{name}' is not in UTF-8.", 'encoding = "windows-1252"'
                )
                return
        folded = {one.strip().casefold(): one for one in names}
        near = {column: folded.get(column.strip().casefold()) for column in missing}
        for column, similar in near.items():
            if similar is not None:
                yield CheckFinding(
                    f"The first line of '{name}' has the column '{similar}', and the plan "
                    f"'{column}'.",
                    f'columns = {{ "{similar}" = ..., and so on }}, in its letters',
                )
        if len(missing) == len(self._columns) and not any(near.values()):
            yield CheckFinding(
                f"The first line of '{name}' names none of the plan's columns. It may be an event.",
                f"header = [...], with the names of its {len(names)} fields in their order",
            )


def _is_utf8(start: bytes) -> bool:
    """Whether the beginning of a file is in UTF-8; its last character may be cut off."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return True


def _split(line: str, delimiter: str) -> list[str]:
    try:
        return [name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []


def _ends(path: Path) -> tuple[bytes, bytes, int]:
    """The first bytes of a file, its last two, and its size in bytes."""
    with path.open("rb") as opened:
        start = opened.read(_START)
        size = os.fstat(opened.fileno()).st_size
        opened.seek(max(0, size - 2))
        return start, opened.read(2), size


def _unpacked(path: Path) -> bytes:
    """The first decompressed bytes of a file; empty if it cannot be decompressed that far."""
    try:
        with opened_unpacked(path) as unpacked:
            return unpacked.read(_START)
    except (Incomplete, Damaged, OSError):
        return b""
