"""The tables of a law are what the proof of exactness asks for, each number of them.

Every check on tables has a planted error that it must see.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest

from ameles.noise.arrays import Places, Words
from ameles.noise.blocks import ONE, REACH, TAIL, WIDEST, Blocks, blocks_for
from ameles.noise.enclosure import exp_minus
from ameles.noise.law import Law
from ameles.noise.sampler import Offsets, bounds, offset_type
from tests.each import together

from .laws import LAWS, WIDEST_SCALE, name
from .truth import DIGITS, exp

all_laws = pytest.mark.parametrize("law", LAWS, ids=name)

# For 64 bits with room to spare, at a third of the cost of all digits.
QUICK = Context(prec=40)


def true_keep(blocks: Blocks, index: int, x: int, context: Context = DIGITS) -> Decimal:
    """f(x) C / W, with f from outside the code under test."""
    with localcontext(context):
        f = exp(-blocks.law.linear * abs(x) - blocks.law.quadratic * x * x)
        return f * blocks.mass / blocks.weights[index]


def points(blocks: Blocks) -> Iterator[tuple[int, int]]:
    """Every block with its first, second, middle and last offset."""
    last = (1 << blocks.width) - 1
    for index in range(2 * blocks.half):
        for offset in sorted({0, min(1, last), last // 2, last}):
            yield index, offset


def point(blocks: Blocks, index: int, offset: int) -> int:
    return ((index - blocks.half) << blocks.width) + offset


@all_laws
def test_the_shares_of_blocks_and_tail_fill_64_bits_exactly(law: Law) -> None:
    blocks = blocks_for(law)
    assert sum(blocks.weights) + blocks.tail_weight == 1 << 64
    assert blocks.tail_weight >= TAIL
    assert min(blocks.weights) > 0
    assert [int(edge) for edge in blocks.edges] == list(accumulate(blocks.weights))


@all_laws
def test_the_blocks_reach_to_where_the_tail_is_rare(law: Law) -> None:
    blocks = blocks_for(law)
    start = blocks.half << blocks.width
    assert law.exponent(start) >= REACH
    assert law.exponent((blocks.half - 1) << blocks.width) < REACH
    assert blocks.half <= 1 << 10
    assert blocks.half >= 1 << 9 or blocks.width == 0


@all_laws
def test_every_leading_16_bits_lead_to_their_block(law: Law) -> None:
    blocks = blocks_for(law)
    assert misled(blocks, blocks.table.astype(np.int64)) == 0


def misled(blocks: Blocks, table: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    """How many entries of a table are wrong; in Python's integers, cell by cell."""
    edges = [0, *(int(edge) for edge in blocks.edges), 1 << 64]
    wrong = 0
    first = 0  # the block in which the cell starts
    for cell, entry in enumerate(table.tolist()):
        start, end = cell << 48, (cell + 1) << 48
        while edges[first + 1] <= start:
            first += 1
        # the last unit of a single integer is in doubt
        whole = end <= edges[first + 1] - blocks.single and first < 2 * blocks.half
        wrong += entry != (first - blocks.half if whole else first + blocks.half)
    return wrong


def test_one_wrong_entry_of_a_table_is_seen() -> None:
    blocks = blocks_for(Law.laplace(Fraction(10)))
    table = blocks.table.astype(np.int64)
    vague = int(np.flatnonzero(table >= blocks.half)[3])
    table[vague] = table[vague - 1]  # the neighbour's block, as if the edge were not there
    assert misled(blocks, table) == 1


@pytest.mark.parametrize("scale", [1, 64])
def test_edges_at_the_very_ends_of_a_cell_are_led_to_rightly(scale: int) -> None:
    # No law has such edges but by chance, so they are put in the place of a law's own.
    blocks = Blocks(Law.laplace(Fraction(scale)))
    assert blocks.single is (scale == 1)
    # Each in a cell of its own, so that another edge does not make its cells vague.
    ends = [(cell << 48) + cell % 3 - 1 for cell in range(100, 200, 4)]
    rest = 2 * blocks.half - len(ends)
    edges = [*ends, *((1 << 64) - TAIL - (i << 50) for i in reversed(range(rest)))]
    vars(blocks)["edges"] = np.array(edges, dtype=np.uint64)
    assert edges == sorted(edges)
    assert misled(blocks, blocks.table.astype(np.int64)) == 0


@all_laws
def test_single_integers_have_the_least_share_that_holds_their_weight(law: Law) -> None:
    blocks = blocks_for(law)
    tiny = min(low for low, _ in blocks.heights) == 0
    assert blocks.single is (blocks.width == 0 and not tiny)
    if blocks.single:
        for index, weight in enumerate(blocks.weights):
            x = index - blocks.half
            units = true_keep(blocks, index, x, QUICK) * weight
            assert weight - 1 < units <= weight + (Decimal(10) ** -19 if x == 0 else 0)


def test_a_height_that_leaves_the_share_open_is_no_single_integer() -> None:
    blocks = Blocks(Law.laplace(Fraction(1)))
    (low, high), *others = blocks.heights
    assert blocks.single
    doubtful = Blocks(blocks.law)
    vars(doubtful)["heights"] = [(low - (2 << 256) // blocks.mass, high), *others]
    assert doubtful.weights == blocks.weights
    assert not doubtful.single


@all_laws
@together("known", [0, 32, 96, 200])
def test_the_chance_to_keep_a_last_unit_is_enclosed_closely(law: Law, known: int) -> None:
    blocks = blocks_for(law)
    for index in {0, blocks.half - 1, blocks.half, 2 * blocks.half - 1} if blocks.single else ():
        low, high = blocks.keep_last(index - blocks.half)(known)
        weight = blocks.weights[index]
        truth = (true_keep(blocks, index, index - blocks.half) * weight - weight + 1) * (1 << known)
        slack = Decimal(1 << known) * Decimal(10) ** -55  # 80 digits, of which 20 are units
        assert low - slack <= truth <= high + slack
        assert high - low <= 5


@all_laws
def test_heights_enclose_the_truth_closely(law: Law) -> None:
    # In units of 2**-256, which is 10**-77.
    blocks = blocks_for(law)
    with localcontext(Context(prec=100, Emin=-(10**15), Emax=10**15)):
        for index in range(0, 2 * blocks.half, 1 + blocks.half // 25):
            low, high = blocks.heights[index]
            truth = exp(-law.exponent(blocks.nearest[index])) * (1 << 256)
            assert low <= truth * (1 + Decimal(10) ** -95)
            assert truth * (1 - Decimal(10) ** -95) <= high
            assert high - low < 1 << 24


@all_laws
def test_entries_of_the_table_fit_their_type(law: Law) -> None:
    blocks = blocks_for(law)
    most = max(abs(int(blocks.table.min())), int(blocks.table.max()))
    assert most <= 3 * blocks.half <= np.iinfo(np.int16).max


@pytest.mark.parametrize("law", [w for w in LAWS if blocks_for(w).width <= WIDEST], ids=name)
def test_the_fixed_point_bound_is_within_the_margin_of_the_truth(law: Law) -> None:
    blocks = blocks_for(law)
    assert off_by(blocks, bounds(blocks, *arrays(blocks))) <= blocks.margin


def arrays(blocks: Blocks) -> tuple[Places, Offsets]:
    where = list(points(blocks))
    index: Places = np.array([index for index, _ in where], dtype=np.intp)
    return index, np.array([offset for _, offset in where], dtype=offset_type(blocks.width))


def off_by(blocks: Blocks, bounds: Words) -> Decimal:
    """How far bounds are from the true chance to keep, at worst, in units of 2**-32."""
    return max(
        abs(int(bound) - ONE * true_keep(blocks, index, point(blocks, index, offset), QUICK))
        for bound, (index, offset) in zip(bounds, points(blocks), strict=True)
    )


def test_a_bound_whose_left_blocks_are_not_mirrored_is_seen() -> None:
    blocks = blocks_for(Law.laplace(Fraction(1000)))
    index, offset = arrays(blocks)
    mirrored: Offsets = np.where(index < blocks.half, 15 - offset, offset).astype(np.uint8)
    assert off_by(blocks, bounds(blocks, index, mirrored)) > blocks.margin


def test_a_bound_without_its_cubic_term_is_seen() -> None:
    # The margin is no wider than it needs to be: the last term that is there is needed.
    blocks = blocks_for(Law.gaussian(Fraction(182**2)))
    growth = [
        blocks.law.exponent(point(blocks, i, o)) - blocks.law.exponent(blocks.nearest[i])
        for i, o in points(blocks)
    ]
    cubic = np.array([int(d**3 / 6 * ONE) for d in growth], dtype=np.uint64)
    assert off_by(blocks, bounds(blocks, *arrays(blocks)) + cubic) > blocks.margin


@all_laws
def test_words_that_surely_keep_are_below_every_chance_to_keep(law: Law) -> None:
    blocks = blocks_for(law)
    last = (1 << blocks.width) - 1
    # f falls with the distance from zero, so a block's least likely point is its farthest.
    lowest = min(
        true_keep(blocks, index, point(blocks, index, last if index >= blocks.half else 0), QUICK)
        for index in range(2 * blocks.half)
    )
    assert blocks.surely <= lowest * (1 << 16)
    # and not by much, or the first look would be in vain
    assert lowest * (1 << 16) - blocks.surely < 200


@all_laws
def test_no_point_is_kept_with_more_than_certainty(law: Law) -> None:
    # f falls with the distance from zero, so a block's likeliest point is its nearest.
    blocks = blocks_for(law)
    for index, nearest in enumerate(blocks.nearest):
        x = nearest if index >= blocks.half else -nearest
        assert abs(x) == min(abs(point(blocks, index, o)) for o in (0, (1 << blocks.width) - 1))
        # W is a ceiling and C f is not near an integer: 40 digits tell, but where both are C.
        assert true_keep(blocks, index, x, QUICK) <= (1 if nearest else 1 + Decimal(10) ** -38)


@all_laws
def test_no_point_of_the_tail_is_kept_with_more_than_certainty(law: Law) -> None:
    blocks = blocks_for(law)
    start = blocks.half << blocks.width
    for y in (0, 1, start, start << 10):
        for x in (start + y, ~(start + y)):
            _, high = blocks.keep_tail(x)(64)
            assert high <= 1 << 62  # at most 2 TAIL**-1 / (exp(16) - 1) = 0.236


@all_laws
@together("known", [0, 32, 96, 200])
def test_the_chance_to_keep_is_enclosed_closely(law: Law, known: int) -> None:
    blocks = blocks_for(law)
    last = (1 << blocks.width) - 1
    for index in {0, blocks.half - 1, blocks.half, 2 * blocks.half - 1}:
        for offset in {0, last // 3, last}:
            x = point(blocks, index, offset)
            low, high = blocks.keep(index - blocks.half, x)(known)
            truth = true_keep(blocks, index, x) * (1 << known)
            slack = truth * Decimal(10) ** -70
            assert low - slack <= truth <= high + slack
            assert high - low <= 5


@all_laws
@together("known", [0, 32, 96])
def test_the_chance_to_keep_in_the_tail_is_enclosed_closely(law: Law, known: int) -> None:
    blocks = blocks_for(law)
    start = blocks.half << blocks.width
    slope = law.linear + 2 * law.quadratic * start
    share = Decimal(blocks.tail_weight << blocks.width)
    for y in (0, 1, start // 2):
        for x in (start + y, ~(start + y)):
            low, high = blocks.keep_tail(x)(known)
            weight = exp(slope * y - law.exponent(x)) * 2 * blocks.mass * (1 << known)
            truth = weight / (share * (1 - exp(-slope)))
            slack = truth * Decimal(10) ** -45  # 1 - exp(-2**-100) has lost 31 of 80 digits
            assert low - slack <= truth <= high + slack
            assert high - low <= 2


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(2), Fraction(50)], ids=str)
def test_a_doubtful_slope_widens_the_chance_to_keep_in_the_tail(
    scale: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The ends must go the right way even if exp(-slope) is hardly known.
    blocks = blocks_for(Law.laplace(scale))
    x = blocks.half << blocks.width
    low, high = blocks.keep_tail(x)(64)

    def hardly(gamma: Fraction, known: int) -> tuple[int, int]:
        low, high = exp_minus(gamma, known)
        return (low * 99 // 100, high * 101 // 100) if gamma == 1 / scale else (low, high)

    monkeypatch.setattr("ameles.noise.blocks.exp_minus", hardly)
    wide_low, wide_high = blocks.keep_tail(x)(64)
    assert wide_low < low < high < wide_high


@all_laws
def test_arithmetic_in_64_bits_has_room(law: Law) -> None:
    blocks = blocks_for(law)
    assert all(int(ceiling) < ONE for ceiling in blocks.ceilings)
    assert blocks.growth < Fraction(1, 15)
    assert max(int(slope) for slope in blocks.slopes) < ONE // 8  # times part < 2**32
    assert blocks.curve < ONE
    assert 16 <= blocks.margin < 1 << 12
    assert 0 <= blocks.surely < 1 << 16


def test_tables_are_built_once_for_each_law() -> None:
    assert blocks_for(Law.laplace(Fraction(10))) is blocks_for(Law.laplace(Fraction(20, 2)))


def test_the_widest_blocks_stay_in_int64() -> None:
    blocks = blocks_for(Law.laplace(WIDEST_SCALE))
    assert blocks.width == WIDEST
    assert blocks.half << blocks.width <= 1 << 62
    assert blocks_for(Law.laplace(WIDEST_SCALE + 1)).width == WIDEST + 1
