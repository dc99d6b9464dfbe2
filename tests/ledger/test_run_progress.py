"""A released step is released once: whatever became of the run, and whichever thread asks."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import RunSpent, StoreRefused
from ameles.core.guarantee import EVENT, Neighbours
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.ledger import Ledger
from ameles.mechanisms.continual.afresh import Afresh
from ameles.mechanisms.continual.estimators.distinct import ExactDistinct
from ameles.mechanisms.continual.monitors import WindowMonitors
from ameles.mechanisms.continual.renewed import Renewed
from ameles.mechanisms.continual.sparse_vector import SparseVector
from ameles.mechanisms.continual.transformation import Continual
from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.mechanisms.pan_private.density import Density
from ameles.mechanisms.pan_private.dynamic import DynamicDensity
from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.mechanisms.run import LiveRun
from ameles.noise import System
from ameles.noise.arrays import IntArray
from ameles.noise.entropy import OperatingSystem
from tests.ledger.populations import population

PLAIN = BinaryCounter(epsilon=1, horizon=4096)
WIDE = SimpleOneCounter(epsilon=1, horizon=9, width=2)
RECIPES: list[Any] = [PLAIN, SimpleTwoCounter(epsilon=1)]


@pytest.fixture(scope="module", autouse=True)
def little_to_collect() -> None:
    """What was there before stays, so that a collection looks at the objects of these tests."""
    gc.collect()
    gc.freeze()


class Asked:
    """A whole number, or an array of ones, that does something when it is read."""

    def __init__(self, shape: tuple[int, ...], then: Callable[[], Any]) -> None:
        self._shape = shape
        self._then = then

    def __index__(self) -> int:
        self._then()
        return 1

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> IntArray:
        self._then()
        return np.ones(self._shape, dtype=np.int64)


class Hooked(System):
    """The operating system's noise, after a call that a test makes in the midst of a draw."""

    def __init__(self) -> None:
        super().__init__(entropy=OperatingSystem())
        self.then: Callable[[], Any] = lambda: None

    def laplace(self, *given: Any, **named: Any) -> IntArray:
        then, self.then = self.then, lambda: None
        then()
        return super().laplace(*given, **named)


def collected(run: list[Any]) -> None:
    run.clear()
    gc.collect()


def spent(run: list[Any]) -> None:
    run[0].spend()


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("gone", [collected, spent])
@pytest.mark.parametrize("way", ["start", "launch", "resume"])
def test_the_ledger_knows_how_far_a_run_went_that_is_gone(
    recipe: Any, gone: Callable[[list[Any]], None], way: str
) -> None:
    ledger = population(Pure(1))
    if way == "launch":
        run = list(ledger.launch({"z": recipe}, on="x", why="y").values())
    else:
        run = [ledger.start(recipe, on="x", why="y")]
    older = [run[0].snapshot()]
    if way == "resume":
        run[0] = ledger.resume(recipe, older[0])
    for _ in range(3):
        run[0].step(1)
        older.append(run[0].snapshot())
    run[0].feed([1] * 2000)
    run[0].step(1)
    newest = run[0].snapshot()
    gone(run)
    for snapshot in older:
        with pytest.raises(StoreRefused, match="has gone on to step 2004"):
            ledger.resume(recipe, snapshot)
    assert ledger.resume(recipe, newest).t == 2004


def test_a_run_that_is_gone_keeps_no_noise_in_the_ledger() -> None:
    ledger = population(Pure(1))
    run: Any = ledger.start(PLAIN, on="x", why="y")
    run.step(1)
    progress = run._progress
    assert progress.unused == 1023
    del run
    gc.collect()
    assert (progress.unused, progress.step, progress.live) == (0, 1, False)


def sold(recipe: Any, noise: Noise | None = None) -> tuple[Ledger, Any]:
    relation = Neighbours.ADD_REMOVE
    ledger = Ledger("v", cap=Pure(2), unit=EVENT, neighbours=relation, noise=noise)
    return ledger, ledger.start(recipe, on="x", why="y")


INPUTS: list[tuple[Any, str, tuple[int, ...]]] = [
    (PLAIN, "step", ()),
    (PLAIN, "feed", (1,)),
    (WIDE, "step", (2,)),
    (WIDE, "feed", (1, 2)),
    (SimpleTwoCounter(epsilon=1), "step", ()),
    (SimpleTwoCounter(epsilon=1), "feed", (1,)),
]


@pytest.mark.parametrize(("recipe", "way", "shape"), INPUTS)
@pytest.mark.parametrize("steps", [0, 1])
def test_an_input_that_resumes_the_run_is_no_step_of_it(
    recipe: Any, way: str, shape: tuple[int, ...], steps: int
) -> None:
    ledger, run = sold(recipe)
    run.feed(np.ones((steps, 2) if recipe is WIDE else steps, dtype=np.int64))
    snapshot = run.snapshot()
    resumed: list[Any] = []

    def resume() -> None:
        if not resumed:
            resumed.append(ledger.resume(recipe, snapshot))

    x = Asked(shape, resume)
    with pytest.raises(RunSpent):
        getattr(run, way)(x)
    assert run.t == steps
    assert [one.t for one in resumed] == [steps]


DRAWING: list[tuple[Any, Callable[[Any], Any]]] = [
    (PLAIN, lambda run: run.step(1)),
    (PLAIN, lambda run: run.feed([1])),
    (WIDE, lambda run: run.step([1, 1])),
    (SimpleTwoCounter(epsilon=1), lambda run: run.step(1)),
    (SimpleTwoCounter(epsilon=1), lambda run: run.feed([1])),
]


def test_nothing_is_resumed_in_the_midst_of_a_draw() -> None:
    # all of them at once, because each takes half a second to wait
    with ThreadPoolExecutor(len(DRAWING)) as pool:
        assert list(pool.map(resumed_in_the_midst, *zip(*DRAWING, strict=True))) == [[]] * 5


def resumed_in_the_midst(recipe: Any, go: Callable[[Any], Any]) -> list[Any]:
    """What another thread resumes while a run draws."""
    noise = Hooked()
    ledger, run = sold(recipe, noise)
    snapshot = run.snapshot()
    over, answers = threading.Event(), []

    def resume() -> None:
        with suppress(StoreRefused):
            answers.append(ledger.resume(recipe, snapshot))
        over.set()

    other = threading.Thread(target=resume)

    def meanwhile() -> None:
        other.start()
        # Without a lock it is over soon.  With one it waits: half a second is no measure of it.
        over.wait(0.5)

    noise.then = meanwhile
    go(run)
    other.join()
    assert run.t == 1
    return answers


DISTINCT = Afresh(algorithm=ExactDistinct(users=9), horizon=9, epsilon=1, sensitivity=1)
CONTINUAL = Continual(
    algorithm=ExactDistinct(users=9),
    epsilon=1,
    horizon=9,
    changes=3,
    jump=1,
    sensitivity=1,
    threshold=1,
)
SPARSE = SparseVector(
    threshold_epsilon=1, query_epsilon=1, aboves=2, neighbours=Neighbours.ADD_REMOVE
)
MONITORS = WindowMonitors(epsilon=1, width=2, window=2, threshold=5, aboves=2)
USERS: dict[str, Any] = {
    "users": 9,
    "neighbours": "user-presence",
    "epsilon_state": 1,
    "epsilon_output": 1,
}
MOVING = DynamicDensity(primes_from=512, **USERS)
TABLE = Density(intrusions=2, **USERS)
TURNS: list[tuple[Any, Callable[[Any], Any]]] = [
    *DRAWING,
    (PLAIN, lambda run: run.snapshot()),
    (SimpleTwoCounter(epsilon=1), lambda run: run.add(1)),
    (SimpleTwoCounter(epsilon=1), lambda run: run.release()),
    (PanPrivateCounter(epsilon=1), lambda run: run.announce()),
    (PanPrivateTreeCounter(epsilon=1, horizon=9), lambda run: run.announce()),
    (PanPrivatePlaceCounter(epsilon=1, horizon=9), lambda run: run.announce()),
    (SPARSE, lambda run: run.step(1)),
    (SPARSE, lambda run: run.feed([1])),
    (MONITORS, lambda run: run.feed([[1, 1]])),
    *(
        (recipe, go)
        for recipe in (DISTINCT, Renewed(inner=DISTINCT), CONTINUAL)
        for go in (lambda run: run.add(1), lambda run: run.release(), lambda run: run.step(1))
    ),
    (DISTINCT.algorithm, lambda run: run.add(1)),
    (TABLE, lambda run: run.add([1])),
    (TABLE, lambda run: run.release()),
    (TABLE, lambda run: run.intruded()),
    (TABLE, lambda run: run.snapshot()),
    (MOVING, lambda run: run.change([1], [1])),
]


@pytest.mark.parametrize(("recipe", "go"), TURNS)
def test_who_waited_for_the_turn_looks_again(
    recipe: Any, go: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = recipe.start(System.direct())
    asked = threading.Event()
    real = LiveRun.check_live

    def check(self: LiveRun) -> None:
        real(self)
        asked.set()

    monkeypatch.setattr(LiveRun, "check_live", check)
    with ThreadPoolExecutor(1) as pool:
        with run._progress.turn:
            answer = pool.submit(go, run)
            asked.wait()  # it was live when it asked, and has no turn before we end
            monkeypatch.setattr(LiveRun, "check_live", real)
            run.spend()
        with pytest.raises(RunSpent):
            answer.result()
    assert run.t == 0


def test_noise_drawn_ahead_is_of_no_use_after_a_resumption() -> None:
    ledger, run = sold(PLAIN)
    run.step(1)
    resumed = ledger.resume(PLAIN, run.snapshot())
    with pytest.raises(RunSpent):
        run.step(1)
    assert (run.t, resumed.t) == (1, 1)


def test_a_step_waits_while_a_resumption_is_refused_and_then_goes_on() -> None:
    _, run = sold(PLAIN)
    run.step(1)
    with ThreadPoolExecutor(1) as pool:
        with run._progress.still():
            answer = pool.submit(run.step, 1)
            assert run.t == 1
        answer.result()
    assert run.t == 2
    assert run._progress.unused == 1022  # it drew nothing


def test_a_snapshot_is_of_one_step_though_another_thread_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, run = sold(PLAIN)
    run.step(0)
    parts = run._parts
    with ThreadPoolExecutor(1) as pool:
        waiting = []

        def meanwhile() -> Any:
            waiting.append(pool.submit(run.step, 0))
            with pytest.raises(TimeoutError):
                waiting[0].result(timeout=0.2)
            return parts()

        monkeypatch.setattr(run, "_parts", meanwhile)
        resumed = PLAIN.resume(run.snapshot(), System())
        assert resumed.t == 1
        assert resumed.step(0) == waiting[0].result()


def test_threads_share_no_noise() -> None:
    # All inputs are 0, so the releases of one run are its noise, step after step.
    _, run = sold(SimpleOneCounter(epsilon=1, horizon=40_000))

    def some() -> list[int]:
        return [run.step(0) for _ in range(3000)]

    taken: list[IntArray] = []
    draw = run._process.take

    class Told:
        def take(self, n: int) -> IntArray:
            taken.append(draw(n))
            return taken[-1]

    run._process = Told()
    with ThreadPoolExecutor(4) as pool:
        values = [
            value for each in [pool.submit(some) for _ in range(4)] for value in each.result()
        ]
    assert run.t == 12_000
    drawn = [int(value) for block in taken for value in block[:, 0]][:12_000]
    assert sorted(values) == sorted(drawn)
