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
from ameles.connectors.files.refusals import UNPACK_TO_OUTPUT, carriage_returns
from ameles.connectors.files.refusals import packed as packed_file
from ameles.connectors.format import Format
from ameles.core.exceptions import SourceUnreadable
from ameles.engine.owner_check.advice import encodings, header
from ameles.engine.owner_check.facts import FileFacts
from ameles.engine.owner_check.trial import Advice, Change

_TITLES = 20  # lines that may come before the one that names the columns
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
        self.advices: list[Advice] = []
        self.names: dict[str, list[str]] = {}  # by file: its first line, if it has the columns
        self.titles: dict[
            str, list[str]
        ] = {}  # the same, if the plan has header: such a line is none
        self.opened: list[NamedFile] = []
        self._columns = columns
        self._kind = kind
        self._source = source
        self._encoding = form.encoding
        self._delimiter = form.delimiter
        self._named = not form.header  # the first line names the columns
        for file in files:
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
            self._say(file, "cannot be read", f"chmod u+r {file.name}, or a pattern without it")
            return
        packed = next((end for magic, end in _MAGIC.items() if start.startswith(magic)), None)
        text = self._kind != "parquet"
        closed = not last or last.endswith(self._newline(start))
        self.facts.append(FileFacts(file.name, size, text and packed is None and not closed))
        self.opened.append(file)
        if not size:
            self._say(file, "is empty", "wait for what writes it")
        elif packed is not None and self._source is None:
            self._say(
                file,
                "is compressed: none of its events is read",
                "--sample FILE, with lines as they come from standard input",
            )
        elif packed is not None and _ending(file.name) != packed:
            mend = f"mv {file.name} {file.name}{packed}, and the same ending in source"
            self._say(file, "is compressed", mend)
        elif packed is not None and text and not is_compressed(self._source or ""):
            copies = not self._encoding.startswith("utf-16")
            refusal = packed_file(file.name, self._source or "", copies=copies)
            self._add(Advice(refusal.what, otherwise=refusal.tip, file=file.name))
        elif text:
            start = start if packed is None else _unpacked(file.path)
            encoded = self._encoded(start)
            if encoded is not None:
                self._say(file, encoded[0], encoded[2], *self._encodings(*encoded[1]))
            elif self._returns(start):
                self.facts[-1].open_line = False
                self._add(self._converted(file.name))
            elif start:
                for advice in self._headed(file.name, start):
                    self._add(advice)

    def _say(self, file: NamedFile, what: str, otherwise: str, *changes: Change) -> None:
        self._add(Advice(f"The file '{file.name}' {what}.", changes, otherwise, file=file.name))

    def _add(self, advice: Advice) -> None:
        self.advices.append(advice)

    def _newline(self, start: bytes) -> bytes:
        if not self._encoding.startswith("utf-16"):
            return b"\n"
        big = self._encoding == "utf-16-be" or start.startswith(b"\xfe\xff")
        return b"\0\n" if big else b"\n\0"

    def _encoded(self, start: bytes) -> tuple[str, tuple[str, ...], str] | None:
        """What the file seems to be instead of the declared encoding, the encodings to try, and
        what else to do."""
        declared, other = self._encoding, "write the file in UTF-8, and leave encoding out"
        if start.startswith((b"\xff\xfe", b"\xfe\xff")):
            order = "utf-16-le" if start.startswith(b"\xff") else "utf-16-be"
            if declared in ("utf-16", order):
                return None
            return "begins like UTF-16", ("utf-16", order), other
        if start.count(b"\0") > len(start) / 4:
            order = "utf-16-le" if start[1:2] == b"\0" else "utf-16-be"
            if declared == order or (declared == "utf-16" and order == "utf-16-le"):
                return None
            return "looks like UTF-16 without a byte order mark", (order,), other
        if declared == "utf-8" or not start:
            return None
        plain, text = start.isascii(), _is_utf8(start)
        if declared.startswith("utf-16") and b"\0" not in start:
            return "is not in UTF-16", ("utf-8", "windows-1252"), other
        if not declared.startswith("utf-16") and text and not plain:
            return "is in UTF-8", ("utf-8",), "name the encoding of each file by a plan of its own"
        return None

    def _returns(self, start: bytes) -> bool:
        """Whether lines end with CR alone; the last of them may lack its LF for the moment."""
        text = start.decode(self._encoding, errors="replace")
        return "\r" in text and "\n" not in text

    def _converted(self, name: str) -> Advice:
        refusal = carriage_returns(name, self._encoding)
        mend = refusal.tip if self._source is not None else "PROGRAM | tr '\\r' '\\n' | ameles run"
        return Advice(refusal.what, otherwise=mend, file=name)

    def _headed(self, name: str, start: bytes) -> Iterator[Advice]:
        """What is wrong with a first line that should name the columns."""
        encoding = "utf-8-sig" if self._encoding == "utf-8" else self._encoding
        if self._kind != "csv":
            return
        lines = [one.rstrip("\r") for one in start.decode(encoding, errors="replace").split("\n")]
        names = _split(lines[0], self._delimiter)
        missing = [column for column in self._columns if column not in names]
        if not missing:
            (self.names if self._named else self.titles)[name] = names
        if not missing or not self._named:
            return
        for delimiter, written in _DELIMITERS.items():
            if delimiter != self._delimiter and self._names_all(lines[0], delimiter):
                yield Advice(
                    f"The fields of '{name}' are separated by {written}.",
                    (Change(f"delimiter = {written}", {"delimiter": delimiter}),),
                    "write the file as the others: all files of a source have one delimiter",
                    file=name,
                )
                return
        if self._encoding == "utf-8":
            western = start.decode("cp1252", errors="replace").partition("\n")[0].rstrip("\r")
            if any(self._names_all(western, one) for one in (self._delimiter, *_DELIMITERS)):
                yield Advice(
                    f"The first line of '{name}' is not in UTF-8.",
                    self._encodings("windows-1252", "latin-1"),
                    "write the file in UTF-8",
                    file=name,
                )
                return
        yield from self._named_elsewhere(name, lines, names, missing)

    def _named_elsewhere(
        self, name: str, lines: list[str], names: list[str], missing: list[str]
    ) -> Iterator[Advice]:
        """Where the columns are named instead, or how to name them."""
        for number, line in enumerate(lines[1:_TITLES], start=2):
            if any(self._names_all(line, one) for one in (self._delimiter, *_DELIMITERS)):
                yield Advice(
                    f"The columns of '{name}' are named in line {number}, and not in its first "
                    "line. A plan cannot skip lines yet.",
                    otherwise=f"{self._tail(name, number)} > NEW, and then read NEW",
                    file=name,
                )
                return
        folded = {one.strip().casefold(): one for one in names}
        near = {column: folded.get(column.strip().casefold()) for column in missing}
        for column, similar in near.items():
            if similar is not None:
                yield Advice(
                    f"The first line of '{name}' has the column '{similar}', and the plan "
                    f"'{column}'.",
                    otherwise=f'columns = {{ "{similar}" = ..., and so on }}, in its letters, and '
                    "so wherever the plan names it",
                    file=name,
                )
        if len(missing) == len(self._columns) and not any(near.values()):
            widths = {len(_split(line, self._delimiter)) for line in lines[1:_TITLES] if line}
            named = len(names) >= len(self._columns) and widths <= {len(names)}
            order = ", if its fields come in this order"
            yield Advice(
                f"The first line of '{name}' names none of the plan's columns."
                + (" It may be an event." if named else ""),
                (header(list(self._columns), order),) if len(names) == len(self._columns) else (),
                f"header = [...], with the names of its {len(names)} fields in their order"
                if named
                else "a first line that names the columns: none of the first lines does",
                file=name,
            )

    def _encodings(self, *names: str) -> tuple[Change, ...]:
        """Other encodings, also together with another delimiter: alone none might read anything."""
        alone = encodings(*names)
        if self._kind != "csv":
            return alone
        return alone + tuple(
            Change(f"{one.words} and delimiter = {written}", {**one.keys, "delimiter": delimiter})
            for one in alone
            for delimiter, written in _DELIMITERS.items()
        )

    def _names_all(self, line: str, delimiter: str) -> bool:
        return set(self._columns) <= set(_split(line, delimiter))

    def _tail(self, name: str, number: int) -> str:
        """The command that prints a file from this line on."""
        steps = [f"{unpack} '{name}'"] if (unpack := UNPACK_TO_OUTPUT.get(_ending(name))) else []
        if self._encoding.startswith("utf-16"):
            file = "" if steps else f" '{name}'"
            steps.append(f"iconv -f {self._encoding.upper()} -t UTF-8{file}")
        steps.append(f"tail -n +{number}" + ("" if steps else f" '{name}'"))
        return " | ".join(steps)


def _ending(name: str) -> str:
    return Path(name).suffix.lower()


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
