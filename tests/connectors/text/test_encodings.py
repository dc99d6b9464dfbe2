"""Encodings: the same lines whatever their bytes are, and what is broken stays in its own line."""

from __future__ import annotations

import io
import itertools
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.connectors.format import Encoding, Format
from ameles.connectors.source import SeekableSource
from ameles.connectors.standard_input import StandardInput
from ameles.connectors.text import lines as reading_lines
from ameles.connectors.text.encodings import Script, script_of
from ameles.connectors.text.lines import LONGEST, blocks, chunks, text
from tests.connectors.opening import open_files
from tests.connectors.reading import rows, rows_of

COLUMNS = {"région": "text", "n": "integer"}
TEXT = 'région,n\nMünchen,1\n"a, ""b""",2\r\nÅlesund,3\n,4\n'
ROWS = [("München", 1), ('a, "b"', 2), ("Ålesund", 3), (None, 4)]
WRITTEN: dict[Encoding, list[bytes]] = {
    "utf-8": [TEXT.encode(), TEXT.encode("utf-8-sig")],
    "utf-16": [TEXT.encode("utf-16"), b"\xfe\xff" + TEXT.encode("utf-16-be")],
    "utf-16-le": [TEXT.encode("utf-16-le"), b"\xff\xfe" + TEXT.encode("utf-16-le")],
    "utf-16-be": [TEXT.encode("utf-16-be"), b"\xfe\xff" + TEXT.encode("utf-16-be")],
    "latin-1": [TEXT.encode("latin-1")],
    "windows-1252": [TEXT.encode("cp1252")],
}
CASES = [(encoding, data) for encoding, some in WRITTEN.items() for data in some]


def source_of(folder: Path, encoding: Encoding, data: bytes, **more: Any) -> SeekableSource[Any]:
    (folder / "a.csv").write_bytes(data)
    return open_files("a.csv", COLUMNS, folder, form=Format(encoding=encoding), **more)


def append(file: Path, data: bytes) -> None:
    with file.open("ab") as opened:
        opened.write(data)


def from_pipe(encoding: Encoding, data: bytes, size: int) -> list[bytes]:
    """The pieces of standard input that comes in drips."""
    read, write = os.pipe()

    def send() -> None:
        for start in range(0, len(data), size):
            os.write(write, data[start : start + size])
        os.close(write)

    sending = threading.Thread(target=send)
    sending.start()
    try:
        return [*StandardInput("csv", COLUMNS, read, Format(encoding=encoding)).incoming()]
    finally:
        sending.join()
        os.close(read)


@pytest.mark.parametrize(("encoding", "data"), CASES)
def test_the_same_rows_in_every_encoding(tmp_path: Path, encoding: Encoding, data: bytes) -> None:
    source = source_of(tmp_path, encoding, data)
    assert source.names() == ("région", "n")
    assert rows(source, COLUMNS) == sorted(ROWS, key=repr)
    for size in (1, 3, 1000):
        assert b"".join(from_pipe(encoding, data, size)).decode() == TEXT


def test_all_bytes_of_the_tables(tmp_path: Path) -> None:
    """As Python's codecs have them; the five bytes that Windows-1252 lacks are broken."""
    every = bytes(range(128, 256))
    for encoding, codec in (("latin-1", "latin-1"), ("windows-1252", "cp1252")):
        wanted = every.decode(codec, errors="replace")
        assert wanted.count("\ufffd") == (5 if codec == "cp1252" else 0)
        script = script_of(encoding)
        assert script.utf8(every).decode() == wanted


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_file_that_grows_by_halves_of_characters(tmp_path: Path, encoding: Encoding) -> None:
    data = WRITTEN[encoding][-1]
    position, read = None, []
    source = source_of(tmp_path, encoding, b"")
    for end in range(0, len(data) + 1, 3):
        append(tmp_path / "a.csv", data[max(0, end - 3) : end])
        reading = source.reading(position)
        read += rows_of(reading, COLUMNS)
        position = reading.position
    append(tmp_path / "a.csv", data[end:])
    read += rows(source, COLUMNS, position)
    assert sorted(read, key=repr) == sorted(ROWS, key=repr)


def test_a_last_line_that_is_taken_ends_its_event(tmp_path: Path) -> None:
    start = b"\xff\xfe" + "région,n\na,1\nb,2".encode("utf-16-le")
    for odd in (b"", b"\x41"):
        source = source_of(tmp_path, "utf-16", start + odd, take_last=True)
        reading = source.reading(None)
        first = rows_of(reading, COLUMNS)
        assert first == [("a", 1), ("b", 2 if not odd else None)]
        append(tmp_path / "a.csv", b"\0"[: len(odd)] + "9\nc,3\n".encode("utf-16-le"))
        assert rows(source, COLUMNS, reading.position) == [("c", 3)]
        (tmp_path / "a.csv").unlink()


def test_utf_16_without_a_mark_is_little_endian_and_not_refused(tmp_path: Path) -> None:
    """A refusal would tell that the file has something in it."""
    source = source_of(tmp_path, "utf-16", TEXT.encode("utf-16-le"))
    marked = source_of(tmp_path, "utf-16", b"\xff\xfe" + TEXT.encode("utf-16-le"))
    assert source.names() == marked.names()
    little = TEXT.encode("utf-16-le")
    piped = b"".join(from_pipe("utf-16", little, 1))
    assert piped == b"".join(from_pipe("utf-16-le", little, 1))
    assert from_pipe("utf-16", b"", 1) == []
    for start in (b"", b"\xff", b"\xff\xfe"):  # still to be written
        assert source_of(tmp_path, "utf-16", start).names() == ()


def decoded(data: bytes, script: Script) -> list[str]:
    """All lines, as a reading has them."""
    pieces = [
        text(chunk)
        for block in blocks(io.BytesIO(data).read, script=script)
        for chunk in chunks(block)
    ]
    return [line for line in "".join(pieces).split("\n") if line]


UNITS = ["\n", "a", "\u0a0a", "\u0a00", "\u000a\u0d00", "\0", "\ud83d", "\ude00"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("block", [1, 2, 3, 8 << 20])
def test_every_short_file_of_units_line_by_line(
    encoding: Encoding, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All files of up to four units: surrogates without their other half, newlines in disguise."""
    monkeypatch.setattr(reading_lines, "BLOCK", block)
    script = script_of(encoding)
    for size in range(5):
        for units in itertools.product(UNITS, repeat=size):
            written = "".join(units).encode(encoding, errors="surrogatepass")
            alone = [
                line.encode(encoding, errors="surrogatepass").decode(encoding, errors="replace")
                for line in "".join(units).split("\n")
            ]
            wanted = [line for line in alone if line and "\0" not in line]
            assert decoded(written, script) == wanted
            assert all(one.count("\n") == 0 for one in wanted)


@settings(max_examples=100, deadline=None)
@given(
    lines=st.lists(st.binary(max_size=12), max_size=8),
    encoding=st.sampled_from([*WRITTEN]),
    block=st.integers(1, 40),
)
def test_any_bytes_of_a_line_stay_in_it(lines: list[bytes], encoding: Encoding, block: int) -> None:
    """Lines of any units; those of UTF-16 have an even number of bytes."""
    script = script_of(encoding, b"\xff\xfe")
    kept = []
    for line in lines:
        units = [
            line[i : i + script.width] for i in range(0, script.whole(len(line)), script.width)
        ]
        kept.append(b"".join(unit for unit in units if unit != script.newline))
    data = b"".join(line + script.newline for line in kept)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading_lines, "BLOCK", block)
        together = decoded(data, script)
    assert together == [one for line in kept for one in decoded(line + script.newline, script)]
    assert len(together) <= len(lines)


@pytest.mark.parametrize("before", [0, 1, 5000, (8 << 20) - 3000])
def test_how_long_a_line_may_be_does_not_depend_on_its_place(before: int) -> None:
    script = script_of("utf-16-le")
    lead = ("x" * before + "\n") if before else ""
    for length, counts in ((LONGEST - 1, True), (LONGEST, True), (LONGEST + 1, False)):
        data = (lead + "y" * length + "\nz\n").encode("utf-16-le")
        letters = [line[0] for line in decoded(data, script)]
        assert letters.count("y") == counts
        assert letters.count("z") == 1


class Unaligned(Script):
    """Broken: a newline's bytes count at any place."""

    __slots__ = ()

    def after_last_newline(self, data: bytes) -> int:
        return data.rfind(self.newline) + self.width


def test_a_reader_that_takes_newlines_at_odd_places_is_caught() -> None:
    data = "a\u0a00\u0061\nb\n".encode("utf-16-be")  # 00 61 0a 00 00 61 00 0a ...
    broken = Unaligned("utf-16-be", "\n".encode("utf-16-be"))
    tail = "\u6100\u0a00c".encode("utf-16-be")
    assert decoded(data + tail, script_of("utf-16-be"))[1:] == ["b", "\u6100\u0a00c"]
    with pytest.raises(ValueError, match="not found"):  # a block that ends within a line
        decoded(data + tail, broken)
