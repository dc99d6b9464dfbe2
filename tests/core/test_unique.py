"""Unique objects: no copies, and one process."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from ameles.core.exceptions import NoCopy, RunSpent
from ameles.core.unique import Unique


class Seal(Unique):
    noun = "seal"
    elsewhere = "cut another seal"


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps])
def test_it_cannot_be_copied_by_itself_or_inside_of_something(way: Callable[[Any], Any]) -> None:
    with pytest.raises(NoCopy, match="This seal cannot be copied or pickled") as caught:
        way(Seal())
    assert caught.value.why
    assert caught.value.tip
    if way is not copy.copy:  # which leaves what is inside as it is
        with pytest.raises(NoCopy):
            way([Seal()])


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_no_protocol_of_pickle_gets_through(protocol: int) -> None:
    with pytest.raises(NoCopy):
        pickle.dumps(Seal(), protocol)


def test_another_process_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    seal = Seal()
    seal.check_process()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(RunSpent, match="This seal belongs to the process") as caught:
        seal.check_process()
    assert caught.value.tip == "cut another seal"


def test_without_a_noun_errors_name_the_class() -> None:
    class Wax(Unique):
        pass

    with pytest.raises(NoCopy, match="This Wax cannot be copied"):
        copy.copy(Wax())
