"""Bounds that are chosen: by the best score, at a stated price, and never from what must not be."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors.files.identity import ChangedMeanwhile
from ameles.core.exceptions import BadInput, PlanError
from ameles.core.guarantee import USER, Neighbours
from ameles.core.loss import Pure
from ameles.engine.private_bounds import choose
from ameles.engine.private_bounds.choose import BETA, bounds_question
from ameles.engine.private_bounds.clipped import clipped_amounts
from ameles.engine.private_bounds.noise_cost import SCALE
from ameles.ledger import Ledger
from ameles.noise import Zero
from ameles.plan.plan import read_plan_text
from ameles.query.account import LedgerAccount
from tests.engine.worlds import COUNT, EVENT, World, row

from .choices import MEAN, NOW, SUM, USERS, WINDOWS, question, scores, world_of

CROWD = [
    row(at, f"user-{n}", amount=3, hour=hour)
    for n in range(400)
    for at in (1, 2)
    for hour in (9, 17)
]


def account(cap: str = "1", noise: Any = None) -> LedgerAccount:
    relation = Neighbours.USER_PRESENCE
    return LedgerAccount(
        Ledger("people", cap=Pure(cap), unit=USER, neighbours=relation, noise=noise or Zero())
    )


def chosen(world: World, **more: Any) -> dict[str, str]:
    answer = question(world, **more).ask(account(), None)
    return {line.key[0]: str(line.value) for line in answer.rows}


def test_without_noise_the_best_candidates_are_chosen(tmp_path: Path) -> None:
    world = world_of(tmp_path).write(CROWD)
    # everybody comes on two days, twice a day, and spends 3
    assert chosen(world) == {
        "max_per_step": "2",
        "max_steps": "2",
        "spent.lower": "-1/2",
        "spent.upper": "5",
    }
    assert chosen(world_of(tmp_path)) == {
        "max_per_step": "1",
        "max_steps": "1",
        "spent.lower": "-1/2",
        "spent.upper": "1/2",
    }, "nobody is left out, so the least noise is best"


def test_the_recipe_says_what_is_promised(tmp_path: Path) -> None:
    asked = question(world_of(tmp_path), epsilon="0.1")
    promise = asked.recipe.guarantee
    assert (promise.loss, promise.unit) == (Pure("0.1"), USER)
    assert promise.neighbours is Neighbours.USER_PRESENCE
    assert asked.share == Fraction(1, 40)
    assert asked.epsilon == Fraction(1, 10)
    assert asked.recipe.sensitivities == (4 * SCALE, 7 * SCALE, 9 * SCALE, 39 * SCALE)
    assert asked.recipe.monotone
    events = question(world_of(tmp_path, SUM, EVENT)).recipe
    assert (events.neighbours, events.unit) == (Neighbours.ADD_REMOVE, "event")
    windows = world_of(tmp_path, COUNT, WINDOWS)
    assert question(windows).recipe.unit == windows.plan.unit.tag


def test_it_says_how_much_worse_a_choice_may_be(tmp_path: Path) -> None:
    asked = question(world_of(tmp_path))
    for step, bound in enumerate(asked.bounds, start=1):
        points = asked.recipe.choice(step).error.bound(1, BETA)
        assert asked.worse(bound) == Fraction(int(points), SCALE) * bound.unit


def test_all_choices_are_one_payment(tmp_path: Path) -> None:
    world = world_of(tmp_path).write(CROWD)
    payer = account("0.6")
    question(world, epsilon="0.5").ask(payer, None)
    assert payer.left == Pure("0.1")
    read = []

    def look(*_: Any) -> Any:
        read.append(1)

    asked = question(world, epsilon="0.5")
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr(choose, "_clipped", look)
        with pytest.raises(Exception, match=r"needs epsilon 0\.5"):
            asked.ask(payer, None)
    assert not read, "nothing is read that is not paid for"
    assert payer.left == Pure("0.1")


def test_the_same_version_is_free_and_anything_else_is_another_question(tmp_path: Path) -> None:
    world = world_of(tmp_path).write(CROWD)
    payer = account("5")
    first = question(world, epsilon="0.5").ask(payer, "v1")
    world.write(CROWD[:100])  # the label decides, not what is in the file
    again = question(world, epsilon="0.5").ask(payer, "v1")
    assert again.repeated
    assert (again.rows, again.entry) == (first.rows, first.entry)
    assert payer.left == Pure("4.5")
    two = [Fraction(1), Fraction(2)]
    others = [
        (question(world, epsilon="0.25"), "v1"),
        (question(world, {"max_steps": two}, epsilon="0.5"), "v1"),
        (question(world, epsilon="0.5"), "v2"),
        (question(world_of(tmp_path, COUNT), epsilon="0.5"), "v1"),
    ]
    assert not any(asked.ask(payer, version).repeated for asked, version in others)


def test_the_question_is_public(tmp_path: Path) -> None:
    world = world_of(tmp_path).write([row(1, "canary-user", amount=8_675_309)])
    asked = question(world)
    bought = asked.purchase("v1")
    told = json.loads(bought.question)
    assert told["asked"] == "bounds"
    assert "canary" not in bought.question + repr(asked) + repr(bought)
    assert (bought.on, bought.version) == ("s/bounds", "v1")
    assert bought.question == question(world_of(tmp_path)).purchase("v1").question


def test_a_single_candidate_is_not_chosen(tmp_path: Path) -> None:
    grids = {"max_steps": [Fraction(3)], "spent.upper": [Fraction(3)]}
    asked = question(world_of(tmp_path), grids)
    assert [bound.label for bound in asked.bounds] == ["max_per_step", "spent.lower"]
    assert asked.widest.privacy.max_steps == 3, "and is in force for the others"
    assert asked.idle == ()


def test_a_bound_that_costs_no_noise_stays_and_is_named(tmp_path: Path) -> None:
    grids = {"spent.upper": [Fraction(7)]}  # further from zero than every lower bound
    asked = question(world_of(tmp_path), grids)
    assert [bound.label for bound in asked.bounds] == ["max_per_step", "max_steps"]
    assert [bound.label for bound in asked.idle] == ["spent.lower"]


def test_values_are_cut_at_the_widest_candidates_of_the_grid(tmp_path: Path) -> None:
    world = world_of(tmp_path, SUM, EVENT)
    asked = question(world, {"spent.upper": [Fraction(50), Fraction(10)]})
    (upper,) = [place for place, one in enumerate(asked.bounds) if one.name == "upper"]
    none = scores(world, asked, [])[upper]
    some = scores(world, asked, [row(1, amount=40), row(1, amount=1e9)])[upper]
    # in half units: 40 is 60 beyond 10, and 50 is 80 beyond
    assert [a - b for a, b in zip(none, some, strict=True)] == [140 * SCALE, 0]


@pytest.mark.parametrize(
    ("releases", "unit", "told"),
    [
        (COUNT, EVENT, "no bounds to choose"),
        (COUNT, USERS.replace("5", "1").replace("8", "1"), "one candidate only"),
        ('[[release]]\nname = "people"\nmeasure = "distinct"\n', USERS, "noise of no release"),
    ],
)
def test_where_there_is_nothing_to_choose_it_says_so(
    releases: str, unit: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(PlanError, match=told):
        question(world_of(tmp_path, releases, unit))


def passing(folder: Path, privacy: str, stream: str = "") -> World:
    world = world_of(folder, COUNT)
    world.text = (
        world.text.replace('"events.csv"', '"-"').replace(USERS, privacy).replace('time = "at"', "")
    )
    return world


def test_pan_private_plans_and_passing_sources_are_refused(tmp_path: Path) -> None:
    sealed = passing(tmp_path, 'unit = "event"\nintrusions = "one"')
    with pytest.raises(PlanError, match="pan-private"):
        bounds_question(read_plan_text(sealed.text, tmp_path), epsilon="0.1", now=NOW)
    with pytest.raises(PlanError, match="can be read once only"):
        question(passing(tmp_path, USERS))


def test_a_source_without_the_columns_is_refused_before_anything_is_paid(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.file.write_text("at,region\n", encoding="utf-8")
    with pytest.raises(PlanError, match="has no column"):
        question(world)


def test_bounds_that_no_mechanism_can_have_are_refused_before_anything_is_paid(
    tmp_path: Path,
) -> None:
    with pytest.raises(PlanError, match="more than the 8 steps"):
        question(world_of(tmp_path), {"max_steps": [Fraction(1), Fraction(9)]})
    for epsilon in ("0", "-1", "x", "5000"):
        with pytest.raises(BadInput):
            question(world_of(tmp_path), epsilon=epsilon)


def test_a_file_that_changes_meanwhile_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_of(tmp_path, MEAN).write(CROWD)
    asked = question(world)
    whole, left = asked.scores(), [2]
    real = clipped_amounts

    def moving(*given: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise ChangedMeanwhile("it changed")
        return real(*given)

    monkeypatch.setattr(choose, "clipped_amounts", moving)
    assert asked.scores() == whole
    left[0] = 1000
    with pytest.raises(ChangedMeanwhile):
        asked.scores()
