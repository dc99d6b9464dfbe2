"""The tail, the tail of its envelope, and scales beyond int64, reached by scripted bits.

As in ``test_sampler``: the bits, the number that must come out, and not a bit more or less.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from ameles.noise.blocks import WIDEST, blocks_for
from ameles.noise.law import Law
from ameles.noise.sampler import wrapped
from tests.each import together

from .laws import name
from .scripts import (
    ALL_ONES,
    EDGE,
    GAUSSIAN,
    HUGE,
    LAPLACE,
    NARROW,
    WIDE,
    a_round,
    geometric,
    in_the_tail,
    more,
    rest,
    sample,
    settled,
)
from .sources import Scripted, word

pytestmark = pytest.mark.usefixtures("looks")

RIGHT, LEFT = b"\x80", b"\x7f"

tails = pytest.mark.parametrize("law", [NARROW, LAPLACE, GAUSSIAN, WIDE, EDGE], ids=name)


@tails
@together("y", [0, 5])
def test_the_tail_on_both_sides(law: Law, y: int) -> None:
    blocks = blocks_for(law)
    start = blocks.half << blocks.width
    envelope = geometric(blocks_for(Law(law.slope(start), Fraction(0))), y)
    for side, x in ((RIGHT, start + y), (LEFT, -start - y - 1)):
        entropy = Scripted(in_the_tail(blocks), envelope, side, word(0))
        assert sample(entropy, law, 1)[0] == x
        assert entropy.spent


@tails
def test_the_tail_begins_at_the_last_edge(law: Law) -> None:
    blocks = blocks_for(law)
    start = blocks.half << blocks.width
    edge = sum(blocks.weights)
    envelope = geometric(blocks_for(Law(law.slope(start), Fraction(0))), 3)
    further = rest if blocks.single else more
    first = a_round(blocks, (0, edge >> 48, 0))
    beyond = Scripted(first, further(edge), envelope, RIGHT, word(0))
    assert sample(beyond, law, 1)[0] == start + 3
    assert beyond.spent
    kept = word(0) if blocks.single else b""  # the last unit of a single integer is kept in part
    inside = Scripted(a_round(blocks, (0, edge - 1 >> 48, 0)), further(edge - 1), kept)
    assert sample(inside, law, 1)[0] == (blocks.half - 1) << blocks.width
    assert inside.spent


@tails
def test_a_rejected_draw_of_the_tail_gets_a_second_round(law: Law) -> None:
    blocks = blocks_for(law)
    envelope = geometric(blocks_for(Law(law.slope(blocks.half << blocks.width), Fraction(0))), 5)
    entropy = Scripted(
        in_the_tail(blocks), envelope, LEFT, word(ALL_ONES), a_round(blocks, settled(blocks, 1))
    )
    assert sample(entropy, law, 1)[0] == 1 << blocks.width
    assert entropy.spent


@tails
def test_the_tail_of_the_envelope_is_a_tail_again(law: Law) -> None:
    blocks = blocks_for(law)
    start = blocks.half << blocks.width
    outer = blocks_for(Law(law.slope(start), Fraction(0)))
    # Beyond the envelope's blocks: its own tail, where the same envelope gives 7; rejected
    # once, then kept on the left, which folds to the same distance.
    far = word(ALL_ONES) + geometric(outer, 7)
    nested = far + RIGHT + word(ALL_ONES) + far + LEFT + word(0)
    y = (outer.half << outer.width) + 7
    entropy = Scripted(in_the_tail(blocks), nested, RIGHT, word(0))
    assert sample(entropy, law, 1)[0] == wrapped(start + y)
    assert entropy.spent


def test_a_draw_of_the_envelope_from_the_left_is_folded() -> None:
    blocks = blocks_for(LAPLACE)
    start = blocks.half << blocks.width
    place = sum(blocks.weights[: blocks.half - 1])  # the block from -16 to -1
    envelope = word(place) + b"\xf0" + word(0)  # -1, which folds to 0
    entropy = Scripted(in_the_tail(blocks), envelope, RIGHT, word(0))
    assert sample(entropy, LAPLACE, 1)[0] == start
    assert entropy.spent


def test_scales_too_wide_for_int64_are_drawn_in_exact_integers_and_wrapped() -> None:
    blocks = blocks_for(HUGE)
    assert blocks.width > WIDEST
    for x in (1, 1 << 63, (1 << 64) + 5, 300 << blocks.width | 12345):
        entropy = Scripted(geometric(blocks, x))
        assert sample(entropy, HUGE, 1)[0] == (x + (1 << 63)) % (1 << 64) - (1 << 63)
        assert entropy.spent


def test_scales_too_wide_for_int64_have_their_rejections_and_their_tail() -> None:
    blocks = blocks_for(HUGE)
    start = blocks.half << blocks.width
    rejected = geometric(blocks, (2 << blocks.width) - 1)[:-8] + word(ALL_ONES)
    tail = word(ALL_ONES) + geometric(blocks, 9) + LEFT + word(0)
    entropy = Scripted(rejected, tail, geometric(blocks, 4))
    assert sample(entropy, HUGE, 2).tolist() == [wrapped(~(start + 9)), 4]
    assert entropy.spent
