"""Every path of the sampler for blocks, reached through ``System`` by scripted bits.

A test says what the bits are, which number must come out, and that not a bit more or less
was read.  All of it runs with numpy, with the compiled loops, and with the loops as plain
Python, where numpy would also warn of an overflow.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from ameles.noise import sampler
from ameles.noise.blocks import WIDEST, blocks_for
from ameles.noise.law import Law
from ameles.noise.sampler import offset_type, wrapped
from tests.each import together

from .laws import name
from .scripts import (
    ALL_ONES,
    EDGE,
    GAUSSIAN,
    HUGE,
    LAPLACE,
    WIDE,
    a_round,
    cell,
    more,
    sample,
    settled,
    true_keep,
)
from .sources import Scripted, word

pytestmark = pytest.mark.usefixtures("looks")

CHUNK = 1000  # of as many draws as a test can script

laws = pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN, WIDE, EDGE], ids=name)


@laws
def test_the_first_look_settles_with_32_bits_and_the_offset(law: Law) -> None:
    blocks = blocks_for(law)
    last = (1 << blocks.width) - 1
    inner = [block for block in (-3, -1, 0, 2) if (blocks.table == block).any()]
    draws = [(offset, cell(blocks, block), 0) for block in inner for offset in (0, last)]
    entropy = Scripted(a_round(blocks, *draws))
    drawn = sample(entropy, law, len(draws))
    assert drawn.tolist() == [
        (block << blocks.width) + offset for block in inner for offset in (0, last)
    ]
    assert entropy.spent
    assert entropy.used == len(draws) * (4 + offset_type(blocks.width).itemsize)


@laws
def test_bits_of_an_offset_beyond_the_width_of_a_block_are_ignored(law: Law) -> None:
    blocks = blocks_for(law)
    kind = offset_type(blocks.width)
    ones = np.full(1, -1, dtype=np.int64).astype(kind)
    rest = a_round(blocks, settled(blocks, 1))[kind.itemsize :]
    entropy = Scripted(ones.tobytes(), rest)
    assert sample(entropy, law, 1)[0] == (2 << blocks.width) - 1
    assert entropy.spent


@laws
def test_a_vague_cell_is_settled_by_48_bits_on_either_side_of_each_edge(law: Law) -> None:
    blocks = blocks_for(law)
    half = blocks.half
    for index in (0, 1, half - 1, half, 2 * half - 2):
        edge = sum(blocks.weights[: index + 1])
        for place, block in ((edge - 1, index - half), (edge, index + 1 - half)):
            entropy = Scripted(a_round(blocks, (0, place >> 48, 0)), more(place))
            assert sample(entropy, law, 1)[0] == block << blocks.width
            assert entropy.spent


@laws
@together("block", [-2, 0, 1])
@together("words", [1, 2])
def test_a_keep_that_32_bits_leave_open_is_kept_below_the_truth(
    law: Law, block: int, words: int
) -> None:
    blocks = blocks_for(law)
    offset = (1 << blocks.width) // 3
    x = (block << blocks.width) + offset
    open_at_32, further = undecided(true_keep(blocks, block, x), words)
    start = a_round(blocks, (offset, cell(blocks, block), open_at_32 >> 16))
    *ties, last = further
    entropy = Scripted(start, more(chance=open_at_32), word(*ties, last - 10))
    assert sample(entropy, law, 1)[0] == x
    assert entropy.spent


@laws
@together("words", [1, 2])
def test_a_keep_that_32_bits_leave_open_is_rejected_above_the_truth(law: Law, words: int) -> None:
    blocks = blocks_for(law)
    offset = (1 << blocks.width) // 3
    x = (2 << blocks.width) + offset
    open_at_32, further = undecided(true_keep(blocks, 2, x), words)
    *ties, last = further
    entropy = Scripted(
        a_round(blocks, (offset, cell(blocks, 2), open_at_32 >> 16)),
        more(chance=open_at_32),
        word(*ties, last + 10),
        a_round(blocks, settled(blocks, -1)),  # the second round
    )
    assert sample(entropy, law, 1)[0] == -1 << blocks.width
    assert entropy.spent


def undecided(chance: Decimal, words: int) -> tuple[int, list[int]]:
    """The first 32 bits of a number below 1, and its next ``words`` times 64 bits.

    In the last word there must be room for the 10 units that the tests go off by.
    """
    bits = 32 + 64 * words
    digits = min(int(chance * (1 << bits)), (1 << bits) - 1)
    further = [digits >> 64 * i & ALL_ONES for i in reversed(range(words))]
    assert 10 <= further[-1] <= ALL_ONES - 10
    return digits >> 64 * words, further


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN, WIDE, EDGE], ids=name)
@pytest.mark.parametrize("block", [-5, 5])
def test_the_bound_settles_by_32_bits_all_but_its_margin(law: Law, block: int) -> None:
    blocks = blocks_for(law)
    offset = (1 << blocks.width) - 1 if block > 0 else 0  # the farthest, on either side
    x = (block << blocks.width) + offset
    near = int(true_keep(blocks, block, x) * (1 << 32))
    again = a_round(blocks, settled(blocks, 0))
    # The bound is within the margin of the truth, so twice the margin off it is settled.
    for chance, then, result in (
        (near - 2 * blocks.margin - 2, b"", x),
        (near + 2 * blocks.margin + 2, again, 0),
    ):
        start = a_round(blocks, (offset, cell(blocks, block), chance >> 16))
        entropy = Scripted(start, more(chance=chance), then)
        assert sample(entropy, law, 1)[0] == result
        assert entropy.spent


@pytest.mark.parametrize("last", [0, 1])
def test_only_what_was_rejected_is_drawn_again_and_in_its_place(last: int) -> None:
    blocks = blocks_for(LAPLACE)
    rejected = (15, cell(blocks, 7), 0xFFFF)
    second = [settled(blocks, 3), settled(blocks, 3)]
    second[last] = rejected
    entropy = Scripted(
        a_round(blocks, settled(blocks, 1), rejected, settled(blocks, 2), rejected),
        more(chance=0xFFFF) * 2,
        a_round(blocks, *second),
        more(chance=0xFFFF),
        a_round(blocks, settled(blocks, 4)),
    )
    expected = [1, 3, 2, 3]
    expected[1 + 2 * last] = 4
    assert sample(entropy, LAPLACE, 4).tolist() == [block << 4 for block in expected]
    assert entropy.spent


def test_a_round_of_many_draws_is_read_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "CHUNK", CHUNK)
    blocks = blocks_for(LAPLACE)
    entropy = Scripted(
        a_round(blocks, *[settled(blocks, 1)] * CHUNK),
        a_round(blocks, settled(blocks, -1), (15, cell(blocks, 7), 0xFFFF), settled(blocks, 2)),
        more(chance=0xFFFF),
        a_round(blocks, settled(blocks, 3)),
    )
    drawn = sample(entropy, LAPLACE, CHUNK + 3)
    assert (drawn[:CHUNK] == 1 << 4).all()
    assert drawn[CHUNK:].tolist() == [-1 << 4, 3 << 4, 2 << 4]
    assert entropy.spent


def test_the_outermost_block_of_the_widest_scale_is_in_int64() -> None:
    blocks = blocks_for(EDGE)
    ends = {}
    for index, place in ((0, 0), (2 * blocks.half - 1, sum(blocks.weights) - 1)):
        entropy = Scripted(a_round(blocks, (0, place >> 48, 0)), more(place))
        ends[index] = int(sample(entropy, EDGE, 1)[0])
        assert entropy.spent
    assert ends == {0: -1 << 62, 2 * blocks.half - 1: (1 << 62) - (1 << WIDEST)}


def test_nothing_is_read_for_no_draws() -> None:
    assert sample(Scripted(), LAPLACE, 0).shape == (0,)
    assert sample(Scripted(), HUGE, 0).shape == (0,)


@pytest.mark.parametrize(
    ("width", "size"), [(0, 1), (8, 1), (9, 2), (16, 2), (17, 4), (32, 4), (33, 8), (52, 8)]
)
def test_an_offset_is_read_in_the_smallest_type_that_holds_it(width: int, size: int) -> None:
    kind = offset_type(width)
    assert kind.itemsize == size
    assert np.iinfo(kind).max >= (1 << width) - 1


@pytest.mark.parametrize(
    ("x", "held"),
    [
        (0, 0),
        ((1 << 63) - 1, (1 << 63) - 1),
        (1 << 63, -1 << 63),
        (-1 << 63, -1 << 63),
        ((-1 << 63) - 1, (1 << 63) - 1),
        (1 << 64, 0),
        ((1 << 200) + 7, 7),
    ],
)
def test_wrapping_is_what_int64_does(x: int, held: int) -> None:
    assert wrapped(x) == held
    assert np.array([x % (1 << 64)], dtype=np.uint64).astype(np.int64)[0] == held
