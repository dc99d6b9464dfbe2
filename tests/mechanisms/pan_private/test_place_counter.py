"""The pan-private counter with shares by place: its loss, its draws and its state."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from ameles.audit import Instant, Verdict, enumerated_loss, exact_loss
from ameles.core.exceptions import HorizonReached
from ameles.core.noise import Noise
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.pan_private import place_run
from ameles.mechanisms.pan_private.place_run import PanPrivatePlaceRun
from ameles.mechanisms.pan_private.place_shape import LADDER, PARTS
from ameles.mechanisms.snapshot import unpack
from ameles.noise import System, Tape, Zero
from tests import checks
from tests.each import together
from tests.mechanisms.pan_private.place_twins import (
    FoldsIntoAbsentNodes,
    OpensWithoutNoise,
    PublicationNoiseInState,
    RefreshesOneLevel,
    SharesTooLarge,
    UsesUnpublishedValues,
)
from tests.mechanisms.pan_private.places import LAWS, SHAPES, place
from tests.mechanisms.pan_private.seizures import after, announced, every_pair
from tests.mechanisms.pan_private.test_counter import Failing
from tests.test_catalogue import VARIANTS


def loss(recipe: CounterRecipe, views: Any = None) -> Any:
    return exact_loss(recipe, views=views).exact


# The loss ------------------------------------------------------------------------------------


@together("given", [{"horizon": 1}, {"horizon": 2}, {"horizon": 3}, *SHAPES])
def test_all_releases_and_one_look_at_any_instant_lose_exactly_epsilon(
    given: dict[str, Any],
) -> None:
    # before, between and after the events of every step
    finding = exact_loss(place(**given))
    assert (finding.exact, finding.verdict) == (1, Verdict.CERTIFIED)


@pytest.mark.parametrize("horizon", [16, 25])
def test_longer_trees_at_some_instants(horizon: int) -> None:
    width = math.isqrt(horizon)
    recipe = place(horizon=horizon, radices=(width, width), rungs=range_of(width))
    views = [after(0), after(width - 1), after(width), (Instant(horizon - 1, added=True),)]
    views += [(Instant(width, added=True),), (Instant(2 * width - 1, between=True),)]
    assert loss(recipe, views) == 1


def range_of(width: int) -> list[int]:
    return [width + 8 - 2 * i for i in range(width - 1)]


def test_two_looks_without_an_announcement_give_away_what_came_between() -> None:
    assert loss(place(**SHAPES[0]), [after(0, 1)]) == math.inf


def test_contributions_add_up() -> None:
    finding = exact_loss(place(**SHAPES[0], contributions=2, bound=3))
    assert (finding.exact, finding.verdict) == (1, Verdict.CERTIFIED)


@pytest.mark.parametrize("given", SHAPES[:2], ids=str)
def test_announced_intrusions_lose_epsilon_in_all(given: dict[str, Any]) -> None:
    assert loss(place(**given, intrusions="announced")) == 1


def test_announcements_at_any_two_instants_and_late() -> None:
    recipe = place(**SHAPES[0], intrusions="announced")
    assert loss(recipe, every_pair(4)) == 1
    assert loss(recipe, [announced(after(0, 3), later=2)]) == 1
    assert loss(recipe, [announced(after(0, 1), later=2)]) == math.inf


@pytest.mark.parametrize(
    ("twin", "expected"),
    [
        (OpensWithoutNoise, math.inf),
        (PublicationNoiseInState, math.inf),
        (UsesUnpublishedValues, None),
        (FoldsIntoAbsentNodes, math.inf),
        # its single steps are one rung higher than what is left to them
        (SharesTooLarge, 1 + Fraction(LADDER[9] - LADDER[10], PARTS)),
    ],
)
def test_mistakes_are_caught(twin: Any, expected: Any) -> None:
    finding = exact_loss(twin(epsilon=1, horizon=4, radices=(2, 2), rungs=(10,)))
    assert finding.verdict is not Verdict.CERTIFIED
    if expected is not None:
        assert finding.exact == expected


def test_an_announcement_to_single_steps_alone_is_caught() -> None:
    twin = RefreshesOneLevel(epsilon=1, **SHAPES[0], intrusions="announced")
    assert loss(twin) == math.inf


def test_enumeration_agrees() -> None:
    # another proof of the same, for the smallest tree: every tape of a small noise is tried
    recipe = place(epsilon=2, horizon=2, radices=(2, 1), rungs=())
    modulus = 3

    def program(noise: Noise, inputs: list[int], seen: int) -> tuple[int, ...]:
        run = recipe.start(noise)
        shown: list[int] = []
        for instant, x in enumerate([*inputs, None]):
            if instant == seen:
                shown += np.concatenate(unpack(run.snapshot(), recipe.fingerprint).parts).tolist()
            if x is not None:
                shown.append(run.step(x))
        return tuple(number % modulus for number in shown)

    for step, seen in product((0, 1), (0, 1, 2)):
        neighbour = [int(step == s) for s in range(2)]
        one = partial(program, inputs=[0, 0], seen=seen)
        other = partial(program, inputs=neighbour, seen=seen)
        finding = enumerated_loss(one, other, epsilon=2, modulus=modulus)
        assert finding.verdict is Verdict.CERTIFIED
        assert finding.loss > 0.1


# Draws and state -----------------------------------------------------------------------------


def test_nodes_open_before_their_first_event_and_are_published_with_fresh_noise() -> None:
    tape = Tape()
    run: Any = place(horizon=4, radices=(2, 2), rungs=(10,)).start(tape)
    half = Fraction(2)  # both the first node and its steps have half of epsilon
    assert [draw.scale for draw in tape.draws] == [half, half]
    scales = []
    for _ in range(4):
        before = len(tape.draws)
        run.add(1)
        assert len(tape.draws) == before
        run.release()
        scales.append([draw.scale for draw in tape.draws[before:]])
    # a step ends and one opens; then its node ends, too, and none follows; nothing opens at the end
    assert scales == [[half, half], [half, 1, half], [1, 1], [1]]


def test_what_is_published_is_not_what_was_in_the_state() -> None:
    recipe = place(horizon=4, radices=(2, 2), rungs=(10,))
    run: Any = recipe.start(Tape([10, 20, 3, 5, 7, 11, 13]))
    run.add(1)
    assert unpack(run.snapshot(), recipe.fingerprint).parts[0].tolist() == [11, 21]
    assert run.release() == 14
    opened, published, corrections = unpack(run.snapshot(), recipe.fingerprint).parts
    assert opened.tolist() == [5, 21]  # the opening noise of the next step
    assert (published.tolist(), corrections.tolist()) == ([14, 0], [0, 0])
    run.add(1)
    # the step: 5 + 1 + 7, the node: 22 + 13; the estimate has 11/32 of the difference from 27
    weight = recipe.shape.weights[1][0]
    assert run.release() == math.floor(35 - weight * (35 - 27) / 32 + 0.5)
    opened, published, corrections = unpack(run.snapshot(), recipe.fingerprint).parts
    assert opened.tolist() == [11, 0]  # there is no second node, so no event is added to it
    assert (published.tolist(), corrections.tolist()) == ([0, 35], [0, weight * 8])
    run.add(1)
    assert unpack(run.snapshot(), recipe.fingerprint).parts[0].tolist() == [12, 0]


@pytest.mark.parametrize("horizon", [200, 365])
def test_a_long_feed_equals_steps(horizon: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place_run, "CHUNK", 100)
    recipe = place(horizon=horizon, width=2, intrusions="announced")
    script = Tape(beyond=System()).laplace(Fraction(9), 3000).tolist()
    xs = np.arange(2 * horizon).reshape(horizon, 2) % 7
    fed, stepped = recipe.start(Tape(script)), recipe.start(Tape(script))
    assert isinstance(fed, PanPrivatePlaceRun)
    assert isinstance(stepped, PanPrivatePlaceRun)
    expected, released = [], []
    for part in (xs[:21], xs[21:90], xs[90:]):
        expected += [stepped.step(x).tolist() for x in part]
        released += fed.feed(part).tolist()
        stepped.announce()
        fed.announce()
    assert released == expected
    states = [unpack(run.snapshot(), recipe.fingerprint).parts for run in (fed, stepped)]
    assert all(np.array_equal(one, other) for one, other in zip(*states, strict=True))


@together("given", [{"horizon": 1}, {"horizon": 2}, {"horizon": 3}, {"horizon": 1025}, *LAWS])
def test_without_noise_counts_are_true(given: dict[str, Any]) -> None:
    recipe = place(**given)
    xs = [(7 * t) % 11 - 3 for t in range(recipe.horizon)]
    truth = np.cumsum(xs).tolist()
    assert recipe.start(Zero()).feed(xs).tolist() == truth
    run: Any = recipe.start(Zero())
    for t, x in enumerate(xs):
        run.add(x - 1)  # several events, or none, in a step
        run = recipe.resume(run.snapshot(), Zero())
        run.add(1)
        assert run.release() == truth[t]
        run = recipe.resume(run.snapshot(), Zero())
    with pytest.raises(HorizonReached):
        run.add(1)
    with pytest.raises(HorizonReached):
        run.release()
    silent: Any = recipe.start(Zero())
    assert [silent.release() for _ in xs] == [0] * len(xs)


def test_counts_far_beyond_the_noise_are_true() -> None:
    # corrections have no count in them, so that large counts leave room for their weights
    recipe = place(horizon=30)
    xs = [(-1) ** t * (1 << 58) for t in range(30)]
    assert recipe.start(Zero()).feed(xs).tolist() == np.cumsum(xs).tolist()
    assert recipe.start(Zero()).feed([1 << 57] * 30).tolist() == [(t << 57) for t in range(1, 31)]


def test_a_release_that_fails_has_not_happened() -> None:
    noise = Failing(2)  # the opening of both scales
    recipe = place(horizon=4, radices=(2, 2), rungs=(3,))
    run: Any = recipe.start(noise)
    run.add(1)
    before = run.snapshot()
    noise.left = 0
    with pytest.raises(OSError, match="no entropy"):
        run.release()
    assert run.snapshot() == before
    noise.left = 20
    assert [run.release(), run.step(1)] == [1, 2]


def test_an_announcement_after_the_last_step_draws_nothing() -> None:
    tape = Tape()
    run: Any = place(**SHAPES[0], intrusions="announced").start(tape)
    run.feed([1] * 4)
    drawn, before = len(tape.draws), run.snapshot()
    run.announce()
    assert (len(tape.draws), run.snapshot()) == (drawn, before)


def test_a_feed_that_fails_counts_the_steps_that_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place_run, "CHUNK", 10)
    noise = Failing(1)
    run: Any = place(horizon=24, radices=(24,), rungs=()).start(noise)
    noise.left = 2
    with pytest.raises(OSError, match="no entropy"):
        run.feed([1] * 24)
    assert run.t == 20
    noise.left = 100
    assert run.feed([1] * 4).tolist() == list(range(21, 25))


@together("check", checks.CHECKS)
@together("variant", VARIANTS)
def test_every_check_when_announced(variant: str, check: Callable[[CounterRecipe], None]) -> None:
    check(place(**{**VARIANTS[variant], "intrusions": "announced"}))
