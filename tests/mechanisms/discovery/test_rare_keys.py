"""A tag that one user alone brings is not published, whatever that user does with it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ameles.mechanisms.discovery import KeyDiscovery, KeyOutputs, UserBook
from ameles.mechanisms.discovery.selection_law import SelectionLaw
from ameles.noise import System

RECIPE = KeyDiscovery(epsilon=6, delta="1e-9", horizon=12, records=16, per_key=2)
CROWD, LONERS = 400, 300


def published(recipe: KeyDiscovery) -> Iterator[tuple[list[str], KeyOutputs]]:
    """A crowd uses two tags from the start on.  In the third step others come, each of whom has
    five tags of their own and repeats them in all later steps."""
    run, book = recipe.start(System()), UserBook(recipe)
    for step in range(1, recipe.horizon + 1):
        users = [f"crowd {person}" for person in range(CROWD)] * 2
        tags = ["#crowd"] * CROWD + ["#other"] * CROWD
        if step > 2:
            for person in range(LONERS):
                users += [f"loner {person}"] * 5
                tags += [f"#own-{person}-{which}" for which in range(5)]
        out = run.step(book.bounded(run, users, tags))
        yield run.names(out.public), out


def test_new_users_with_tags_of_their_own_are_not_seen() -> None:
    # One user's tags are all kept secret with probability 1 - 5e-10: 300 of them are an alarm
    # without a reason once in six million runs.
    for names, out in published(RECIPE):
        assert names in ([], ["#crowd"], ["#other"], ["#crowd", "#other"])
        assert out.values.shape == (len(names), 1)
    assert names == ["#crowd", "#other"]  # 1,600 of the 50 or so that are needed


def test_a_threshold_that_one_user_can_reach_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def low(law: SelectionLaw) -> tuple[int, ...]:
        return (1 << law.noise.bits,) * law.looks

    monkeypatch.setattr(SelectionLaw, "thresholds", property(low))
    *_, (names, _) = published(RECIPE)
    # of 1,500 tags each crosses with a probability above a quarter: the largest weight is 4
    assert sum(name.startswith("#own") for name in names) > LONERS // 2


def test_only_four_keys_of_a_user_can_ever_be_live() -> None:
    """A record without a slot makes no counter: what a user can risk is four keys."""
    run, book = RECIPE.start(System()), UserBook(RECIPE)
    tags = [f"#own-{which}" for which in range(16)]
    out = run.step(book.bounded(run, ["ann"] * 16, tags))
    assert not out.public.size
    assert run._selection.numbers.size <= len(RECIPE.slots)
