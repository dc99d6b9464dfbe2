"""Compiled loops for the most frequent draws, if numba is installed (the ``fast`` extra).

The loops below are plain Python until numba compiles them.  They do what ``NumpyLooks``
does, operation for operation, so the numbers are the same for the same random bits.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from ameles.core.exceptions import MissingExtra
from ameles.noise.arrays import Halves, IntArray, Places, Verdicts, Words
from ameles.noise.blocks import ONE, Blocks
from ameles.noise.sampler import BEYOND, KEPT, OPEN, REJECTED, Offsets
from ameles.noise.undisturbed import undisturbed


def available() -> bool:
    """Whether numba is installed; finding out does not load it."""
    return find_spec("numba") is not None


def require() -> None:
    """Raises an error that says how to install numba, if it is missing."""
    if not available():
        raise MissingExtra(
            "The compiled kernels need numba, which is not installed.",
            tip="pip install '.[fast]' in the clone of Ameles, or compiled=False",
        )


@cache
def compiled(loop: Callable[..., int]) -> Callable[..., int]:
    """A loop, compiled at its first call and kept on disk where that is possible."""
    require()
    njit = undisturbed(partial(importlib.import_module, "numba")).njit  # else it stays half loaded
    let_forks_wait()
    jitted: Callable[..., int]
    try:
        jitted = njit(loop, cache=True, nogil=True)
    except RuntimeError:  # no folder that can be written to: compiled anew in each process
        jitted = njit(loop, nogil=True)
    keep_signals_away(jitted)
    return jitted


@cache
def let_forks_wait() -> None:
    """From now on a fork waits until no thread compiles: its child has the compiler's lock, but not
    the thread that would give it back."""
    lock = importlib.import_module("numba.core.compiler_lock").global_compiler_lock
    os.register_at_fork(
        before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
    )


def keep_signals_away(jitted: Any) -> None:
    """From now on no signal disturbs the compiler of this loop: it is a C library that calls Python
    back, and would lose an exception of a handler, or have no result."""
    compile_or_load = jitted.compile
    jitted.compile = lambda signature: undisturbed(partial(compile_or_load, signature))


class CompiledLooks:
    """The stages of the sampler as compiled loops."""

    def first(
        self, blocks: Blocks, select: Halves, keep: Halves, offset: Offsets, out: IntArray
    ) -> Places:
        unsettled = np.empty(out.size, dtype=np.intp)
        tables = (blocks.table, blocks.half, blocks.surely, blocks.width)
        count = compiled(first_loop)(*tables, select, keep, offset, out, unsettled)
        return unsettled[:count]

    def second(
        self, blocks: Blocks, select: Halves, keep: Halves, offset: Offsets, more: Words
    ) -> tuple[IntArray, Verdicts]:
        block = np.empty(more.size, dtype=np.int64)
        verdict = np.empty(more.size, dtype=np.uint8)
        tables = (blocks.table, blocks.edges, blocks.ceilings, blocks.slopes)
        numbers = (np.uint64(blocks.curve), np.uint64(blocks.margin), blocks.half, blocks.width)
        compiled(second_loop)(*tables, *numbers, select, keep, offset, more, block, verdict)
        return block, verdict

    def single(self, blocks: Blocks, select: Halves, out: IntArray) -> Places:
        unsettled = np.empty(out.size, dtype=np.intp)
        count = compiled(single_loop)(blocks.table, blocks.half, select, out, unsettled)
        return unsettled[:count]


def single_loop(
    table: IntArray, half: int, select: Halves, out: IntArray, unsettled: Places
) -> int:
    """The first look at single integers; gives how many places it left unsettled."""
    count = 0
    for i in range(out.size):
        block = np.int64(table[select[i]])
        out[i] = block
        if block >= half:
            unsettled[count] = i
            count += 1
    return count


def first_loop(
    table: IntArray,
    half: int,
    surely: int,
    width: int,
    select: Halves,
    keep: Halves,
    offset: Offsets,
    out: IntArray,
    unsettled: Places,
) -> int:
    """The first look; gives how many places it left unsettled."""
    count = 0
    for i in range(out.size):
        block = np.int64(table[select[i]])
        out[i] = (block << width) + np.int64(offset[i])
        # written every time and counted when it matters: cheaper than a branch
        unsettled[count] = i
        count += int(keep[i] >= surely) | int(block >= half)
    return count


def second_loop(
    table: IntArray,
    edges: Words,
    ceilings: Words,
    slopes: Words,
    curve: np.uint64,
    margin: np.uint64,
    half: int,
    width: int,
    select: Halves,
    keep: Halves,
    offset: Offsets,
    more: Words,
    block: IntArray,
    verdict: Verdicts,
) -> int:
    """The second look; gives how many draws it left open or found beyond the blocks."""
    by32 = np.uint64(32)
    left_open = 0
    for i in range(more.size):
        index = int(table[select[i]]) + half
        if index >= 2 * half:
            index -= 2 * half
            place = np.uint64(select[i]) << np.uint64(48) | more[i] >> np.uint64(16)
            while index < 2 * half and edges[index] <= place:
                index += 1
        block[i] = index - half
        if index == 2 * half:
            verdict[i] = BEYOND
            left_open += 1
            continue
        bound = ceilings[index]
        if width:
            away = np.uint64(offset[i])
            if index < half:
                away = (np.uint64(1) << np.uint64(width)) - np.uint64(1) - away
            part = away << np.uint64(max(0, 32 - width)) >> np.uint64(max(0, width - 32))
            d = (slopes[index] * part >> by32) + (curve * (part * part >> by32) >> by32)
            square = d * d >> by32
            cube = square * d >> by32
            power = np.uint64(ONE) - d + square // np.uint64(2) - cube // np.uint64(6)
            bound = bound * power >> by32
        chance = np.uint64(keep[i]) << np.uint64(16) | more[i] & np.uint64(0xFFFF)
        if chance + margin < bound:
            verdict[i] = KEPT
        elif chance >= bound + margin:
            verdict[i] = REJECTED
        else:
            verdict[i] = OPEN
            left_open += 1
    return left_open
