"""What is drawn has the law: point by point for a miniature, and by counting for the tail."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from ameles.noise.blocks import REACH, Blocks, blocks_for, geometric
from ameles.noise.enclosure import Enclosure
from ameles.noise.law import Law

from .laws import LAWS, name
from .sources import Stream
from .truth import ALARM, doubt, exp

MINIATURES = [law for law in LAWS if blocks_for(law).half < 60]


@pytest.mark.parametrize("law", MINIATURES, ids=name)
def test_the_law_of_a_miniature_is_exact(law: Law) -> None:
    blocks = blocks_for(law)
    assert deviation(blocks, blocks.weights) < Decimal(10) ** -30


def test_a_miniature_with_one_weight_off_by_one_is_seen() -> None:
    # A block's share that its chance to keep does not know of: 2**-64 too often.
    blocks = blocks_for(Law(Fraction(1, 7), Fraction(1, 11)))
    weights = list(blocks.weights)
    weights[blocks.half] += 1
    assert deviation(blocks, weights) > Decimal(10) ** -30


@pytest.mark.parametrize("law", [w for w in MINIATURES if blocks_for(w).single], ids=name)
def test_the_law_of_single_integers_is_exact(law: Law) -> None:
    blocks = blocks_for(law)
    lasts = [middle(blocks.keep_last(x)) for x in range(-blocks.half, blocks.half)]
    kept = [weight - 1 + last for weight, last in zip(blocks.weights, lasts, strict=True)]
    assert deviation(blocks, kept, single=True) < Decimal(10) ** -30
    # planted: one last unit that is always kept
    place = min(range(len(lasts)), key=lambda index: lasts[index])
    kept[place] = Decimal(blocks.weights[place])
    assert deviation(blocks, kept, single=True) > Decimal(10) ** -30


def deviation(blocks: Blocks, weights: Sequence[int | Decimal], *, single: bool = False) -> Decimal:
    """How far P(block) P(point) P(keep), over all points, is from f / Z at worst; if ``single``,
    the weights are what is kept already."""
    start = blocks.half << blocks.width
    slope = blocks.law.linear + 2 * blocks.law.quadratic * start
    fall, envelope = exp(-slope), (1 - exp(-slope)) / 2
    drawn: dict[int, Decimal] = {}
    for index, weight in enumerate(weights):
        for offset in range(1 << blocks.width):
            x = ((index - blocks.half) << blocks.width) + offset
            chance = Decimal(1) if single else middle(blocks.keep(index - blocks.half, x))
            drawn[x] = weight * chance / Decimal(1 << blocks.width)
    for y in range(5 * start + 1):  # to exp(-80) and beyond: no more than 10**-34 is left out
        for x in (start + y, ~(start + y)):
            chance = middle(blocks.keep_tail(x))
            drawn[x] = envelope * chance * Decimal(blocks.tail_weight)
        envelope = envelope * fall
    total = sum(drawn.values(), Decimal(0))
    f = {x: exp(-blocks.law.exponent(x)) for x in drawn}
    z = sum(f.values(), Decimal(0))
    return max(abs(drawn[x] / total - f[x] / z) for x in drawn)


def middle(number: Enclosure) -> Decimal:
    low, high = number(240)
    return Decimal(low + high) / Decimal(1 << 241)


def test_the_tail_has_the_law_of_the_tail() -> None:
    # 5,000 draws of which about 1,000 are kept; the false alarm is ALARM.
    law = Law.laplace(Fraction(2))
    blocks = blocks_for(law)
    start = blocks.half << blocks.width
    entropy = Stream("tail")
    drawn = (blocks.draw_tail(entropy) for _ in range(5_000))
    kept = np.array([x for x in drawn if x is not None], dtype=np.int64)
    assert kept.size > 500
    edges, chances = tail_cells(law, start, kept.size)
    assert doubt(kept, edges, chances) > ALARM
    # planted: fair sides, though the left tail starts one further out and is less likely
    fair = np.where(np.arange(kept.size) % 2, kept, ~kept)
    assert doubt(fair, edges, chances) < ALARM


def tail_cells(law: Law, start: int, draws: int) -> tuple[list[int], list[float]]:
    """Cells for the points beyond the blocks, by the exact weights of 2000 points a side."""
    points = [*range(-start - 2000, -start), *range(start, start + 2000)]
    weights = [float(exp(REACH - law.exponent(x))) for x in points]
    chances = np.cumsum(weights) / sum(weights)
    edges, at = [], 0.0
    for x, chance in zip(points[:-1], chances[:-1], strict=True):
        if min(chance - at, 1 - chance) * draws >= 20 or x == -start - 1:
            edges.append(x)
            at = chance
    bounds = [0.0, *(float(chances[points.index(edge)]) for edge in edges), 1.0]
    return edges, [high - low for low, high in pairwise(bounds)]


def test_the_geometric_law_is_that_of_the_envelope() -> None:
    # 6,000 draws; the false alarm is ALARM.
    slope = Fraction(1, 5)
    entropy = Stream("geometric")
    drawn = np.array([geometric(slope, entropy) for _ in range(6_000)], dtype=np.int64)
    edges = list(range(20))
    ends = [1 - float(exp(-slope * (edge + 1))) for edge in edges]
    chances = [high - low for low, high in zip([0.0, *ends], [*ends, 1.0], strict=True)]
    assert drawn.min() >= 0
    assert doubt(drawn, edges, chances) > ALARM
    assert doubt(np.abs(drawn - 1), edges, chances) < ALARM  # planted: a fold at the wrong place
