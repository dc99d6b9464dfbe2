"""The record for registries says how bounds came about: chosen privately, or otherwise."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ameles.core.exceptions import BadInput
from ameles.engine.private_bounds import choose
from ameles.engine.private_bounds.account import plan_account
from ameles.engine.private_bounds.candidates import CandidateBound
from ameles.engine.running.plan_checks import mark_checked
from ameles.engine.running.registry_record import registered
from ameles.mechanisms.one_shot import ChoiceSeries
from ameles.plan.plan import Plan
from ameles.query.ending import AnswerRow
from tests.engine.private_bounds.choices import NOW, question
from tests.engine.private_bounds.paying import Died, ask, store_of, url, world_with
from tests.engine.worlds import World


def told(world: World) -> dict[str, Any]:
    """What the record for registries says about the bounds of each stream."""
    with store_of(world) as store, store.reading() as transaction:
        record = registered(transaction, "people", implementation="9.9", now=NOW)
    return {one["name"]: one.get("bounds") for one in record["deployments"]}


_OTHER = '{"asked": "count", "plan": {"stream": {"name": "s"}}}'


@pytest.fixture
def widest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Data by which the widest candidates are chosen, which are the plan's own bounds."""

    def clipped(plan: Plan, bounds: tuple[CandidateBound, ...], now: datetime) -> list[list[int]]:
        return [[10**15] * (len(bound.candidates) - 1) + [0] for bound in bounds]

    monkeypatch.setattr(choose, "_clipped", clipped)


@pytest.mark.usefixtures("widest")
def test_the_record_for_registries_says_that_bounds_were_chosen_privately(tmp_path: Path) -> None:
    world = world_with(tmp_path)
    ask(world)
    world.earnest(3)
    assert told(world) == {"s": "chosen privately"}


@pytest.mark.usefixtures("widest")
def test_after_a_look_it_says_that_somebody_looked(tmp_path: Path) -> None:
    world = world_with(tmp_path)
    ask(world)
    with store_of(world) as store, store.writing() as transaction:
        mark_checked(transaction, world.plan, datetime.now(UTC))
    world.earnest(3)
    assert told(world) == {"s": "after looking"}


@pytest.mark.usefixtures("widest")
@pytest.mark.parametrize(
    ("before", "after"),
    [("max_steps = 8", "max_steps = 7"), ("upper = 20", "upper = 19"), ('"spent"', '"paid"')],
)
def test_other_bounds_than_the_chosen_ones_were_declared(
    before: str, after: str, tmp_path: Path
) -> None:
    world = world_with(tmp_path)
    ask(world)
    world.text = world.text.replace(before, after)
    world.earnest(3)
    assert told(world) == {"s": "declared"}


def test_a_choice_that_failed_has_chosen_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise BadInput("It fails.")

    world = world_with(tmp_path)
    monkeypatch.setattr(choose, "_clipped", fail)
    with pytest.raises(BadInput, match="It fails"):
        ask(world)
    world.earnest(3)
    assert told(world) == {"s": "declared"}


@pytest.mark.usefixtures("widest")
def test_bounds_that_were_chosen_after_the_launch_do_not_count(tmp_path: Path) -> None:
    world = world_with(tmp_path)
    world.earnest(3)
    ask(world)
    assert told(world) == {"s": "declared"}


@pytest.mark.usefixtures("widest")
def test_bounds_of_another_stream_do_not_count(tmp_path: Path) -> None:
    world = world_with(tmp_path)
    world.text = world.text.replace('name = "s"', 'name = "t"')
    ask(world)
    world.text = world.text.replace('name = "t"', 'name = "s"')
    world.earnest(3)
    assert told(world) == {"t": None, "s": "declared"}


def test_an_unanswered_question_and_others_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_with(tmp_path)

    def die(*_: Any) -> None:
        raise Died

    monkeypatch.setattr(choose, "_clipped", die)
    with pytest.raises(Died):
        ask(world)
    with plan_account(world.plan, url(world), question(world).recipe) as account:
        for text in ("not JSON", "[]", '{"asked": "bounds"}', _OTHER):
            recipe = ChoiceSeries(
                epsilons=["0.01"],
                sensitivities=[1],
                candidates=[2],
                neighbours="user-presence",
                unit="user",
            )
            bought = replace(question(world).purchase(None), question=text, recipe=recipe)
            account.ask(bought, lambda run: (AnswerRow(value=run.step([1, 2])),))
    world.earnest(3)
    assert told(world) == {"s": "declared"}
