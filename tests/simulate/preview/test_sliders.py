"""The sliders of a preview: positions around the plan's own, all of which are plans."""

from __future__ import annotations

import pytest

from ameles.plan.plan import Plan, read_plan_text
from ameles.simulate.preview import sliders as module
from ameles.simulate.preview.plan_edits import edited
from ameles.simulate.preview.sliders import Slider, sliders
from tests.simulate.preview.test_preview import USERS


@pytest.fixture(scope="module")
def plan() -> Plan:
    return read_plan_text(USERS)


@pytest.fixture(scope="module")
def made(plan: Plan) -> tuple[Slider, ...]:
    return sliders(plan, USERS)


def test_a_slider_starts_at_the_plans_own_value(plan: Plan, made: tuple[Slider, ...]) -> None:
    for slider in made:
        text = edited(USERS, slider.address, slider.values[slider.start])
        assert text is not None
        assert read_plan_text(text).to_json() == plan.to_json(), slider.label


def test_every_position_is_a_plan_and_they_are_in_order(made: tuple[Slider, ...]) -> None:
    for slider in made:
        plain = [value.strip('"').rstrip("d") for value in slider.values]
        assert plain == sorted(set(plain), key=float), slider.label
        for value in (slider.values[0], slider.values[-1]):
            text = edited(USERS, slider.address, value)
            assert text is not None
            read_plan_text(text)


def test_what_cannot_be_changed_in_the_text_has_no_slider(plan: Plan) -> None:
    hidden = USERS.replace('over = "7d"', '"over" = "7d"').replace("epsilon = 1\n", "epsilon=1\n")
    labels = [slider.label for slider in sliders(plan, hidden)]
    assert "window of visits" not in labels
    assert "epsilon" in labels


def test_there_are_not_too_many(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SLIDERS", 2)
    monkeypatch.setattr(module, "_possible", lambda *given: True)
    assert [slider.label for slider in sliders(plan, USERS)] == [
        "epsilon",
        "events of a user in a step",
    ]


def test_a_parameter_without_another_value_has_no_slider(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_possible", lambda *given: False)
    assert sliders(plan, USERS) == ()
