"""Drawing many integers at once from a law's blocks, in numpy or in compiled kernels.

A request is served in rounds.  A round reads, for every number still missing, 16 bits that
select a block, 16 that decide whether to keep it, and the offset in the block; one look-up
and one comparison settle nearly all (the first look).  The rest get 64 bits more, which
settle the block and compare the keeping with a fixed-point bound (the second look).  Draws
that are still open go to the exact comparison, rejected ones to the next round.

If blocks are single integers, the bits that select one also decide whether to keep it.  16
bits settle nearly all draws, and 48 more all but those of the tail.

The kernels do the same arithmetic on the same bits, so their numbers are identical.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ameles.noise.arrays import Halves, IntArray, Places, Verdicts, Words
from ameles.noise.blocks import ONE, WIDEST, Blocks
from ameles.noise.coin import below, words
from ameles.noise.entropy import Entropy

# Large enough for the calls to cost little, small enough for the results to stay in a cache.
CHUNK = 1 << 18

# Second looks at up to so many draws take less time one by one than the calls of numpy.
FEW = 16

KEPT, REJECTED, OPEN, BEYOND = 0, 1, 2, 3

Offsets = NDArray[np.integer]


class Looks(Protocol):
    """The two vectorised stages; ``NumpyLooks`` and the compiled kernels."""

    def first(
        self, blocks: Blocks, select: Halves, keep: Halves, offset: Offsets, out: IntArray
    ) -> Places:
        """Writes every draw as if kept; gives the places that are not settled."""
        ...

    def second(
        self,
        blocks: Blocks,
        select: Halves,
        keep: Halves,
        offset: Offsets,
        more: Words,
    ) -> tuple[IntArray, Verdicts]:
        """The block (``half``: the tail) and the verdict of each unsettled draw."""
        ...

    def single(self, blocks: Blocks, select: Halves, out: IntArray) -> Places:
        """Writes every draw of single integers; gives the places that are not settled."""
        ...


class NumpyLooks:
    """Both stages with numpy alone."""

    def first(
        self, blocks: Blocks, select: Halves, keep: Halves, offset: Offsets, out: IntArray
    ) -> Places:
        block = blocks.table.take(select)
        np.left_shift(block, blocks.width, out=out, dtype=np.int64)
        if blocks.width:
            out += offset
        return np.flatnonzero((keep >= blocks.surely) | (block >= blocks.half))

    def second(
        self,
        blocks: Blocks,
        select: Halves,
        keep: Halves,
        offset: Offsets,
        more: Words,
    ) -> tuple[IntArray, Verdicts]:
        if more.size <= FEW:
            return second_of_few(blocks, select, keep, offset, more)
        index = blocks.table.take(select).astype(np.intp) + blocks.half
        vague = np.flatnonzero(index >= 2 * blocks.half)
        place = select[vague].astype(np.uint64) << np.uint64(48) | more[vague] >> np.uint64(16)
        index[vague] = np.searchsorted(blocks.edges, place, side="right")
        chance = keep.astype(np.uint64) << np.uint64(16) | more & np.uint64(0xFFFF)
        bound = bounds(blocks, np.minimum(index, 2 * blocks.half - 1), offset)
        verdict = np.full(index.shape, OPEN, dtype=np.uint8)
        verdict[chance + np.uint64(blocks.margin) < bound] = KEPT
        verdict[chance >= bound + np.uint64(blocks.margin)] = REJECTED
        verdict[index == 2 * blocks.half] = BEYOND
        return index.astype(np.int64) - blocks.half, verdict

    def single(self, blocks: Blocks, select: Halves, out: IntArray) -> Places:
        block = blocks.table.take(select)
        out[:] = block
        return np.flatnonzero(block >= blocks.half)


def second_of_few(
    blocks: Blocks, select: Halves, keep: Halves, offset: Offsets, more: Words
) -> tuple[IntArray, Verdicts]:
    """The second look in Python's integers: the same arithmetic, so the same numbers."""
    half, width, margin, curve = blocks.half, blocks.width, blocks.margin, blocks.curve
    block, verdict = [], []
    given = zip(select.tolist(), keep.tolist(), offset.tolist(), more.tolist(), strict=True)
    for leading, chance, away, word in given:
        index = int(blocks.table[leading]) + half
        if index >= 2 * half:
            place = np.uint64(leading << 48 | word >> 16)
            index = int(blocks.edges.searchsorted(place, side="right"))
        block.append(index - half)
        if index == 2 * half:
            verdict.append(BEYOND)
            continue
        bound = int(blocks.ceilings[index])
        if width:
            if index < half:
                away = (1 << width) - 1 - away
            part = away << max(0, 32 - width) >> max(0, width - 32)
            d = (int(blocks.slopes[index]) * part >> 32) + (curve * (part * part >> 32) >> 32)
            square = d * d >> 32
            cube = square * d >> 32
            bound = bound * (ONE - d + square // 2 - cube // 6) >> 32
        chance = chance << 16 | word & 0xFFFF
        if chance + margin < bound:
            verdict.append(KEPT)
        else:
            verdict.append(REJECTED if chance >= bound + margin else OPEN)
    return np.array(block, dtype=np.int64), np.array(verdict, dtype=np.uint8)


def bounds(blocks: Blocks, index: Places, offset: Offsets) -> Words:
    """The chance to keep each draw in units of 2**-32, up to the blocks' margin."""
    bound: Words = blocks.ceilings[index]
    if blocks.width:
        away = offset.astype(np.uint64)
        away = np.where(index < blocks.half, np.uint64((1 << blocks.width) - 1) - away, away)
        bound = bound * _cubic(blocks, blocks.slopes[index], away) >> np.uint64(32)
    return bound


def _cubic(blocks: Blocks, slope: Words, away: Words) -> Words:
    """exp(-d) up to the cubic term, d the exponent's growth over ``away`` points, times 2**32."""
    half = np.uint64(32)
    part = away << np.uint64(max(0, 32 - blocks.width)) >> np.uint64(max(0, blocks.width - 32))
    d = (slope * part >> half) + (np.uint64(blocks.curve) * (part * part >> half) >> half)
    square = d * d >> half
    cube = square * d >> half
    power: Words = np.uint64(ONE) - d + square // np.uint64(2) - cube // np.uint64(6)
    return power


@dataclass(frozen=True, slots=True)
class Sampler:
    """Draws from any law's blocks with one source of entropy."""

    entropy: Entropy
    looks: Looks

    def draw(self, blocks: Blocks, count: int) -> IntArray:
        """``count`` independent draws; int64, modulo 2**64."""
        out = np.empty(count, dtype=np.int64)
        if blocks.width > WIDEST:
            for i in range(count):
                out[i] = self._one(blocks)
            return out
        missing = self._round(blocks, out)
        while missing.size:
            redrawn = np.empty(missing.size, dtype=np.int64)
            again = self._round(blocks, redrawn)
            out[missing] = redrawn
            missing = missing[again]
        return out

    def _one(self, blocks: Blocks) -> int:
        while True:
            x = blocks.draw(self.entropy)
            if x is not None:
                return wrapped(x)

    def _round(self, blocks: Blocks, out: IntArray) -> Places:
        """Draws once for every place of ``out``; gives the places that were rejected."""
        chunk = self._singles if blocks.single else self._chunk
        if 0 < out.size <= CHUNK:
            return chunk(blocks, out)
        rejected = [
            start + chunk(blocks, out[start : start + CHUNK]) for start in range(0, out.size, CHUNK)
        ]
        return np.concatenate(rejected) if rejected else np.empty(0, dtype=np.intp)

    def _chunk(self, blocks: Blocks, out: IntArray) -> Places:
        count = out.size
        kind = offset_type(blocks.width)
        drawn = self.entropy.read((4 + kind.itemsize) * count)
        select = np.frombuffer(drawn, dtype="<u2", count=count, offset=kind.itemsize * count)
        keep = np.frombuffer(drawn, dtype="<u2", offset=(kind.itemsize + 2) * count)
        offset: Offsets = np.frombuffer(drawn, dtype=kind, count=count)
        offset &= np.array((1 << blocks.width) - 1, dtype=kind)
        unsettled = self.looks.first(blocks, select, keep, offset, out)
        if not unsettled.size:
            return unsettled
        select, keep, offset = select[unsettled], keep[unsettled], offset[unsettled]
        more = words(self.entropy, unsettled.size)
        block, verdict = self.looks.second(blocks, select, keep, offset, more)
        out[unsettled] = (block << blocks.width) + offset
        for i in np.flatnonzero(verdict >= OPEN):
            if verdict[i] == BEYOND:
                x = blocks.draw_tail(self.entropy)
                kept = x is not None
                out[unsettled[i]] = wrapped(x or 0)
            else:
                x = int(out[unsettled[i]])
                chance = int(keep[i]) << 16 | int(more[i]) & 0xFFFF
                kept = below(self.entropy, blocks.keep(int(block[i]), x), prefix=chance, known=32)
            verdict[i] = KEPT if kept else REJECTED
        rejected: Places = unsettled[verdict == REJECTED]
        return rejected

    def _singles(self, blocks: Blocks, out: IntArray) -> Places:
        select = np.frombuffer(self.entropy.read(2 * out.size), dtype="<u2")
        unsettled = self.looks.single(blocks, select, out)
        if not unsettled.size:
            return unsettled
        parts = np.frombuffer(self.entropy.read(8 * unsettled.size), dtype="<u2").reshape(-1, 4)
        parts[:, 3] = select[unsettled]
        place = parts.view("<u8")[:, 0]
        index = np.searchsorted(blocks.edges, place, side="right")
        out[unsettled] = index - blocks.half
        rejected = []
        for i in np.flatnonzero(place >= blocks.last_units[index]):
            if index[i] == 2 * blocks.half:
                x = blocks.draw_tail(self.entropy)
                kept = x is not None
                out[unsettled[i]] = wrapped(x or 0)
            else:
                kept = below(self.entropy, blocks.keep_last(int(index[i]) - blocks.half))
            if not kept:
                rejected.append(unsettled[i])
        return np.array(rejected, dtype=np.intp)


@cache
def offset_type(width: int) -> np.dtype[np.integer]:
    """The smallest integer type that holds ``width`` random bits."""
    return np.dtype(
        "<u1" if width <= 8 else "<u2" if width <= 16 else "<u4" if width <= 32 else "<i8"
    )


def wrapped(x: int) -> int:
    """An integer modulo 2**64, as int64 would hold it."""
    return (x + (1 << 63)) % (1 << 64) - (1 << 63)
