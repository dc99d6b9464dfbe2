"""The compiled loops draw the same numbers from the same bytes as numpy, to the last bit."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from fractions import Fraction
from types import FrameType, FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.core.exceptions import MissingExtra
from ameles.noise import System, kernels, sampler, system
from ameles.noise.arrays import Halves, IntArray, Places, Verdicts, Words
from ameles.noise.blocks import WIDEST, Blocks, blocks_for
from ameles.noise.kernels import CompiledLooks
from ameles.noise.law import Law
from ameles.noise.sampler import (
    BEYOND,
    FEW,
    KEPT,
    OPEN,
    REJECTED,
    Looks,
    NumpyLooks,
    Offsets,
    Sampler,
    bounds,
    offset_type,
    second_of_few,
)

from .laws import LAWS, name
from .sources import Stream

vector_laws = pytest.mark.parametrize(
    "law", [law for law in LAWS if blocks_for(law).width <= WIDEST], ids=name
)


@st.composite
def any_law(draw: st.DrawFn) -> Law:
    """Scales of every size, from far below 1 to the last that is drawn in int64."""
    mantissa = draw(st.fractions(1, 2, max_denominator=1000))
    kind = draw(st.sampled_from(["laplace", "gaussian", "mixed"]))
    exponent = draw(st.integers(-100, 56))
    match kind:
        case "laplace":
            return Law.laplace(mantissa * Fraction(2) ** exponent)
        case "gaussian":
            variance = mantissa * Fraction(2) ** (2 * exponent)
            return Law.gaussian(max(variance, Fraction(1, 1 << 100)))
        case _:
            return Law(Fraction(2) ** -exponent, mantissa * Fraction(4) ** -exponent)


def agree(looks: Looks, law: Law, count: int, seed: str) -> bool:
    """Whether the looks draw what numpy draws, from as many bytes."""
    ours, theirs = Stream(seed), Stream(seed)
    drawn = Sampler(ours, looks).draw(blocks_for(law), count)
    expected = Sampler(theirs, NumpyLooks()).draw(blocks_for(law), count)
    return ours.used == theirs.used and np.array_equal(drawn, expected)


@given(law=any_law(), count=st.integers(1, 3000), seed=st.text(max_size=3))
@settings(max_examples=60)
def test_compiled_loops_draw_what_numpy_draws(law: Law, count: int, seed: str) -> None:
    assert agree(CompiledLooks(), law, count, seed)


@vector_laws
def test_compiled_loops_draw_what_numpy_draws_in_chunks(
    law: Law, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 70,001 draws are more than a chunk, and an odd number leaves arrays unaligned.
    monkeypatch.setattr(sampler, "CHUNK", 1 << 16)
    assert agree(CompiledLooks(), law, 70_001, "chunks")


@vector_laws
def test_the_loops_draw_the_same_as_plain_python(law: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "compiled", lambda loop: loop)
    assert agree(CompiledLooks(), law, 301, "plain")


class OneByOne(NumpyLooks):
    """The second look as it is if there are few draws, however many there are."""

    def second(
        self, blocks: Blocks, select: Halves, keep: Halves, offset: Offsets, more: Words
    ) -> tuple[IntArray, Verdicts]:
        return second_of_few(blocks, select, keep, offset, more)


class AllAtOnce(NumpyLooks):
    """The second look as it is if there are many draws, however few there are."""

    def second(
        self, blocks: Blocks, select: Halves, keep: Halves, offset: Offsets, more: Words
    ) -> tuple[IntArray, Verdicts]:
        again = np.arange(more.size + FEW + 1) % more.size
        block, verdict = super().second(
            blocks, select[again], keep[again], offset[again], more[again]
        )
        return block[: more.size], verdict[: more.size]


@given(law=any_law(), count=st.integers(1, 300), seed=st.text(max_size=3))
@settings(max_examples=60)
def test_few_draws_are_the_same_as_among_many(law: Law, count: int, seed: str) -> None:
    assert agree(OneByOne(), law, count, seed)
    assert agree(AllAtOnce(), law, count, seed)


@vector_laws
@pytest.mark.parametrize(
    "looks", [NumpyLooks(), OneByOne(), CompiledLooks()], ids=["numpy", "one by one", "compiled"]
)
def test_verdicts_change_exactly_at_the_margins_of_the_bound(law: Law, looks: Looks) -> None:
    # Every block that 16 bits can lead to, at both ends: KEPT below bound - margin, OPEN from
    # there, REJECTED from bound + margin.
    blocks = blocks_for(law)
    table = blocks.table
    sure = np.flatnonzero(table < blocks.half)
    sure = sure[np.diff(table[sure], prepend=-3000) != 0].astype(np.uint16)
    select: Halves = np.concatenate([sure, sure])
    index = table[select].astype(np.intp) + blocks.half
    last = (1 << blocks.width) - 1
    offset: Offsets = np.repeat([0, last], sure.size).astype(offset_type(blocks.width))
    bound = bounds(blocks, index, offset).astype(np.int64)
    margin = blocks.margin
    for chance, verdict in (
        (bound - margin - 1, KEPT),
        (bound - margin, OPEN),
        (bound + margin - 1, OPEN),
        (bound + margin, REJECTED),
    ):
        possible = (chance >= 0) & (chance < 1 << 32)
        keep: Halves = (chance >> 16).clip(0, 0xFFFF).astype(np.uint16)
        more: Words = (chance & 0xFFFF).astype(np.uint64)
        block, verdicts = looks.second(blocks, select, keep, offset, more)
        assert np.array_equal(block, index - blocks.half)
        assert (verdicts[possible] == verdict).all()


class Hasty(NumpyLooks):
    """Planted: a first look that keeps one word in 2**16 too many."""

    def first(
        self, blocks: Blocks, select: Halves, keep: Halves, offset: Offsets, out: IntArray
    ) -> Places:
        super().first(blocks, select, keep, offset, out)
        vague = blocks.table.take(select) >= blocks.half
        return np.flatnonzero((keep > blocks.surely) | vague)


class Confident(NumpyLooks):
    """Planted: a look at single integers that takes one vague cell for settled."""

    def single(self, blocks: Blocks, select: Halves, out: IntArray) -> Places:
        unsettled = super().single(blocks, select, out)
        vague = np.flatnonzero(blocks.table >= blocks.half)
        seen: Places = unsettled[select[unsettled] != vague[0]]
        return seen


class Forward(NumpyLooks):
    """Planted: a second look that does not mirror the offsets of the left blocks."""

    def second(
        self, blocks: Blocks, select: Halves, keep: Halves, offset: Offsets, more: Words
    ) -> tuple[IntArray, Verdicts]:
        left = blocks.table.take(select) < 0
        last = (1 << blocks.width) - 1
        return super().second(blocks, select, keep, np.where(left, last - offset, offset), more)


@pytest.mark.parametrize("planted", [Hasty(), Forward()])
def test_looks_that_differ_in_a_detail_are_seen(planted: Looks) -> None:
    assert not agree(planted, Law.laplace(Fraction(1000)), 200_000, "planted")


def test_a_look_at_single_integers_that_settles_too_much_is_seen() -> None:
    assert not agree(Confident(), Law.laplace(Fraction(10)), 400_000, "planted")


def test_all_looks_settle_the_block_of_every_place_around_every_edge() -> None:
    blocks = blocks_for(Law.laplace(Fraction(1000)))
    edges = [int(edge) for edge in blocks.edges]
    places = [place for edge in edges for place in (edge - 1, edge)] + [0, (1 << 64) - 1]
    expected = [sum(edge <= place for edge in edges) - blocks.half for place in places]
    select: Halves = np.array([place >> 48 for place in places], dtype=np.uint16)
    more: Words = np.array([place << 16 & (1 << 64) - 1 for place in places], dtype=np.uint64)
    zeros: Halves = np.zeros(len(places), dtype=np.uint16)
    offset: Offsets = zeros.astype(np.uint8)
    for looks in (NumpyLooks(), OneByOne(), CompiledLooks()):
        block, verdict = looks.second(blocks, select, zeros, offset, more)
        assert block.tolist() == expected
        assert np.array_equal(verdict == BEYOND, block == blocks.half)


def test_without_numba_draws_fall_back_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = System(entropy=Stream("same")).laplace(Fraction(3), system.WORTH_COMPILING)
    monkeypatch.setattr(kernels, "find_spec", lambda name: None)
    monkeypatch.setattr(kernels, "compiled", no_compiler)
    assert not kernels.available()
    drawn = System(entropy=Stream("same")).laplace(Fraction(3), system.WORTH_COMPILING)
    assert np.array_equal(drawn, expected)


def no_compiler(loop: Callable[..., int]) -> Callable[..., int]:
    raise AssertionError("nothing is compiled here")


def test_small_requests_and_refusals_do_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "compiled", no_compiler)
    System(compiled=True).laplace(Fraction(3), system.WORTH_COMPILING - 1)
    System(compiled=False).laplace(Fraction(3), system.WORTH_COMPILING)
    with pytest.raises(AssertionError, match="compiled here"):
        System(compiled=True).laplace(Fraction(3), system.WORTH_COMPILING)


def test_without_numba_who_insists_is_told_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernels, "find_spec", lambda name: None)
    for insist in (lambda: System(compiled=True), lambda: kernels.compiled(fresh_loop())):
        with pytest.raises(MissingExtra, match="not installed") as refusal:
            insist()
        assert "pip install '.[fast]'" in refusal.value.tip


def fresh_loop() -> Callable[..., int]:
    return lambda: 0


def test_where_nothing_can_be_written_loops_are_compiled_without_a_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def njit(loop: Callable[..., int], *, nogil: bool, cache: bool = False) -> Callable[..., int]:
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return loop

    monkeypatch.setattr(kernels, "available", lambda: True)
    monkeypatch.setattr(kernels, "let_forks_wait", lambda: None)
    monkeypatch.setattr(kernels, "keep_signals_away", lambda loop: None)
    monkeypatch.setitem(sys.modules, "numba", SimpleNamespace(njit=njit))
    loop = fresh_loop()
    assert kernels.compiled(loop) is loop
    assert asked == [True, False]


def test_finding_out_does_not_load_numba() -> None:
    code = "import sys; from ameles.noise import System; System(); print('numba' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


FORK = """
    import os, sys, threading, time
    from types import SimpleNamespace
    from ameles.noise import kernels

    lock, compiling = threading.RLock(), threading.Event()
    kernels.available = lambda: True
    kernels.keep_signals_away = lambda loop: None
    sys.modules["numba"] = SimpleNamespace(njit=lambda loop, **_: loop)  # as numba, but quick
    sys.modules["numba.core.compiler_lock"] = SimpleNamespace(global_compiler_lock=lock)
    kernels.compiled(lambda: 0)

    def compile():
        with lock:
            compiling.set()
            time.sleep(0.05)  # a fork that does not wait comes within this time

    thread = threading.Thread(target=compile)
    thread.start()
    compiling.wait()
    child = os.fork()
    if child == 0:
        os._exit(lock.acquire(timeout=1))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), lock.acquire(timeout=1))
"""


def test_a_fork_waits_for_a_thread_that_compiles() -> None:
    # the child, and then its parent, have the lock of the compiler
    command = [sys.executable, "-c", textwrap.dedent(FORK)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["1", "True"]


def new_loop() -> Any:
    """A compiled loop that is in no file, so it is compiled in each process."""
    code = (lambda n: n + 1).__code__.replace(co_filename="<nowhere>")
    return kernels.compiled(FunctionType(code, {}))


def test_loops_are_compiled_in_a_thread_of_their_own() -> None:
    loop, compiler = new_loop(), []
    known = loop._compiler.compile

    def noted(*given: Any) -> Any:
        compiler.append(threading.current_thread())
        return known(*given)

    loop._compiler.compile = noted
    assert loop(1) == 2
    assert len(compiler) == 1
    assert compiler[0] is not threading.main_thread()


def test_a_signal_does_not_disturb_the_compiler() -> None:
    # Every millisecond, of some hundred that compiling takes: one of them would interrupt it.
    heard: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise InterruptedError

    loop = new_loop()
    before = signal.signal(signal.SIGALRM, interrupt)
    wanted = loop.compile

    def compile_with_alarms(signature: object) -> object:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        return wanted(signature)

    loop.compile = compile_with_alarms
    try:
        with pytest.raises(InterruptedError):
            loop(1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        loop.compile = wanted
    assert heard
    assert loop(1) == 2  # if it is still compiled, this waits for it
    assert len(loop.signatures) == 1
