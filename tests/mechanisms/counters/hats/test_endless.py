"""Hats without an end: the identity of the proof on the code, resumed runs, planted mistakes."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.audit import exact_loss
from ameles.audit.finding import Verdict
from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.measures.counter_choice import Span, chosen
from ameles.mechanisms.catalogue import recipe_from_json
from ameles.mechanisms.counters.hats import cells as hats_cells
from ameles.mechanisms.counters.hats.counter import HatsCounter
from ameles.mechanisms.counters.hats.endless import EndlessHatsCounter
from ameles.mechanisms.counters.hats.endless_first import FirstEndlessShape, cube_root
from ameles.mechanisms.counters.hats.endless_process import EndlessProcess
from ameles.mechanisms.counters.hats.endless_shape import EndlessShape, pieces_of
from ameles.mechanisms.counters.summed import Process
from ameles.noise import Tape, Zero
from ameles.noise.arrays import IntArray
from tests.mechanisms.counters.hats.endless_identity import FEW, MANY, check_identity
from tests.mechanisms.counters.twins import scattered

USUAL, FIRST = EndlessShape(), FirstEndlessShape()


@pytest.mark.parametrize(
    "shape",
    [USUAL, EndlessShape(**FEW), EndlessShape(**MANY), EndlessShape(**FEW, longest=32), FIRST],
    ids=["usual", "few", "many", "short", "first"],
)
def test_noise_that_follows_the_hats_hides_every_item(shape: EndlessShape) -> None:
    # a run does not know how long it will be, so this is the identity of all shorter ones, too
    check_identity(shape, 300)
    for steps in (1, 2, 25, 73):
        check_identity(shape, steps)


@pytest.mark.parametrize(
    ("shape", "knot"),
    [(USUAL, 1320), (USUAL, 2856), (USUAL, 21_288), (FIRST, 1032)],
    ids=["1320", "2856", "21288", "first"],
)
def test_the_same_around_knots_of_the_top_level(shape: EndlessShape, knot: int) -> None:
    span = shape.stretch(shape.number(knot - 1)).spans[-1]
    near = np.array([0, 71, 72, knot - span - 1, knot - span, knot - 17, knot - 1, knot, knot + 1])
    check_identity(shape, knot + span + 20, near)


@pytest.mark.parametrize(
    ("horizon", "given"),
    [
        (20, {}),
        (24, {}),
        (7, MANY),
        (8, MANY),
        (16, {"law": 1}),
        (8, {**MANY, "law": 1}),
    ],
)
def test_the_audit_finds_the_loss_exactly(horizon: int, given: dict[str, Any]) -> None:
    found = exact_loss(EndlessHatsCounter(epsilon=1, horizon=horizon, **given))
    assert found.verdict is Verdict.CERTIFIED
    assert found.exact == 1


def test_the_linear_program_finds_no_larger_loss_after_births() -> None:
    # its own shifts are not whole here; the one of the theorem is, see ``check_identity``
    found = exact_loss(EndlessHatsCounter(epsilon=1, horizon=12, **MANY))
    assert found.verdict is not Verdict.REFUTED
    assert 0.999 < found.lower <= 1


@pytest.mark.parametrize("kind", [EndlessShape, FirstEndlessShape])
@pytest.mark.parametrize(
    "given",
    [{}, FEW, MANY, {**FEW, "longest": 32}, *({"longest": 48 << more} for more in range(1, 8))],
    ids=str,
)
def test_no_item_ever_spends_more_than_epsilon(
    kind: type[EndlessShape], given: dict[str, Any]
) -> None:
    shape = kind(**given)
    assert shape.spent == 1
    # from the usual stretch on, all is the same: shares, pieces, levels
    usual, later = (pieces_of(shape, shape.usual + more) for more in (0, 1000))
    for one, other in zip(usual, later, strict=True):
        assert one.shares == other.shares
        assert other.end - other.start == one.end - one.start
    assert shape.knot_share(shape.usual - 1) == shape.knot_share(shape.usual + 1000)
    for level in range(shape.levels):
        starts = (shape.stretch(shape.usual + more).start for more in (0, 1, 1000))
        assert len({shape.share(level, start) for start in starts}) == 1
    assert not any(shape.born(shape.usual + more) for more in range(5))


@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize(
    "given", [{}, FEW, MANY, {"law": 1}], ids=["usual", "few", "many", "first"]
)
def test_steps_and_bulk_and_resumed_runs_have_the_same_noise(
    width: int, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, steps = EndlessHatsCounter(epsilon=1, width=width, **given), 280
    tape = Tape(scattered(1000 * width, 10**6))
    expected = recipe.process(tape, None).take(steps).tolist()
    monkeypatch.setattr(hats_cells, "TOGETHER", 30)
    process = recipe.process(Tape(tape.values), None)
    taken: list[list[int]] = []
    for end in (1, 2, 9, 10, 31, 32, 33, 72, 73, 120, 168, 169, 264, 265, steps):
        taken += process.take(end - len(taken)).tolist()
    assert taken == expected
    rest, one = Tape(tape.values), recipe.process(Zero(), None)
    for step in range(steps):
        one = recipe.process(rest, one.state())
        assert one.take(1).tolist() == [expected[step]]
        assert len(one.state()) + width * (1 + recipe.ahead) <= recipe.memory + width


def test_runs_that_are_copied_go_on_alike() -> None:
    recipe = EndlessHatsCounter(epsilon=1, **FEW)
    values = scattered(2000, 10**6)
    for cut in (0, 3, 10, 11, 58, 59, 70):
        process = recipe.process(Tape(values), None)
        process.take(cut)
        other = copy.deepcopy(process)
        assert process.take(100).tolist() == other.take(100).tolist()


class Genuine(Tape):
    """A tape that says it is the operating system's noise."""

    genuine = True


def test_noise_of_the_system_has_the_same_scales_in_another_order() -> None:
    for recipe in (EndlessHatsCounter(epsilon=1), EndlessHatsCounter(epsilon=1, **FEW)):
        tapes = Tape(), Genuine()
        for tape in tapes:
            recipe.process(tape, None).take(1500)
        scales = [Counter(str(draw.scale) for draw in tape.draws) for tape in tapes]
        assert scales[0] == scales[1]


# Planted mistakes ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Generous(EndlessShape):
    """Nodes have more than their share once a level has been born."""

    def share(self, level: int, place: int) -> Fraction:
        return super().share(level, place) * (Fraction(5, 4) if place >= self.births[1] else 1)


@dataclass(frozen=True)
class Greedy(EndlessShape):
    """A level that is born has more than what was paid for it."""

    def _new_share(self, number: int) -> Fraction:
        return super()._new_share(number) * 2


class Careless(EndlessProcess):
    """The cell of the top level grows, and what waits for its next hat grows twice as much."""

    def _raise_top(self, nodes: IntArray, present: IntArray) -> None:
        if self._number:
            self._levels[-1].sums[3] *= 2
        super()._raise_top(nodes, present)


class Rootless(EndlessProcess):
    """The first hat of a level has the weights of another one on the level below."""

    def _prepare(self) -> IntArray:
        nodes = super()._prepare()
        if self._unborn:
            self._unborn.sums[2] += self._unborn.sums[3]
        return nodes


class Untied(EndlessProcess):
    """A level is used before its birth, in place of the one below."""

    def _turn(self) -> None:
        super()._turn()
        if self._unborn and self._number > 1:
            self._levels[-1].sums[2] += self._unborn.waiting.sum(axis=0)


@pytest.mark.parametrize("broken", [Careless, Rootless, Untied])
def test_processes_whose_residuals_have_data_in_them_are_caught(
    broken: type[EndlessProcess],
) -> None:
    check_identity(EndlessShape(**MANY), 40)
    with pytest.raises(AssertionError):
        check_identity(EndlessShape(**MANY), 40, kind=broken)


@dataclass(frozen=True, kw_only=True)
class Unscaled(EndlessHatsCounter):
    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return Careless(noise, self.shape, self.scale, self.columns, state)


@dataclass(frozen=True, kw_only=True)
class Overspent(EndlessHatsCounter):
    def process(self, noise: Noise, state: IntArray | None) -> Process:
        shape = Generous(**MANY, longest=self.shape.longest)
        return EndlessProcess(noise, shape, self.scale, self.columns, state)


@pytest.mark.parametrize("kind", [Unscaled, Overspent])
def test_planted_mistakes_are_caught_by_the_audit(kind: type[EndlessHatsCounter]) -> None:
    assert exact_loss(kind(epsilon=1, horizon=10, **MANY)).verdict is Verdict.REFUTED


def test_shares_that_add_up_to_more_are_noticed() -> None:
    with pytest.raises(AssertionError):
        check_identity(Generous(**MANY), 40)
    greedy = Greedy(**MANY)
    assert greedy.spent > 1
    recipe = EndlessHatsCounter(epsilon=1, **MANY)
    recipe.__dict__["shape"] = greedy
    with pytest.raises(BadInput, match="add up to more"):
        recipe.__post_init__()


# Limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"radix": 6},
        {"growth": 3},
        {"growth": (2, 3)},
        {"growth": ()},
        {"growth": 32},
        {"cell": 50, "most": 40},
        {"cell": 96, "most": 8, "radix": 4, "growth": 4},  # two levels at the first knot
    ],
    ids=str,
)
def test_shapes_that_are_none_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="not those of a Hats counter without an end"):
        EndlessHatsCounter(epsilon=1, **wrong)


@pytest.mark.parametrize("epsilon", ["1e-5", "1e-3", 1, 20, 1000])
def test_cells_stop_growing_where_noise_would_not_fit(epsilon: Any) -> None:
    recipe = EndlessHatsCounter(epsilon=epsilon)
    assert recipe.shape.longest * recipe.scale <= 1 << 50
    assert recipe.shape.longest >= 1 << 30
    assert recipe.resolution * recipe.error.std(1 << 40) < 1 << 56
    low, high = recipe.scales
    assert recipe.scale <= low < high < 20 * recipe.scale
    assert recipe_from_json(recipe.to_json()) == recipe


def test_noise_that_does_not_fit_is_refused() -> None:
    with pytest.raises(BadInput, match="64 bits"):
        EndlessHatsCounter(epsilon="1e-7")
    with pytest.raises(BadInput, match="64 bits"):
        EndlessHatsCounter(epsilon=1, contributions=10, bound=10**7)


def test_plans_with_very_large_noise_get_another_counter() -> None:
    span = Span(window=None, horizon=None)
    for bound, name in ((1000, "EndlessHatsCounter"), (10**6, "HybridCounter")):
        recipe = chosen(span, epsilon=Fraction(1, 10), width=2, bound=bound)
        assert type(recipe).__name__ == name
        assert (recipe.bound, recipe.width, recipe.guarantee.horizon) == (bound, 2, None)


def test_residuals_of_long_cells_are_rounded_and_nothing_else_is() -> None:
    shape = EndlessHatsCounter(epsilon=1).shape
    assert shape.shift(9) == 18
    assert {shape.unit(number) for number in range(12, 40)} == {3 << 18}
    for number in range(40):
        for level, span in enumerate(shape.stretch(number).spans):
            assert shape.unit(number) % (span >> shape.shift(level)) == 0
            assert span % (1 << shape.shift(level)) == 0


def test_cube_roots_are_exact() -> None:
    for number in (Fraction(1), Fraction(27, 8), Fraction(10**30), Fraction(1, 10**9), Fraction(2)):
        root = cube_root(number)
        assert root**3 <= number * 10**9 < (root + 1) ** 3


@pytest.mark.parametrize("given", [{}, FEW, MANY, {"horizon": 100}], ids=str)
def test_the_memory_is_never_exceeded(given: dict[str, Any]) -> None:
    recipe = EndlessHatsCounter(epsilon=1, width=3, **given)
    run = recipe.start(Zero())
    held = 0
    for _ in range(20):
        run.feed([[1, 1, 1]] * (5 if given.get("horizon") else 67))
        held = max(held, sum(part.size for part in run._parts()))
    assert held + 3 * recipe.ahead <= recipe.memory


def test_the_noise_of_the_top_level_has_the_scale_of_its_own_epsilon() -> None:
    """Scales are remembered; those of another recipe must not be taken for them."""
    scales = []
    for epsilon in (2, 1):
        tape = Tape()
        EndlessHatsCounter(epsilon=epsilon).start(tape).feed([0] * 200)
        scales.append([draw.scale for draw in tape.draws])
    assert scales[1] == [2 * scale for scale in scales[0] if isinstance(scale, Fraction)]


def test_the_bound_of_all_steps_holds_where_cells_change_within_a_block() -> None:
    # as computed before blocks without such a change were told apart
    assert EndlessHatsCounter(epsilon=1).error.bound_all(200, 0.05) == 34
    assert HatsCounter(epsilon=1, horizon=100).error.bound_all(100, 0.05) == 22
