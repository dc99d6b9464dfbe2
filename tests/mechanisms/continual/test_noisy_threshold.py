"""Replies: what is said, and a number only where one was paid for."""

from __future__ import annotations

import copy
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from ameles.mechanisms.continual.noisy_threshold import Reply, Said


@pytest.mark.parametrize("said", Said)
def test_without_an_answer_the_word_is_all(said: Said) -> None:
    assert str(Reply(said)) == said.value
    assert Reply(said).answer is None


@pytest.mark.parametrize("answer", [0, -3, 12])
def test_an_answer_is_told_even_if_it_is_zero(answer: int) -> None:
    assert str(Reply(Said.ABOVE, answer)) == f"above: {answer}"
    assert Reply(Said.ABOVE, answer) != Reply(Said.ABOVE)


def test_replies_are_values() -> None:
    reply: Any = Reply(Said.ABOVE, 12)
    assert {reply, Reply(Said.ABOVE, 12), copy.deepcopy(reply)} == {reply}
    with pytest.raises(FrozenInstanceError):
        reply.answer = 3
