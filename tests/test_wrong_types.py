"""Wrong types at the public names: refusals that say what to give, no errors from the depths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from typing import Any

import pytest

import ameles
from ameles import EVENT, AmelesError, BadInput, Ledger, Neighbours, Pure, StoreRefused, counter
from ameles.core.parameters import Switch
from ameles.ledger.arguments import check_recipe
from ameles.noise import System
from tests.recipe_checks import Sample
from tests.samples import SAMPLES

WRONG: tuple[Any, ...] = (None, "text", -1, 2.5, b"x", [], {}, object(), Pure(1), Ledger, 10**60)
RECIPE: Any = ameles.SimpleTwoCounter(epsilon="1/100")
TERMS: dict[str, Any] = {
    "population": "visitors",
    "cap": Pure(1),
    "unit": EVENT,
    "neighbours": Neighbours.ADD_REMOVE,
}


def refused_or_taken(call: Callable[[], object]) -> AmelesError | None:
    """The refusal, if there is one; any other error fails the test."""
    try:
        call()
    except AmelesError as refusal:
        return refusal
    return None


@pytest.mark.parametrize("delta", [2, 1, -1, "1.5", 1.0, float("nan"), None, "much"])
@pytest.mark.parametrize("intrusions", ["none", "one"])
def test_a_delta_is_a_probability(delta: Any, intrusions: str) -> None:
    with pytest.raises(BadInput, match="'delta'"):
        counter(epsilon=1, delta=delta, horizon=8, intrusions=intrusions)


@pytest.mark.parametrize(
    ("name", "value", "tip"),
    [
        ("cap", 1, "Pure(1)"),
        ("cap", "1", "Pure(1)"),
        ("unit", "event", "unit=EVENT"),
        ("unit", None, "unit=EVENT"),
        ("neighbours", "add-remove", "Neighbours.ADD_REMOVE"),
        ("neighbours", EVENT, "Neighbours.ADD_REMOVE"),
        ("population", 3, ""),
    ],
)
def test_a_ledger_says_what_it_is_opened_with(name: str, value: Any, tip: str) -> None:
    with pytest.raises(BadInput) as caught:
        Ledger(**{**TERMS, name: value})
    assert tip in caught.value.tip


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: type(wrong).__name__)
def test_a_ledger_sells_and_resumes_recipes_only(wrong: Any) -> None:
    ledger = Ledger(**TERMS)
    run = ledger.start(RECIPE, on="x", why="y")
    spent = ledger.spent
    calls: list[Callable[[], object]] = [
        lambda: ledger.start(wrong, on="x", why="y"),
        lambda: ledger.launch({"a": wrong}, on="x", why="y"),
        lambda: ledger.launch(wrong, on="x", why="y"),
        lambda: ledger.prices({"a": wrong}),
        lambda: ledger.resume(wrong, run.snapshot()),
        lambda: ledger.resume(RECIPE, wrong),
        lambda: ledger.scaled(wrong),
        lambda: ledger.partition(["a"], of=wrong),
    ]
    for call in calls:
        assert isinstance(refused_or_taken(call), BadInput | StoreRefused)
    for call in (
        lambda: ledger.child("c", cap=wrong),
        lambda: ledger.partition([wrong], of=EVENT),
        lambda: ledger.partition(wrong, of=EVENT),
        lambda: ledger.renew(wrong, why="y"),
        lambda: ledger.renew_budget(wrong, Pure(1), why="y"),
    ):
        refused_or_taken(call)
    assert ledger.spent == spent
    run.step(1)


@pytest.mark.parametrize("name", ["on", "why"])
@pytest.mark.parametrize("wrong", [None, 3, b"x", EVENT])
def test_what_the_ledger_writes_is_text(name: str, wrong: Any) -> None:
    ledger = Ledger(**TERMS)
    for buy in (ledger.start, ledger.launch):
        goods: Any = RECIPE if buy == ledger.start else {"a": RECIPE}
        with pytest.raises(BadInput, match=f"'{name}' parameter must be text"):
            buy(goods, **{"on": "x", "why": "y", name: wrong})
    assert ledger.entries == ()


def test_an_estimator_is_bought_inside_of_something() -> None:
    with pytest.raises(BadInput, match="ExactDistinct cannot be bought by itself"):
        check_recipe(ameles.ExactDistinct(users=9))
    with pytest.raises(BadInput, match="Got the class SimpleTwoCounter"):
        check_recipe(ameles.SimpleTwoCounter)


# The values among WRONG that are right for a field; for any other field each must be refused.
TAKEN: dict[Any, set[str]] = {
    None: {  # there is none, or the recipe chooses
        "arity",
        "block",
        "buy",
        "delta",
        "drop_after",
        "epsilon",
        "growth",
        "horizon",
        "looks",
        "max_per_key",
        "odds",
        "rho",
        "sensitivity",
        "squared_sensitivity",
        "weights",
        "width",
    },
    2.5: {
        "answer_epsilon",
        "budget",
        "epsilon",
        "epsilon_output",
        "epsilon_state",
        "granularity",
        "odds",
        "payment_epsilon",
        "query_epsilon",
        "rate",
        "rho",
        "sensitivity",
        "threshold_epsilon",
    },
    -1: {"threshold"},
}
# Where only some recipes with a field of this name take the value.
ONLY: dict[tuple[str, Any], set[str]] = {
    ("delta", None): {"GaussianMechanism", "GradientCounter", "ProjectedQueries", "SecondMoments"},
    ("epsilon", None): {"GaussianMechanism", "GradientCounter", "PeeledTopK", "UnaryEncoding"},
    ("sensitivity", None): {"GaussianMechanism"},
    ("sensitivity", 2.5): {"LaplaceMechanism"},
}


def may_take(recipe: Any, name: str, value: Any) -> bool:
    """Whether a recipe's field may take one of the wrong values."""
    if type(value) not in (type(None), float, int) or name not in TAKEN.get(value, set()):
        return False
    return type(recipe).__name__ in ONLY.get((name, value), {type(recipe).__name__})


def taken_by(sample: Sample) -> list[tuple[str, Any]]:
    """The fields of a recipe and the wrong values that they take."""
    return [
        (field.name, wrong)
        for field in fields(sample.recipe)
        for wrong in WRONG
        if field.init
        and refused_or_taken(partial(replace, sample.recipe, **{field.name: wrong})) is None
    ]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: type(sample.recipe).__name__)
def test_every_field_refuses_wrong_values(sample: Sample) -> None:
    assert [pair for pair in taken_by(sample) if not may_take(sample.recipe, *pair)] == []


def test_a_switch_that_takes_anything_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    [sample] = [one for one in SAMPLES if type(one.recipe).__name__ == "SparseVector"]
    monkeypatch.setattr(Switch, "check", lambda self, value: value)
    wrong = [pair for pair in taken_by(sample) if not may_take(sample.recipe, *pair)]
    assert ("monotone", "text") in wrong


def test_every_value_that_may_be_taken_is_taken_somewhere() -> None:
    listed = {(name, value) for value, names in TAKEN.items() for name in names}
    assert {pair for sample in SAMPLES for pair in taken_by(sample)} == listed


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: type(sample.recipe).__name__)
def test_every_recipe_refuses_wrong_noise_and_snapshots(sample: Sample) -> None:
    recipe = sample.recipe
    snapshot = recipe.start(System.direct()).snapshot()
    for wrong in WRONG:
        with pytest.raises(BadInput, match="source of noise"):
            recipe.start(wrong)
        with pytest.raises(BadInput, match="source of noise"):
            recipe.resume(snapshot, wrong)
        with pytest.raises(StoreRefused, match="not a snapshot"):
            recipe.resume(wrong, System.direct())
    for garbage in (b"", snapshot[:60], snapshot[:-1], b"AMELES\0S" + bytes(200), snapshot + b"x"):
        with pytest.raises(StoreRefused):
            recipe.resume(garbage, System.direct())


WITH_ERROR = [sample for sample in SAMPLES if hasattr(sample.recipe, "error")]


@pytest.mark.parametrize("sample", WITH_ERROR, ids=lambda sample: type(sample.recipe).__name__)
def test_an_error_says_what_a_step_and_a_beta_are(sample: Sample) -> None:
    """Digits of a step of -1 had no end, and other wrong ones were errors from the depths."""
    error: Any = sample.recipe.error
    for step in (*WRONG[:-1], 0, float("nan")):
        with pytest.raises(BadInput, match="'t' parameter must be an integer from 1 on"):
            error.bound(step, 0.05)
        with pytest.raises(BadInput, match="'t' parameter must be an integer from 1 on"):
            error.bound(beta=0.05, t=step)
        with pytest.raises(BadInput, match="'steps' parameter must be an integer from 1 on"):
            error.bound_all(step, 0.05)
        if hasattr(error, "std"):
            with pytest.raises(BadInput, match="'t' parameter must be an integer from 1 on"):
                error.std(step)
    for beta in (*WRONG, 0, 1, float("nan")):
        for method in (error.bound, error.bound_all):
            with pytest.raises(BadInput, match="'beta' parameter must be a probability"):
                method(1, beta)
            with pytest.raises(BadInput, match="'beta' parameter must be a probability"):
                method(1, beta=beta)
