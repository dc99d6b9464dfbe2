"""A line is the same line wherever it stands, and no line reaches another."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.connectors.text import lines
from ameles.connectors.text.encodings import script_of
from ameles.connectors.text.lines import LONGEST, blocks, chunks, text


def read(content: bytes, *, within: bool = False) -> list[str]:
    joined = "".join(
        text(chunk)
        for block in blocks(io.BytesIO(content).read, within=within)
        for chunk in chunks(block)
    )
    return [line for line in joined.split("\n") if line]


def expected(content: bytes) -> list[str]:
    """Line by line, from the definition."""
    kept = []
    for line in content.split(b"\n"):
        if len(line) <= lines.LONGEST and b"\0" not in line:
            kept.append(line.removesuffix(b"\r").decode("utf-8", errors="replace"))
    return [line for line in kept if line]


PIECES = st.sampled_from(
    [b"a", b"\n", b"\r\n", b"\r", b'"', b"\0", b"\xff", b"\xc3", b"\xa9", b","]
)


@given(content=st.lists(PIECES, max_size=80).map(b"".join), block=st.integers(1, 30))
def test_lines_are_what_they_are_by_definition(content: bytes, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK", block)
        patch.setattr(lines, "CHUNK", 7)
        patch.setattr(lines, "LONGEST", 11)
        # A last line that ends in a carriage return gets its newline, too.
        assert read(content) == expected(content)


@given(
    before=st.lists(PIECES, max_size=40).map(b"".join),
    bad=st.lists(PIECES.filter(lambda piece: b"\n" not in piece), max_size=40).map(b"".join),
    after=st.lists(PIECES, max_size=40).map(b"".join),
    block=st.integers(1, 30),
)
def test_a_line_more_leaves_all_others_as_they_were(
    before: bytes, bad: bytes, after: bytes, block: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK", block)
        patch.setattr(lines, "CHUNK", 7)
        patch.setattr(lines, "LONGEST", 11)
        without, alone = read(before + b"\n" + after), read(bad)
        assert sorted(read(before + b"\n" + bad + b"\n" + after)) == sorted(without + alone)


def test_a_beginning_inside_a_line_is_left_out() -> None:
    assert read(b"st of it\nnext\n", within=True) == ["next"]
    assert read(b"\nnext", within=True) == ["next"]
    assert read(b"no end", within=True) == []


def test_a_long_line_takes_bounded_memory() -> None:
    sizes = []

    class Endless:
        left = 40

        def read(self, size: int) -> bytes:
            self.left -= 1
            return b"x" * size if self.left else b"\nshort\n"

    source = Endless()
    texts = []
    for block in blocks(lambda size: b"" if source.left < 1 else source.read(size)):
        sizes.append(len(block))
        texts += [text(chunk) for chunk in chunks(block)]
    assert texts == ["short\n"]
    assert max(sizes) <= lines.BLOCK + lines.LONGEST + 1


def test_the_limit_is_that_of_the_line_alone() -> None:
    longest = b"x" * lines.LONGEST
    assert [len(line) for line in read(longest + b"\n" + longest + b"y\n" + longest)] == [
        lines.LONGEST,
        lines.LONGEST,
    ]


@pytest.mark.parametrize("size", [LONGEST + 1, 2 * LONGEST + 3])
def test_a_piece_that_ends_inside_a_unit_of_a_line_that_is_too_long(size: int) -> None:
    """As a pipe may give it: the half unit belongs to what comes next."""
    script = script_of("utf-16-le")
    data = ("x" * (3 * LONGEST) + "\nlast\n").encode("utf-16-le")
    assert size % 2
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    whole = blocks(lambda _: pieces.pop(0) if pieces else b"", script=script)
    assert b"".join(whole) == b"last\n"
