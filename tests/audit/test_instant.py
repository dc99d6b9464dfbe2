"""Instants: what they say, what happens at them, and which ones a promise covers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ameles.audit.instant import Act, Instant, Phase, acts_of, refuse_unseen, views_of
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Intrusions
from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.noise import Zero

SEEN, ANNOUNCED = Act.SEEN, Act.ANNOUNCED


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (Instant(0), "before step 1"),
        (Instant(3), "after step 3"),
        (Instant(3, added=True), "with an input added to step 4"),
        (Instant(0, between=True), "between two events of step 1"),
        (Instant(3, announced=0), "after step 3, then announced"),
        (
            Instant(3, added=True, announced=1),
            "with an input added to step 4, announced 1 step later",
        ),
        (
            Instant(0, between=True, announced=2),
            "between two events of step 1, announced 2 steps later",
        ),
    ],
)
def test_in_words(instant: Instant, text: str) -> None:
    assert str(instant) == text


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(BadInput, match="not both"):
        Instant(1, added=True, between=True)
    with pytest.raises(BadInput, match="'announced' parameter must be zero or more"):
        Instant(1, announced=-1)


def test_looks_come_in_the_order_of_the_view_and_announcements_that_are_due_before_them() -> None:
    view = (Instant(1, announced=0), Instant(1), Instant(0, added=True, announced=1))
    assert acts_of(view) == {
        (0, Phase.ADDED): [SEEN],
        (1, Phase.CLOSED): [ANNOUNCED, SEEN, ANNOUNCED, SEEN],
    }


def test_places_within_a_step_are_in_the_order_of_its_calls() -> None:
    instants = [Instant(1), Instant(0, added=True), Instant(0, between=True), Instant(0)]
    assert sorted(instants, key=lambda instant: instant.place) == instants[::-1]


@pytest.mark.parametrize(
    "instant",
    [Instant(-1), Instant(5), Instant(4, added=True), Instant(4, between=True)],
    ids=str,
)
def test_instants_that_never_come_are_refused(instant: Instant) -> None:
    run = PanPrivateCounter(epsilon=1, horizon=8).start(Zero())
    with pytest.raises(BadInput, match="In 4 steps there is no instant"):
        refuse_unseen((Instant(4), instant), run, 4)


@pytest.mark.parametrize("change", [{"added": True}, {"between": True}, {"announced": 0}])
def test_what_a_run_has_no_calls_for_is_refused(change: dict[str, Any]) -> None:
    run = BinaryCounter(epsilon=1, horizon=4).start(Zero())
    refuse_unseen((Instant(1),), run, 4)
    with pytest.raises(BadInput, match=r"no parts|no method 'announce'"):
        refuse_unseen((replace(Instant(1), **change),), run, 4)


# One step: before it, between two of its events, with its input, after it.
FOUR = (Instant(0), Instant(0, between=True), Instant(0, added=True), Instant(1))


def test_no_intrusion_shows_the_outputs_alone() -> None:
    recipe = BinaryCounter(epsilon=1, horizon=1)
    assert views_of(recipe.guarantee, recipe.start(Zero()), 1) == [()]


def test_one_intrusion_is_at_any_instant() -> None:
    recipe = PanPrivateCounter(epsilon=1, horizon=1)
    assert views_of(recipe.guarantee, recipe.start(Zero()), 1) == [(each,) for each in FOUR]


def test_without_parts_of_steps_there_is_nothing_within_them() -> None:
    recipe = BinaryCounter(epsilon=1, horizon=2)
    promise = replace(recipe.guarantee, intrusions=Intrusions.ONE)
    views = views_of(promise, recipe.start(Zero()), 2)
    assert views == [(Instant(0),), (Instant(1),), (Instant(2),)]


def test_intrusions_everywhere_are_seen_with_one_event_a_step_and_with_two() -> None:
    recipe = SimpleTwoCounter(epsilon=1)
    calm = (Instant(0), Instant(0, added=True), Instant(1))
    assert views_of(recipe.guarantee, recipe.start(Zero()), 1) == [calm, FOUR]


def test_announced_intrusions_are_alone_and_unannounced_or_announced_and_followed() -> None:
    recipe = PanPrivateCounter(epsilon=1, horizon=1, intrusions="announced")
    views = views_of(recipe.guarantee, recipe.start(Zero()), 1)
    told = tuple(replace(instant, announced=0) for instant in FOUR)
    assert views[:4] == [(each,) for each in FOUR]
    assert views[4:] == [
        (Instant(0, announced=0), Instant(1)),
        (told[0], told[2], told[3]),
        told,
    ]
