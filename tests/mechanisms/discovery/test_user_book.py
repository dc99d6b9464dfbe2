"""The book of users in memory: the plain rule, step after step, and clear refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.discovery import KeyDiscovery, KeyInputs, UserBook
from ameles.noise import System
from tests.mechanisms.discovery.plain_rule import PlainUser, plain_step

KEYS = 30


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
    book = UserBook(recipe)
    users: dict[int, PlainUser] = {}
    for step in range(20):
        if window is not None and step % window == 0:
            users = {}
        size = int(noise.uniform(120, 1)[0])  # some steps have few records, some users have many
        user, number = noise.uniform(40, size), noise.uniform(KEYS, size)
        cell, amount = noise.uniform(recipe.cells, size), noise.uniform(9, size) - 4
        public = noise.uniform(3, KEYS) == 0
        inputs = book.bounded(public, user, number, cell, amount)
        records = zip(*(x.tolist() for x in (user, number, cell, amount)), strict=True)
        wanted = plain_step(recipe, users, set(np.flatnonzero(public).tolist()), records)
        assert as_rows(inputs) == wanted


def test_names_of_users_get_rows_and_records_count_one_by_default() -> None:
    book = UserBook(recipe_of(records=8))
    assert book.rows(["ann", "bob", "ann"]).tolist() == [0, 1, 0]
    assert book.rows(["eve", "bob"]).tolist() == [2, 1]
    inputs = book.bounded(np.zeros(2, dtype=bool), [0, 1, 2], [1, 1, 0])
    assert as_rows(inputs) == {0: [4, 1], 1: [8, 2]}
    assert "1" in repr(book)
    assert book.nbytes > 0


def test_a_number_that_is_newer_than_what_is_public_is_not_public() -> None:
    book = UserBook(recipe_of(records=8))
    inputs = book.bounded(np.ones(1, dtype=bool), [0, 0], [0, 2])
    assert as_rows(inputs) == {0: [0, 1], 2: [4, 1]}


def test_a_step_without_records_is_a_step() -> None:
    book = UserBook(recipe_of(records=1, unit="user-window:2"))
    public = np.zeros(1, dtype=bool)
    assert as_rows(book.bounded(public, [0], [0])) == {0: [4, 1]}
    assert as_rows(book.bounded(public, [], [])) == {}
    assert as_rows(book.bounded(public, [0], [0])) == {0: [4, 1]}  # in the next window


@pytest.mark.parametrize(
    ("user", "number", "cell"),
    [
        ([0], [0, 1], [0]),
        ([-1], [0], [0]),
        ([2**31], [0], [0]),
        ([0], [-1], [0]),
        ([0], [2**32], [0]),
        ([0], [0], [1]),
        ([0], [0], [-1]),
        ([0.5], [0], [0]),
        ([[0]], [[0]], [[0]]),
    ],
)
def test_bad_records_are_refused_and_change_nothing(user: Any, number: Any, cell: Any) -> None:
    book = UserBook(recipe_of(records=8))
    public = np.zeros(3, dtype=bool)
    with pytest.raises(BadInput):
        book.bounded(public, user, number, cell)
    assert as_rows(book.bounded(public, [0], [0])) == {0: [4, 1]}
    assert "after 1 steps" in repr(book)
