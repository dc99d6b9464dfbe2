"""Standard input: however its bytes are cut, the lines are those of the whole."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ameles.connectors.duck import connect
from ameles.connectors.standard_input import StandardInput
from ameles.connectors.text import lines
from ameles.core.exceptions import PlanError
from tests.connectors.reading import MEMORY

COLUMNS = {"at": "timestamp", "region": "text"}
BYTES = st.sampled_from(
    [b"a", b"b,c", b"\n", b"\r\n", b"\r", b'"', b"\0", b"\xff", b"\xc3", b"\xa9", b",", b"x" * 12]
)
SHORTEST = 11  # what LONGEST is in these tests


@contextmanager
def cut(pieces: Sequence[bytes]) -> Iterator[None]:
    """Reading a descriptor gives these pieces, then its end."""
    given = iter([piece for piece in pieces if piece])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.read", lambda descriptor, size: next(given, b""))
        patch.setattr(lines, "LONGEST", SHORTEST)
        patch.setattr(lines, "CHUNK", 7)
        yield


def lines_of(pieces: Sequence[bytes]) -> list[bytes]:
    """The lines that count, from input that comes in these pieces."""
    with cut(pieces):
        blocks = list(StandardInput("jsonl", COLUMNS).incoming())
        assert all(block.endswith(b"\n") for block in blocks), "whole lines only"
        kept = b"".join(chunk for block in blocks for chunk in lines.chunks(block))
    return [line for line in kept.split(b"\n") if line]


def cuts(whole: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(whole), *(place % (len(whole) + 1) for place in places)})
    return [whole[a:b] for a, b in pairwise(edges)]


@given(
    whole=st.lists(BYTES, max_size=40).map(b"".join),
    places=st.lists(st.integers(0, 1 << 16), max_size=12),
)
@example(whole=b"a\r\nb", places=[2])
@example(whole=b"x" * SHORTEST + b"\n" + b"y" * (SHORTEST + 1) + b"\nz", places=[3, 9, 15, 20, 24])
def test_lines_do_not_depend_on_where_they_are_cut(whole: bytes, places: list[int]) -> None:
    lines = lines_of(cuts(whole, places))
    assert lines == lines_of([whole])
    expected = [
        line.removesuffix(b"\r")
        for line in whole.split(b"\n")
        if len(line) <= SHORTEST and b"\0" not in line
    ]
    assert lines == [line for line in expected if line]


@given(whole=st.lists(BYTES, max_size=40).map(b"".join))
def test_byte_by_byte(whole: bytes) -> None:
    assert lines_of([bytes([one]) for one in whole]) == lines_of([whole])


def test_a_line_that_is_too_long_takes_no_memory_and_no_neighbour() -> None:
    before, after = b"before\n", b"\nafter\n"
    long = [b"x" * 10] * 1000
    with cut([before, *long, after]):
        blocks = list(StandardInput("jsonl", COLUMNS).incoming())
    assert blocks == [before, b"after\n"]


def test_a_last_line_without_its_newline_counts() -> None:
    assert lines_of([b"a\nb"]) == [b"a", b"b"]
    assert lines_of([b"a\n", b"b", b"c"]) == [b"a", b"bc"]
    assert lines_of([b"a\n" + b"x" * SHORTEST]) == [b"a", b"x" * SHORTEST]
    assert lines_of([b"a\n" + b"x" * (SHORTEST + 1)]) == [b"a"]
    assert lines_of([]) == []


def rows(form: str, pieces: Sequence[bytes]) -> list[tuple[Any, ...]]:
    """What DuckDB sees, with one reading for each block."""
    events: list[tuple[Any, ...]] = []
    with (
        closing(connect(zone="UTC", memory=MEMORY, readable=())) as duck,
        pytest.MonkeyPatch.context() as patch,
    ):
        given = iter([piece for piece in pieces if piece])
        patch.setattr("os.read", lambda descriptor, size: next(given, b""))
        source = StandardInput(form, COLUMNS)
        for block in source.incoming():
            for relation in source.reading([block]).scans(duck):
                events += duck.execute(f'SELECT epoch("at"), region FROM {relation}').fetchall()
    return events


WHOLE = b"region,at\nnorth,1970-01-01T00:00:07Z\nsouth,1970-01-01T00:00:08Z\n"
ROWS = [(7.0, "north"), (8.0, "south")]


@pytest.mark.parametrize("place", range(1, 13))
def test_a_torn_header_is_one_header(place: int) -> None:
    assert rows("csv", [WHOLE[:place], WHOLE[place:]]) == ROWS


def test_a_byte_order_mark_is_no_part_of_the_first_name() -> None:
    assert rows("csv", [b"\xef\xbb\xbf" + WHOLE]) == ROWS
    marked = b'\xef\xbb\xbf{"at": "1970-01-01T00:00:07Z", "region": "north"}\n'
    assert rows("jsonl", [marked]) == ROWS[:1]


@pytest.mark.parametrize("place", [1, 2, 3])
def test_a_torn_byte_order_mark(place: int) -> None:
    marked = b"\xef\xbb\xbf" + WHOLE
    assert rows("csv", [marked[:place], marked[place:]]) == ROWS


def test_only_the_first_line_of_all_is_a_header() -> None:
    first, second, third = WHOLE.splitlines(keepends=True)
    assert rows("csv", [first, second, third]) == ROWS
    assert rows("csv", [first, first, second, third]) == [(None, "region"), *ROWS]


def test_a_header_without_the_columns_is_refused_in_the_words_of_the_plan() -> None:
    with pytest.raises(PlanError, match="'standard input' has no column 'at'") as refused:
        rows("csv", [b"2026-01-01T00:00:00Z,canary\n" * 2])
    assert "canary" not in str(refused.value)


def test_nothing_but_an_end() -> None:
    assert rows("csv", []) == []
    assert rows("csv", [b"at,region"]) == []


def test_a_real_pipe_gives_lines_as_they_come() -> None:
    read, write = os.pipe()
    try:
        pieces = StandardInput("jsonl", COLUMNS, read).incoming()
        os.write(write, b"one\ntw")
        assert next(pieces) == b"one\n"
        os.write(write, b"o\nthree")
        assert next(pieces) == b"two\n"
        closer = threading.Thread(target=os.close, args=(write,))
        closer.start()
        assert list(pieces) == [b"three\n"]
        closer.join()
    finally:
        os.close(read)


def test_only_the_first_bytes_of_the_input_can_be_a_mark() -> None:
    mark = b"\xef\xbb\xbf"
    with cut([mark + b"a\n", mark + b"b\n"]):
        blocks = list(StandardInput("jsonl", COLUMNS).incoming())
    assert b"".join(blocks) == b"a\n" + mark + b"b\n"
