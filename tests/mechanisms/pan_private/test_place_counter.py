"""The pan-private counter with shares by place: its loss, its error, its draws and its state."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ameles.audit import Instant, Verdict, enumerated_loss, exact_loss
from ameles.core.exceptions import BadInput, HorizonReached
from ameles.core.guarantee import Intrusions
from ameles.core.noise import Noise
from ameles.measures.counter_choice import Span, chosen
from ameles.mechanisms.catalogue import recipe_from_json
from ameles.mechanisms.counters.choose import worst_of
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.laplace.mixture import LaplaceMixture
from ameles.mechanisms.pan_private import place_run
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter
from ameles.mechanisms.pan_private.place_law import Spectrum, laws_of, size_of, variance_of
from ameles.mechanisms.pan_private.place_run import PanPrivatePlaceRun
from ameles.mechanisms.pan_private.place_search import best_rungs, best_shape, total_variance
from ameles.mechanisms.pan_private.place_shape import LADDER, LAST, PARTS, PlaceShape
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
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
from tests.mechanisms.pan_private.seizures import after, announced, every_pair
from tests.mechanisms.pan_private.test_counter import Failing
from tests.mechanisms.pan_private.test_tree_counter import mean_std as tree_std
from tests.test_catalogue import VARIANTS

# Full and cut-off trees, of two and three levels, with nodes that do not exist in every place.
SHAPES: list[dict[str, Any]] = [
    {"horizon": 4, "radices": (2, 2), "rungs": (10,)},
    {"horizon": 7, "radices": (2, 2, 2), "rungs": (7, 5)},
    {"horizon": 6, "radices": (2, 3), "rungs": (0, 5)},
    {"horizon": 5, "radices": (2, 3), "rungs": (1, 99)},
]


def place(**given: Any) -> PanPrivatePlaceCounter:
    return PanPrivatePlaceCounter(**{"epsilon": 1, **given})


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


# The error -----------------------------------------------------------------------------------


LAWS = [
    *SHAPES,
    {"horizon": 27, "radices": (3, 3, 3), "rungs": (10, 0, 0, 6)},
    {"horizon": 30, "radices": (2, 4, 4), "rungs": (9, 5, 0, 12, 0, 3)},
]


def noise_rows(
    recipe: PanPrivatePlaceCounter, told: tuple[int, ...] = ()
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What each draw adds to each count, from 0 steps on, and the draws' variances."""

    def counts(tape: Tape) -> list[int]:
        run = recipe.start(tape)
        assert isinstance(run, PanPrivatePlaceRun)
        released = [0]
        for t in range(recipe.horizon):
            if t in told:
                run.announce()
            released.append(run.step(0))
        return released

    tape = Tape()
    counts(tape)
    unit = recipe.resolution
    columns = [counts(Tape([0] * i + [unit])) for i in range(len(tape.draws))]
    scales = [draw.scale for draw in tape.draws if isinstance(draw.scale, Fraction)]
    variances = [0.5 / math.sinh(1 / (2 * float(scale))) ** 2 for scale in scales]
    return np.array(columns, dtype=np.float64).T / unit, np.array(variances)


@together("given", LAWS)
def test_the_law_of_every_step_and_interval_is_that_of_the_code(given: dict[str, Any]) -> None:
    recipe = place(**given)
    rows, variances = noise_rows(recipe)
    for before in range(recipe.horizon):
        for t in range(before + 1, recipe.horizon + 1):
            std = math.sqrt((rows[t] - rows[before]) ** 2 @ variances)
            assert recipe.error.between(before, t).std == pytest.approx(std)
    worst = 0.0
    for t in range(1, recipe.horizon + 1):
        variance = rows[t] ** 2 @ variances
        worst = max(worst, variance)
        whole = set(np.unique(rows[t])) <= {0.0, 1.0}
        assert recipe.error.std(t) ** 2 == pytest.approx(variance + (0 if whole else 1 / 12))
    assert recipe.error.worst_std**2 == pytest.approx(worst + recipe.error.rounding)
    assert recipe.error.between(3, 3).std == 0


def test_the_error_after_announcements_bounds_that_of_any_times() -> None:
    recipe = place(horizon=12, radices=(2, 3, 2), rungs=(9, 4, 6), intrusions="announced")
    error = recipe.error_after(2)
    for told in ((0, 1), (2, 3), (5, 9), (11, 11), (0, 6), (7, 8)):
        rows, variances = noise_rows(recipe, told)
        for t in range(1, 13):
            assert rows[t] ** 2 @ variances <= error.std(t) ** 2
            difference = rows[t] - rows[t // 2]
            assert difference**2 @ variances <= error.between(t // 2, t).std ** 2 + 1e-9
    assert error.std(5) > recipe.error.std(5)


def tail(rows: NDArray[np.float64], recipe: PanPrivatePlaceCounter, x: int) -> float:
    """P(|noise| > x) of a release, by convolution of all its noises in units of the resolution."""
    tape = Tape()
    recipe.start(tape).feed([0] * recipe.horizon)
    unit, reach = recipe.resolution, 60
    size = 2 * reach * unit
    at = np.fft.fftfreq(size) * 2 * math.pi
    transform = np.ones(size)
    for weight, draw in zip(rows, tape.draws, strict=True):
        assert isinstance(draw.scale, Fraction)
        half = math.sinh(0.5 / float(draw.scale)) ** 2
        transform /= 1 + np.sin(weight * unit * at / 2) ** 2 / half
    law = np.fft.ifft(transform).real
    places = np.fft.fftfreq(size) * size / unit
    return float(law[np.abs(np.floor(places + 0.5)) > x].sum())


@pytest.mark.parametrize("epsilon", [1, 3])
def test_bounds_are_right_and_close(epsilon: int) -> None:
    recipe = place(epsilon=epsilon, horizon=12, radices=(3, 4), rungs=(10, 8, 5))
    rows, _ = noise_rows(recipe)
    for t in (2, 3, 7, 11, 12):
        for beta in (0.3, 0.05, 0.001):
            bound = int(recipe.error.bound(t, beta))
            assert tail(rows[t], recipe, bound) <= beta
            assert tail(rows[t], recipe, max(0, math.floor(0.93 * bound) - 2)) > beta


def test_noises_put_together_have_the_same_variance_and_no_lighter_tail() -> None:
    # the logarithm of E exp(h Y), for every scale and up to the pole
    for scale in (0.05, 0.2, 0.5, 1.0, 1.5, 3.0, 20.0):
        size, variance = size_of(scale), variance_of(scale)
        for part in (0.05, 0.2, 0.5, 0.8, 0.95):
            h = part / size
            ratio = math.sinh(h / 2) / math.sinh(0.5 / scale)
            true = -math.log1p(-(ratio**2))
            assert -variance / (2 * size**2) * math.log1p(-((h * size) ** 2)) >= true
    many = [Spectrum.of(scale, 1, smooth=True) for scale in (3.0, 3.01, 3.3, 8.0)]
    assert Spectrum.joined(many).variance == pytest.approx(sum(one.variance for one in many))
    assert LaplaceMixture(Spectrum.joined(many).parts).std == pytest.approx(
        math.sqrt(sum(one.variance for one in many)), rel=1e-5
    )


def test_the_measured_deviation_is_the_stated_one() -> None:
    # 20,000 counters, 100 steps; the deviation of a mean square is below 1.1% of it at each step,
    # and 5 of those are below 6%: false alarm below 1e-4 for all steps together
    recipe = place(horizon=100, width=20_000)
    released = recipe.start(System.direct()).feed(np.zeros((100, 20_000), dtype=np.int64))
    measured = (released.astype(np.float64) ** 2).mean(axis=1)
    assert measured == pytest.approx([recipe.error.std(t) ** 2 for t in range(1, 101)], rel=0.06)


def mean_std(recipe: PanPrivatePlaceCounter) -> float:
    """The root of the mean variance over the horizon."""
    return math.sqrt(laws_of(recipe.shape, recipe.scale).total / recipe.horizon + 1 / 12)


@pytest.mark.parametrize(("horizon", "ratio"), [(2**10, 0.395), (2**16, 0.407), (2**20, 0.412)])
def test_the_frontier_is_reached(horizon: int, ratio: float) -> None:
    recipe = place(horizon=horizon)
    figure = PanPrivateCounter(epsilon=1, horizon=horizon).error.std(1)
    assert mean_std(recipe) <= 1.01 * ratio * figure
    assert mean_std(recipe) < 0.93 * tree_std(PanPrivateTreeCounter(epsilon=1, horizon=horizon))


@pytest.mark.parametrize("horizon", [5, 12, 30])
def test_the_total_is_that_of_every_step(horizon: int) -> None:
    shape = best_rungs(horizon, (2, 3, -(-horizon // 6)))
    recipe = place(epsilon="1/1000", horizon=horizon, radices=shape.radices, rungs=shape.rungs)
    variances = [recipe.error.std(t) ** 2 for t in range(1, horizon + 1)]
    assert 1e6 * total_variance(shape) == pytest.approx(sum(variances), rel=1e-5)
    assert laws_of(shape, recipe.scale).total == pytest.approx(sum(variances), rel=1e-5)


def test_no_rung_near_the_chosen_ones_is_better() -> None:
    shape = best_shape(200)
    best = total_variance(shape)
    for i, step in product(range(len(shape.rungs)), (-1, 1)):
        rungs = list(shape.rungs)
        rungs[i] = max(0, rungs[i] + step)
        other = PlaceShape(200, shape.radices, tuple(rungs))
        assert total_variance(other) > 0.9995 * best


def test_the_worst_step_is_found_by_its_digits() -> None:
    recipe = place(horizon=1024)
    worst = max(recipe.error.std(t) for t in range(1, 1025))
    assert worst_of(recipe, 1024, [1, 500, 1024]) == pytest.approx(worst)
    assert recipe.error.worst_std == pytest.approx(worst)


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


# The recipe ----------------------------------------------------------------------------------


def test_every_event_spends_all_of_epsilon() -> None:
    for horizon in (1, 64, 365, 2**20):
        shape = best_shape(horizon)
        paths = {0: Fraction(0)}  # what was spent above, by the rung that is left
        for level in range(shape.levels - 1, -1, -1):
            spent: dict[int, Fraction] = {}
            for rung, above in paths.items():
                for at in range(shape.radices[level]):
                    total = above + shape.share(level, rung, at)
                    assert spent.setdefault(shape.below(level, rung, at), total) == total
            paths = spent
        assert set(paths.values()) == {Fraction(1)}
    assert all(one > other for one, other in pairwise(LADDER))


@pytest.mark.parametrize(
    "given",
    [
        {"radices": (2, 2)},
        {"rungs": (3,)},
        {"radices": (), "rungs": ()},
        {"radices": (2, 3), "rungs": (3, 3)},  # 6 steps
        {"radices": (3, 4), "rungs": (3, 3, 3)},  # the last node would be empty
        {"radices": (3, 3), "rungs": (3,)},
        {"radices": (3, 3), "rungs": (3, 3, 0)},
        {"radices": (3, 3), "rungs": (-1, 3)},
        {"radices": (3, 3), "rungs": (LAST + 1, 3)},
        {"radices": (2, 2, 2), "rungs": (60, 60)},
        {"radices": (1, 8), "rungs": (3,) * 7},
    ],
    ids=str,
)
def test_shapes_that_do_not_fit_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        place(horizon=8, **given)


def test_noise_that_does_not_fit_into_64_bits_is_refused_and_the_tree_is_chosen() -> None:
    with pytest.raises(BadInput, match="64 bits"):
        place(epsilon="1e-9", horizon=2**20)
    span = Span(window=None, horizon=2**20)
    asked: dict[str, Any] = {"width": 1, "intrusions": Intrusions.ONE}
    assert isinstance(chosen(span, epsilon=Fraction(1), **asked), PanPrivatePlaceCounter)
    small = chosen(span, epsilon=Fraction(1, 10**9), **asked)
    assert isinstance(small, PanPrivateTreeCounter)
    assert small.epsilon == Fraction(1, 10**9)


def test_the_recipe_keeps_its_shape() -> None:
    recipe = place(horizon=1000)
    text = recipe.to_json()
    assert recipe_from_json(text) == recipe
    assert '"radices":[10,10,10]' in text
    assert recipe.memory == 9


def test_extreme_parameters() -> None:
    for given in (
        {"epsilon": 1000, "horizon": 100},
        {"epsilon": "1e-6", "horizon": 100, "contributions": 100, "bound": 1000},
        {"epsilon": 1, "horizon": 2**40},
    ):
        recipe = place(**given)
        run = recipe.start(System.direct())
        run.feed([1] * 30)
        assert recipe.error.std(recipe.horizon) >= 0
        assert recipe.error.bound(recipe.horizon // 2, 0.05) >= 0
        assert recipe.error.bound_all(recipe.horizon, 0.05) >= recipe.error.bound(1, 0.05)
