"""Guarantees: complete, said in words, and exactly what was stored or refused."""

from __future__ import annotations

import copy
import json
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import (
    EVENT,
    USER,
    Contribution,
    Guarantee,
    Intrusions,
    Neighbours,
    Norm,
    Unit,
    user_window,
)
from ameles.core.loss import Pure
from tests.core.guarantees import EVERY, GUARANTEE, event

from .transport import sent


def test_no_field_has_a_default() -> None:
    for each in fields(Guarantee):
        given_fields: dict[str, Any] = {
            other.name: getattr(GUARANTEE, other.name)
            for other in fields(Guarantee)
            if other.name != each.name
        }
        with pytest.raises(TypeError, match=each.name):
            Guarantee(**given_fields)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("loss", 1),
        ("loss", None),
        ("unit", "event"),
        ("neighbours", "step"),
        ("contribution", 1),
        ("horizon", 0),
        ("horizon", -1),
        ("horizon", True),
        ("horizon", 8.0),
        ("horizon", "8"),
        ("horizon", 2**40 + 1),
        ("intrusions", "none"),
        ("intrusions", Norm.L1),
    ],
)
def test_a_field_of_another_type_is_refused_by_name(name: str, value: Any) -> None:
    changed: dict[str, Any] = {name: value}
    with pytest.raises(BadInput, match=f"The '{name}' parameter must be"):
        replace(GUARANTEE, **changed)


@pytest.mark.parametrize(
    ("name", "value"),
    [("steps", 0), ("steps", 1.0), ("bound", -1), ("bound", None), ("norm", "L1")],
)
def test_a_contribution_is_checked(name: str, value: Any) -> None:
    changed: dict[str, Any] = {name: value}
    with pytest.raises(BadInput, match=f"The '{name}' parameter must be"):
        replace(GUARANTEE.contribution, **changed)


@pytest.mark.parametrize("kind", ["", "row", None, [], "user_window"])
def test_a_unit_is_one_of_three(kind: Any) -> None:
    with pytest.raises(BadInput, match="must be event, user or user-window"):
        Unit(kind)


@pytest.mark.parametrize(("kind", "window"), [("event", 7), ("user", 7), ("user-window", None)])
def test_a_window_goes_with_the_kind_that_has_one(kind: str, window: int | None) -> None:
    with pytest.raises(BadInput, match="'window' of a unit goes with") as refused:
        Unit(kind, window)
    assert refused.value.tip == "user_window(30)"


@pytest.mark.parametrize("length", [0, -1, 2.0, True, "7", 2**40 + 1])
def test_a_window_is_a_number_of_steps(length: Any) -> None:
    with pytest.raises(BadInput, match="The 'window' parameter must be a whole number"):
        user_window(length)


def test_integers_of_numpy_are_held_as_plain_ones_and_can_be_stored() -> None:
    seven: Any = np.int64(7)
    mixed = Guarantee(
        loss=Pure(1),
        unit=user_window(seven),
        neighbours=Neighbours.STEP,
        contribution=Contribution(steps=seven, bound=seven, norm=Norm.L1),
        horizon=seven,
        intrusions=Intrusions.NONE,
    )
    for held in (mixed.unit.window, mixed.contribution.steps, mixed.horizon):
        assert type(held) is int
    assert Guarantee.from_json(mixed.to_json()) == mixed


def test_json_alone_cannot_write_integers_of_numpy() -> None:
    # The planted alternative: what a field kept as given would do to the ledger.
    with pytest.raises(TypeError, match="int64"):
        json.dumps({"horizon": np.int64(7)})


def test_a_guarantee_is_frozen() -> None:
    writable: Any = GUARANTEE
    for each in fields(Guarantee):
        with pytest.raises(FrozenInstanceError):
            setattr(writable, each.name, None)


def test_a_guarantee_survives_copies_and_pipes() -> None:
    assert GUARANTEE == copy.copy(GUARANTEE) == copy.deepcopy(GUARANTEE) == sent(GUARANTEE)
    assert hash(GUARANTEE) == hash(sent(GUARANTEE))


@pytest.mark.parametrize(
    ("neighbours", "words"),
    [
        (Neighbours.ADD_REMOVE, "one event: added or removed, changing 1 step by at most 1 (L1)"),
        (Neighbours.REPLACE, "one event: replaced, changing 1 step by at most 1 (L1)"),
        (Neighbours.STEP, "one event: streams that differ in 1 step by at most 1 (L1)"),
        (Neighbours.USER_PRESENCE, "one event: present or absent, changing 1 step by"),
        (Neighbours.USER_SUBSTITUTION, "one event: replaced by another, changing 1 step by"),
    ],
)
def test_the_words_for_each_relation(neighbours: Neighbours, words: str) -> None:
    assert words in str(event(neighbours))


def test_every_relation_was_put_into_words_above() -> None:
    assert len({str(event(neighbours)) for neighbours in Neighbours}) == len(Neighbours) == 5


@pytest.mark.parametrize(
    ("intrusions", "end"),
    [
        (Intrusions.NONE, "over 365 steps"),
        (Intrusions.ONE, "over 365 steps; the state may be seized once"),
        (
            Intrusions.ANNOUNCED,
            "over 365 steps; the state may be seized any number of times, if announced",
        ),
        (Intrusions.EVERY, "over 365 steps; the state may be seized after every step"),
    ],
)
def test_the_words_for_each_intrusion(intrusions: Intrusions, end: str) -> None:
    assert str(event(Neighbours.STEP, intrusions)).endswith(end)


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        (EVENT, "one event"),
        (USER, "one user"),
        (user_window(30), "one user within 30 steps"),
        (user_window(1), "one user within 1 step"),
    ],
)
def test_the_words_for_each_unit(unit: Unit, words: str) -> None:
    assert f"for {words}: " in str(replace(GUARANTEE, unit=unit))


@pytest.mark.parametrize(
    ("horizon", "words"),
    [(None, "without end"), (1, "over 1 step"), (2, "over 2 steps")],
)
def test_the_words_for_each_horizon(horizon: int | None, words: str) -> None:
    assert str(replace(event(Neighbours.STEP), horizon=horizon)).endswith(f", {words}")


def test_a_longer_contribution_says_up_to() -> None:
    assert "changing up to 5 steps by at most 2 (L2)" in str(GUARANTEE)


def test_different_guarantees_have_different_words() -> None:
    assert len({str(each) for each in EVERY}) == len(EVERY)


@pytest.mark.parametrize("unit", [EVENT, USER, user_window(30)])
def test_a_unit_is_found_by_its_tag(unit: Unit) -> None:
    assert Unit.tagged(unit.tag) == unit


@pytest.mark.parametrize(
    "tag", ["", "person", "event:3", "user-window", "user-window:", "user-window:x", "user:30"]
)
def test_other_tags_are_refused(tag: str) -> None:
    with pytest.raises(BadInput):
        Unit.tagged(tag)
