"""Single integers, drawn by the bits that select them: every path, by scripted bits.

As in ``test_sampler``: the bits, the number that must come out, and not a bit more or less.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from ameles.noise import sampler
from ameles.noise.blocks import Blocks, blocks_for
from ameles.noise.law import Law
from tests.each import together

from .laws import name
from .scripts import ALL_ONES, NARROW, a_round, in_the_tail, rest, sample, settled, true_keep
from .sources import Scripted, word

pytestmark = pytest.mark.usefixtures("looks")

LAST = Law.laplace(Fraction(1023, 16))  # with the most single integers
singles = pytest.mark.parametrize(
    "law", [NARROW, LAST, Law.gaussian(Fraction(50)), Law.laplace(Fraction(1, 16))], ids=name
)


def in_cell(blocks: Blocks, place: int) -> bytes:
    """The bits of a first round that lead to the cell of this place."""
    return a_round(blocks, (0, place >> 48, 0))


@singles
def test_the_first_look_settles_with_16_bits(law: Law) -> None:
    blocks = blocks_for(law)
    sure = blocks.table[blocks.table < blocks.half]
    inner = [block for block in (-3, -1, 0, 2) if (sure == block).any()]
    entropy = Scripted(a_round(blocks, *(settled(blocks, block) for block in inner)))
    assert sample(entropy, law, len(inner)).tolist() == inner
    assert entropy.spent
    assert entropy.used == 2 * len(inner)


@singles
@together("unused", [0, 0xFFFF])
def test_a_vague_cell_is_settled_by_48_bits_on_either_side_of_each_edge(
    law: Law, unused: int
) -> None:
    blocks = blocks_for(law)
    half = blocks.half
    for index in {0, 1, half - 1, half, 2 * half - 2} - {2 * half - 1}:
        edge = sum(blocks.weights[: index + 1])
        inside = [(edge - 2, index - half)] if blocks.weights[index] > 1 else []
        for place, x in (*inside, (edge, index + 1 - half)):
            entropy = Scripted(in_cell(blocks, place), rest(place, unused))
            assert sample(entropy, law, 1)[0] == x
            assert entropy.spent


@singles
@together("words", [1, 2])
def test_a_last_unit_is_kept_below_the_truth_and_rejected_above(law: Law, words: int) -> None:
    blocks = blocks_for(law)
    index = 0 if blocks.half == 1 else blocks.half + 1
    place = sum(blocks.weights[: index + 1]) - 1
    *ties, last = last_part(blocks, index, words)
    start = in_cell(blocks, place) + rest(place)
    below = Scripted(start, word(*ties, last - 10))
    assert sample(below, law, 1)[0] == index - blocks.half
    assert below.spent
    above = Scripted(start, word(*ties, last + 10), a_round(blocks, settled(blocks, 0)))
    assert sample(above, law, 1)[0] == 0
    assert above.spent


def last_part(blocks: Blocks, index: int, words: int) -> list[int]:
    """The leading words of the part of its last unit that an integer keeps."""
    weight = blocks.weights[index]
    part = true_keep(blocks, index - blocks.half, index - blocks.half) * weight - (weight - 1)
    digits = int(part * (Decimal(1 << 64) ** words))
    leading = [digits >> 64 * i & ALL_ONES for i in reversed(range(words))]
    assert 10 <= leading[-1] <= ALL_ONES - 10
    return leading


@singles
def test_zero_keeps_all_of_its_last_unit(law: Law) -> None:
    blocks = blocks_for(law)
    place = sum(blocks.weights[: blocks.half + 1]) - 1
    entropy = Scripted(in_cell(blocks, place), rest(place))
    assert sample(entropy, law, 1)[0] == 0
    assert entropy.spent


def test_only_what_was_rejected_is_drawn_again_and_in_its_place() -> None:
    blocks = blocks_for(NARROW)
    index = blocks.half + 1
    place = sum(blocks.weights[: index + 1]) - 1
    entropy = Scripted(
        a_round(blocks, settled(blocks, 1), (0, place >> 48, 0), settled(blocks, 2)),
        rest(place) + word(ALL_ONES),
        in_tail_and_out(blocks),
        a_round(blocks, settled(blocks, -3)),
    )
    assert sample(entropy, NARROW, 3).tolist() == [1, -3, 2]
    assert entropy.spent


def in_tail_and_out(blocks: Blocks) -> bytes:
    """The bytes of a round that draws the first integer of the right tail, and rejects it."""
    outer = blocks_for(Law(blocks.law.slope(blocks.half), Fraction(0)))
    envelope = word(sum(outer.weights[: outer.half]))  # zero, which is kept without a bit
    return in_the_tail(blocks) + envelope + b"\x80" + word(ALL_ONES)


def test_a_round_of_many_draws_is_read_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "CHUNK", 100)
    blocks = blocks_for(NARROW)
    edge = sum(blocks.weights[: blocks.half])  # where zero begins
    entropy = Scripted(
        a_round(blocks, *[settled(blocks, 1)] * 100),
        a_round(blocks, settled(blocks, -1), (0, edge >> 48, 0), settled(blocks, 2)),
        rest(edge),
    )
    drawn = sample(entropy, NARROW, 103)
    assert (drawn[:100] == 1).all()
    assert drawn[100:].tolist() == [-1, 0, 2]
    assert entropy.spent
    assert drawn.dtype == np.int64
