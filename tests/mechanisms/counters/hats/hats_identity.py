"""L R = A for counters of hats, on their code, in whole numbers."""

from __future__ import annotations

import math
import operator
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.counters.hats.draws import NodeDraws
from ameles.mechanisms.counters.hats.process import HatsProcess
from ameles.mechanisms.counters.hats.shape import HatsShape
from ameles.noise import Tape
from ameles.noise.arrays import IntArray
from tests.mechanisms.counters.twins import scattered


class Places(NodeDraws):
    """Notes the level and the number of every node that is drawn."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.nodes: list[tuple[int, int]] = []

    def draw(self, level: int, first: int, count: int) -> IntArray:
        drawn = super().draw(level, first, count)
        self.nodes += [(level, first + place) for place in range(len(drawn))]
        return drawn


def drawing(kind: type[NodeDraws], shape: HatsShape, scale: Fraction, noise: Noise) -> HatsProcess:
    """The process of a counter that draws its nodes in another way."""
    process = HatsProcess(noise, shape, scale, 1, None)
    process._nodes = kind(noise, shape, scale, 1)
    return process


class Given(Tape):
    """Noise that is given as an array."""

    def __init__(self, noise: IntArray) -> None:
        super().__init__()
        self.noise, self.at = noise.reshape(-1), 0

    def laplace(self, scale: Fraction, size: Any) -> IntArray:
        start, self.at = self.at, self.at + math.prod(size)
        return self.noise[start : self.at].reshape(size)


def hats(shape: HatsShape, steps: int, nodes: IntArray) -> IntArray:
    """R: what each item adds to each node, in the node's units: the definition."""
    level, node = nodes.T[:, :, None]
    item, spans = np.arange(steps), np.array(shape.spans)[level]
    knot = node * spans + np.where(level == shape.levels - 1, shape.start, 0)
    hat = np.maximum(0, spans - abs(item - knot))
    member: IntArray = np.where((level > 0) & (node == 0) & (item <= knot), spans, hat)
    return member


def check_identity(shape: HatsShape, steps: int) -> None:
    """L R = A on the code, for every item, in whole numbers.

    Counter i has the same noise, less what item i adds to each node: its releases are less by 1
    from step i on.  And no item spends more than epsilon.
    """
    tape = Tape(scattered(4 * steps + 200, 10**6))
    process = drawing(Places, shape, Fraction(1), tape)
    noise = process.take(steps)
    assert isinstance(process._nodes, Places)
    nodes = process._nodes.nodes
    # each node is drawn once, and has the scale of its share
    assert max(Counter(nodes).values()) == 1
    for (level, node), draw in zip(nodes, tape.draws, strict=True):
        assert draw.scale == shape.spans[level] / shape.share(level, node)
    member = hats(shape, steps, np.array(nodes))
    shifted = Given(np.array(tape.values)[:, None] - member)
    again = HatsProcess(shifted, shape, Fraction(1), steps, None).take(steps)
    assert (noise - again == np.tri(steps, dtype=np.int64)).all()
    assert shifted.at == member.size
    parts = [shape.share(level, node) / shape.spans[level] for level, node in nodes]
    for item in {0, steps // 3, steps // 2, steps - 1}:
        spent = sum(map(operator.mul, member[:, item].tolist(), parts))
        assert Fraction(3, 4) < spent <= 1
