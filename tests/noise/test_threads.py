"""Work that threads share: every part once, nothing left behind, and noise with its exact law."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from fractions import Fraction

import numpy as np
import pytest

from ameles.noise import System, threads

from .truth import ALARM, cells, doubt, laplace_cdf


@pytest.fixture(autouse=True)
def three_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine with three cores, where every number is worth a thread."""
    monkeypatch.setattr(threads, "LEAST", 1)
    monkeypatch.setattr(threads, "cores", lambda: 3)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 10, 11])
def test_parts_make_up_the_whole(size: int) -> None:
    parts: list[tuple[int, int]] = []
    threads.share(lambda start, end: parts.append((start, end)), size)
    assert len(parts) == max(1, min(size, 3))
    assert sorted(i for start, end in parts for i in range(start, end)) == list(range(size))


def test_parts_run_at_the_same_time_and_leave_no_thread() -> None:
    before, meeting = threading.active_count(), threading.Barrier(3, timeout=60)
    threads.share(lambda start, end: meeting.wait(), 3)
    assert threading.active_count() == before


def test_little_work_stays_in_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "LEAST", 10)
    workers: list[int] = []
    threads.share(lambda start, end: workers.append(threading.get_ident()), 19)
    assert workers == [threading.get_ident()]
    threads.share(lambda start, end: workers.append(threading.get_ident()), 20)
    assert len(set(workers)) == 2


@pytest.mark.parametrize("failing", [0, 1, 2])
@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt])
def test_a_failure_is_told_when_all_have_ended(failing: int, problem: type[BaseException]) -> None:
    ended: list[int] = []

    def work(start: int, end: int) -> None:
        if start == failing:
            raise problem
        time.sleep(0.01)
        ended.append(start)

    with pytest.raises(problem):
        threads.share(work, 3)
    assert len(ended) == 2


def test_a_second_interruption_does_not_leave_a_thread_behind() -> None:
    class Interrupted(threading.Thread):
        interruptions = 2

        def join(self, timeout: float | None = None) -> None:
            if self.interruptions:
                self.interruptions -= 1
                raise KeyboardInterrupt
            super().join(timeout)

    thread = Interrupted(target=time.sleep, args=(0.01,))
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        threads._wait([thread])
    assert not thread.is_alive()


def test_where_no_thread_can_start_the_work_is_done_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refused(threading.Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "Thread", Refused)
    done: list[int] = []
    threads.share(lambda start, end: done.extend(range(start, end)), 10)
    assert sorted(done) == list(range(10))


def test_there_are_no_more_threads_than_cores_that_may_be_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {5, 7}, raising=False)
    assert threads.cores() == 2
    monkeypatch.delattr(os, "sched_getaffinity")
    assert threads.cores() == (os.cpu_count() or 1)


@pytest.mark.parametrize("compiled", [False, True], ids=["numpy", "compiled"])
@pytest.mark.parametrize("scale", [Fraction(7, 3), Fraction(1000)], ids=str)
def test_noise_that_threads_draw_together_has_its_law(scale: Fraction, compiled: bool) -> None:
    # 300,000 draws of the operating system's; the false alarm is ALARM
    noise, drawn = System(compiled=compiled), np.zeros(300_000, dtype=np.int64)

    def draw(start: int, end: int) -> None:
        for first in range(start, end, 20_000):  # many calls, so that they are at the same time
            drawn[first : first + 20_000] = noise.laplace(scale, 20_000)

    threads.share(draw, drawn.size)
    assert doubt(drawn, *cells(laplace_cdf(scale), float(scale), drawn.size)) > ALARM
    # no two threads have the same noise: 64 draws are equal by chance once in 2**100
    parts = drawn.reshape(-1, 20_000)[:, :64]
    assert len({part.tobytes() for part in parts}) == len(parts)


FORK = """
    import os
    from ameles.mechanisms.counters.hats import cells
    from ameles.mechanisms.counters.hats.counter import HatsCounter
    from ameles.noise import System, kernels, threads

    cells.WORTH_COMPILING, threads.LEAST, threads.cores = 1, 1, lambda: 3
    kernels.available, kernels.compiled = lambda: True, lambda loop: loop  # without numba, quickly
    noise = System()

    def drawn():
        process = HatsCounter(epsilon=1, horizon=64, width=90).process(noise, None)
        return b"".join(process.take(1).tobytes() for _ in range(40))

    ours = [drawn()]
    for _ in range(2):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, drawn())
            os._exit(0)
        os.waitpid(child, 0)
        ours.append(os.read(read, 1 << 16))
    ours.append(drawn())
    words = [{one[i : i + 128] for i in range(0, len(one), 128)} for one in ours]
    print(*map(len, words), len(set.union(*words)))
"""


def test_children_of_a_fork_draw_in_threads_and_never_the_same() -> None:
    # 16 noises of scale 3 or more are equal by chance once in 2**40; a child that waits for a
    # thread of its parent would never end
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(FORK)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    *each, together = map(int, ran.stdout.split())
    assert each == [225] * 4
    assert together == 900
