"""L R = A for Hats without an end, on their code, in whole numbers."""

from __future__ import annotations

import operator
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np

from ameles.mechanisms.counters.hats.draws import NodeDraws
from ameles.mechanisms.counters.hats.endless_process import EndlessProcess
from ameles.mechanisms.counters.hats.endless_shape import EndlessShape
from ameles.noise import Tape
from ameles.noise.arrays import IntArray
from tests.mechanisms.counters.hats.hats_identity import Given
from tests.mechanisms.counters.twins import scattered

# births at 11, 59, 251, and at 7, 15, 31, 63, 127
FEW: dict[str, Any] = {"radix": 4, "first": 3, "cell": 8, "growth": (2,), "most": 8}
MANY: dict[str, Any] = {"radix": 2, "first": 3, "cell": 4, "growth": (2,), "most": 4}
TOP = -1  # the number of the top level in the list of nodes


class NotedProcess(EndlessProcess):
    """Notes the level and the knot of every node that is drawn."""

    nodes: list[tuple[int, int]]

    def _draws(self, number: int) -> NodeDraws:
        process, one = self, self._endless.stretch(number)
        process.nodes = getattr(process, "nodes", [])

        class Noted(NodeDraws):
            def draw(self, level: int, first: int, count: int) -> IntArray:
                drawn = super().draw(level, first, count)
                places = (one.start + (first + i) * one.spans[level] for i in range(len(drawn)))
                process.nodes += [(level, place) for place in places]
                return drawn

        plain = super()._draws(number)
        return Noted(self._noise, plain._shape, self._scale, self._columns)

    def _knot(self, knot: int) -> IntArray:
        self.nodes.append((TOP, self._endless.stretch(knot).end))
        return super()._knot(knot)


def spans_of(shape: EndlessShape, level: int, place: int) -> tuple[int, int]:
    """How far the hat of a knot reaches to its left (0: for ever) and to its right: the
    definition."""
    if level == TOP:
        number = shape.number(place)
        return (shape.stretch(number - 1).steps if number > 1 else 0), shape.stretch(number).steps
    own = shape.radix**level
    return (own // shape.radix if level and place == shape.births[level] else own), own


def hats(shape: EndlessShape, items: IntArray, nodes: list[tuple[int, int]]) -> IntArray:
    """R: what each item adds to each node, in the node's units: the definition."""
    rows = []
    for level, place in nodes:
        left, right = spans_of(shape, level, place)
        falling = np.maximum(0, right - (items - place))
        rising = right - (place - items) * (right // left) if left else np.full_like(items, right)
        rows.append(np.where(items >= place, falling, np.maximum(0, rising)))
    return np.array(rows)


def check_identity(
    shape: EndlessShape,
    steps: int,
    items: IntArray | None = None,
    kind: type[EndlessProcess] = EndlessProcess,
) -> None:
    """L R = A on the code, for every item, in whole numbers.

    Counter i has the same noise, less what item i adds to each node: its releases are less by 1
    from that step on.  And no item spends more than epsilon.
    """
    items = np.arange(steps) if items is None else items
    tape = Tape(scattered(3 * steps + 400, 10**6))
    noted: type[NotedProcess] = type(
        "Noted", (NotedProcess,) if kind is EndlessProcess else (NotedProcess, kind), {}
    )
    process = noted(tape, shape, Fraction(1), 1, None)
    noise = process.take(steps)
    nodes = process.nodes
    # each node is drawn once, and has the scale of its share
    assert max(Counter(nodes).values()) == 1
    parts = []
    for (level, place), draw in zip(nodes, tape.draws, strict=True):
        top = level == TOP
        share = shape.knot_share(shape.number(place) - 1) if top else shape.share(level, place)
        parts.append(share / spans_of(shape, level, place)[1])
        assert draw.scale == 1 / parts[-1]
    member = hats(shape, items, nodes)
    shifted = Given(np.array(tape.values)[:, None] - member)
    again = kind(shifted, shape, Fraction(1), len(items), None).take(steps)
    assert (noise - again == (np.arange(steps)[:, None] >= items)).all()
    assert shifted.at == member.size
    for place in range(0, len(items), max(1, len(items) // 40)):
        spent = sum(map(operator.mul, member[:, place].tolist(), parts))
        assert Fraction(3, 4) < spent <= 1, items[place]
