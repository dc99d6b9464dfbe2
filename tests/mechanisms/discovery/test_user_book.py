"""The book of users in memory: the plain rule, step after step, and clear refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput, StoreRefused
from ameles.mechanisms.discovery import DiscoveryRun, KeyDiscovery, KeyInputs, UserBook
from ameles.mechanisms.snapshot import State
from ameles.noise import System, Zero
from tests.mechanisms.discovery.plain_rule import PlainUser, plain_step

KEYS = 30


class StandIn(DiscoveryRun):
    """A run whose public keys and steps the test sets."""

    public: Any = None

    def __init__(self, recipe: KeyDiscovery) -> None:
        super().__init__(recipe, State(bytes(16), 0, ()), Zero())
        self.steps = 0

    @property
    def t(self) -> int:
        return self.steps


def recipe_of(**given: Any) -> KeyDiscovery:
    return KeyDiscovery(epsilon=1, delta="1e-6", horizon=60, **given)


def as_rows(inputs: KeyInputs) -> dict[int, list[int]]:
    columns = (inputs.number, inputs.selected, inputs.amounts)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {number: [weight, *amounts] for number, weight, amounts in rows}


@pytest.mark.parametrize(
    ("given", "window"),
    [
        ({"records": 4}, None),
        ({"records": 5, "per_key": 2, "cells": 3, "bound": 2}, None),
        ({"records": 3, "per_key": 3, "slots": (1,)}, None),
        ({"records": 100}, None),
        ({"records": 40, "per_key": 5, "slots": (4, 2, 1)}, None),
        ({"records": 6, "per_key": 2, "unit": "user-window:4"}, 4),
    ],
)
def test_the_book_does_what_the_plain_rule_does(given: dict[str, Any], window: int | None) -> None:
    recipe, noise = recipe_of(**given), System()
    book, run = UserBook(recipe), StandIn(recipe)
    users: dict[int, PlainUser] = {}
    for step in range(20):
        if window is not None and step % window == 0:
            users = {}
        size = int(noise.uniform(120, 1)[0])  # some steps have few records, some users have many
        user, number = noise.uniform(40, size), noise.uniform(KEYS, size)
        cell, amount = noise.uniform(recipe.cells, size), noise.uniform(9, size) - 4
        public = noise.uniform(3, KEYS) == 0
        run.public = public
        inputs = book.bounded(run, user, number, cell, amount)
        records = zip(*(x.tolist() for x in (user, number, cell, amount)), strict=True)
        wanted = plain_step(recipe, users, set(np.flatnonzero(public).tolist()), records)
        assert as_rows(inputs) == wanted
        run.steps += 1
        if step % 7 == 3:
            book = UserBook.resume(recipe, book.snapshot())


def test_names_of_users_and_keys_are_taken_as_they_are() -> None:
    recipe = recipe_of(records=8)
    run, book = recipe.start(Zero()), UserBook(recipe)
    inputs = book.bounded(run, ["ann", "bob", "ann"], ["#cats", "#cats", "#dogs"])
    assert as_rows(inputs) == {0: [8, 2], 1: [2, 1]}
    run.step(inputs)
    again = book.bounded(run, ["eve", "bob"], ["#dogs", "#cats"])
    assert as_rows(again) == {1: [4, 1]}
    assert book.rows(["eve", "bob"]).tolist() == [2, 1]
    assert "2 steps" in repr(book)
    assert book.nbytes > 0


def test_rows_of_what_is_no_name_are_refused() -> None:
    book = UserBook(recipe_of(records=8))
    names: list[Any] = ["ann", 7]
    with pytest.raises(BadInput):
        book.rows(names)
    assert book.rows(["bob"]).tolist() == [0]


def test_a_step_without_records_is_a_step() -> None:
    recipe = recipe_of(records=1, unit="user-window:2")
    run, book = recipe.start(Zero()), UserBook(recipe)
    for records, wanted in [([0], {0: [4, 1]}), ([], {}), ([0], {0: [4, 1]})]:
        inputs = book.bounded(run, records, ["#cats" for _ in records])
        assert as_rows(inputs) == wanted  # the third step is in the next window
        run.step(inputs)


def test_a_resumed_book_goes_on_with_its_run_only() -> None:
    recipe = recipe_of(records=2)
    run, book = recipe.start(Zero()), UserBook(recipe)
    run.step(book.bounded(run, ["ann", "bob"], ["#cats", "#cats"]))
    kept, secret = run.snapshot(), book.snapshot()
    again, other = recipe.resume(kept, Zero()), UserBook.resume(recipe, secret)
    inputs = other.bounded(again, ["ann", "bob", "ann"], ["#cats", "#dogs", "#dogs"])
    assert as_rows(inputs) == {1: [4, 2]}  # the cats of ann count once, the slots are the second
    with pytest.raises(BadInput, match="has taken 1 step, and this book has seen 0"):
        UserBook(recipe).bounded(again, ["ann"], ["#cats"])
    with pytest.raises(BadInput, match="another run"):
        book.bounded(recipe.start(Zero()), ["ann"], ["#cats"])
    with pytest.raises(BadInput, match="another run"):
        UserBook(recipe_of(records=3)).bounded(recipe.start(Zero()), ["ann"], ["#cats"])
    with pytest.raises(StoreRefused):
        UserBook.resume(recipe_of(records=3), secret)
    empty = UserBook.resume(recipe, UserBook(recipe).snapshot())
    assert as_rows(empty.bounded(recipe.start(Zero()), ["ann"], ["#cats"])) == {0: [4, 1]}


@pytest.mark.parametrize(
    ("user", "key", "cell"),
    [
        ([0], ["#cats", "#dogs"], [0]),
        ([-1], ["#cats"], [0]),
        ([2**31], ["#cats"], [0]),
        ([0], [-1], [0]),
        ([0], [3], [0]),
        ([0], [2**32], [0]),
        ([0], ["#cats"], [1]),
        ([0], ["#cats"], [-1]),
        ([0.5], ["#cats"], [0]),
        ([[0]], ["#cats"], [0]),
        (["ann", 7], ["#cats", "#cats"], [0, 0]),
        (["ann", "bob"], ["#cats", 7], [0, 0]),
    ],
)
def test_bad_records_are_refused_and_change_nothing(user: Any, key: Any, cell: Any) -> None:
    recipe = recipe_of(records=8)
    run, book = recipe.start(Zero()), UserBook(recipe)
    with pytest.raises(BadInput):
        book.bounded(run, user, key, cell)
    assert "after 0 steps" in repr(book)
    assert as_rows(book.bounded(run, ["eve"], ["#storm"])).popitem()[1] == [4, 1]
