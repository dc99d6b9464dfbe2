"""Compressed files: whole or not at all, in bounded memory, whatever their bytes are."""

from __future__ import annotations

import bz2
import gzip
import os
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from ameles.connectors.files.compressed import (
    ENDINGS,
    Damaged,
    Incomplete,
    is_compressed,
    opened,
    without_ending,
)

if sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd

CHECKED: dict[int, int] = {zstd.CompressionParameter.checksum_flag: 1}  # as its program does
WIDE: dict[int, int] = {zstd.CompressionParameter.window_log: 28}
PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".zst": lambda content: zstd.compress(content, options=CHECKED),
    ".bz2": bz2.compress,
}
CONTENT = b"at,region\n" + b"".join(b"2026-01-%02d,north\n" % day for day in range(1, 29))


def content(path: Path) -> bytes:
    with opened(path) as file:
        return file.read()


def test_all_endings_are_tested() -> None:
    assert set(PACK) == set(ENDINGS)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_is_unpacked(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"events.csv{ending.upper()}"
    path.write_bytes(PACK[ending](CONTENT))
    assert content(path) == CONTENT
    with opened(path) as file:
        assert file.readline() == b"at,region\n"
        assert os.fstat(file.fileno()).st_ino == path.stat().st_ino
        assert file.read(3) == b"202"


@pytest.mark.parametrize("ending", ENDINGS)
def test_parts_written_one_after_the_other_are_one_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"events.csv{ending}"
    path.write_bytes(PACK[ending](CONTENT) + PACK[ending](b"") + PACK[ending](CONTENT))
    assert content(path) == CONTENT * 2


def test_other_files_are_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_bytes(gzip.compress(CONTENT))
    assert content(path) == path.read_bytes()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_that_was_cut_anywhere_is_incomplete(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"events.csv{ending}"
    packed = PACK[ending](CONTENT)
    for size in range(len(packed)):
        path.write_bytes(packed[:size])
        with pytest.raises(Incomplete):
            content(path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_empty_file_is_incomplete_and_a_file_of_nothing_is_empty(
    tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"events.csv{ending}"
    path.write_bytes(b"")
    with pytest.raises(Incomplete):
        content(path)
    path.write_bytes(PACK[ending](b""))
    assert content(path) == b""


@pytest.mark.parametrize("ending", ENDINGS)
def test_other_bytes_are_damaged(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"events.csv{ending}"
    path.write_bytes(CONTENT)
    with pytest.raises(Damaged) as caught:
        content(path)
    assert caught.value.__context__ is None  # which may quote them
    packed = PACK[ending](CONTENT)
    for place in range(len(packed)):
        turned = bytearray(packed)
        turned[place] ^= 0x40
        path.write_bytes(turned)
        with suppress(Damaged, Incomplete):
            assert content(path) == CONTENT  # of what no checksum covers, such as a date


def test_what_the_system_refuses_is_no_damage(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        opened(tmp_path / "none.csv.gz")
    with pytest.raises(IsADirectoryError):
        opened(tmp_path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_bomb_is_unpacked_in_pieces(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"events.csv{ending}"
    path.write_bytes(PACK[ending](bytes(64 << 20)))
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    try:
        size = 0
        with opened(path) as file:
            while piece := file.read(1 << 20):
                size += len(piece)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size == 64 << 20
    assert peak < 8 << 20


def test_a_frame_that_wants_too_much_memory_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "events.csv.zst"
    packed = zstd.ZstdCompressor(options=WIDE)  # of unknown size: so it needs its window
    path.write_bytes(packed.compress(CONTENT) + packed.flush())
    with pytest.raises(Damaged):
        content(path)


def test_endings() -> None:
    assert is_compressed("a.CSV.GZ")
    assert not is_compressed("a.gzip")
    assert without_ending("logs/*.jsonl.zst") == "logs/*.jsonl"
    assert without_ending("gz") == "gz"
