"""Events that are posted, as a source: its queue, its plans, its position."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ameles.connectors import http_source
from ameles.connectors.http_source import (
    JSON,
    Batch,
    Handed,
    Outcome,
    batches_in,
    position,
)
from ameles.connectors.standard_input import POSITION
from ameles.core.exceptions import BadInput, PlanError, StoreRefused
from ameles.engine.releasing.batch_ids import BatchIds
from tests.engine.posted import (
    STEP,
    daily_world,
    posted_world,
    source_of,
)
from tests.engine.worlds import HEADER, World


def test_a_queue_that_is_full_takes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = source_of(daily_world(tmp_path))
    lines = b"x" * 1000
    answers: list[Sequence[Outcome]] = []
    batch = Batch(bytes(16), 1, 0, JSON, lines)
    monkeypatch.setattr(http_source, "MOST_BYTES", 2 * len(batch) + 1)
    assert source.hand_over([batch], answers.append)
    assert source.hand_over([batch], answers.append)
    assert not source.hand_over([batch], answers.append)
    (first, _), _ = source.waiting(0)
    first.answer([Outcome.COUNTED])
    monkeypatch.setattr(http_source, "MOST_BATCHES", 2)
    assert source.hand_over([batch], answers.append)
    assert not source.hand_over([Batch(bytes(16), 1, 0, JSON, b"")], answers.append)
    source.close()
    assert answers == [[Outcome.COUNTED], [Outcome.UNKNOWN]]
    assert not source.hand_over([], answers.append)
    assert list(source.incoming()) == []


def test_a_first_line_of_csv_must_have_the_columns(tmp_path: Path) -> None:
    source = source_of(daily_world(tmp_path))
    assert not source.csv_refusal(HEADER)
    assert source.csv_refusal(HEADER.replace("who", "whom"))
    assert source.csv_refusal(HEADER + ",who")
    assert source.csv_header


def test_only_a_service_runs_such_a_plan(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="this command receives none") as caught:
        daily_world(tmp_path).run()
    assert caught.value.tip == "ameles serve PLAN"


def test_what_a_plan_cannot_say_about_posted_events(tmp_path: Path) -> None:
    for key, said in (
        ('encoding = "latin-1"', "Events are posted in UTF-8"),
        ('format = "jsonl"', "so does each batch that is posted"),
    ):
        world = posted_world(World(tmp_path, STEP, stream=key))
        with pytest.raises(PlanError, match=said):
            _ = world.plan


def test_a_position_of_another_source_is_refused() -> None:
    assert batches_in(None) == 0
    assert batches_in(position(7)) == 7
    with pytest.raises(StoreRefused, match="not one of batches"):
        batches_in(POSITION)


def test_what_is_handed_over_is_never_printed() -> None:
    batch = Batch(bytes(16), 1, 0, JSON, b"a person")
    assert "person" not in repr(batch) + repr(Handed((batch,), print))
    known = BatchIds()
    known.add(b"an id of someone")
    assert repr(known) == "<BatchIds>"


def test_a_second_answer_is_dropped(tmp_path: Path) -> None:
    source, answers = source_of(daily_world(tmp_path)), list[Sequence[Outcome]]()
    assert source.hand_over([Batch(bytes(16), 1, 0, JSON, b"x")], answers.append)
    (handed,), _ = source.waiting(0)
    handed.answer([Outcome.COUNTED])
    handed.answer([Outcome.UNKNOWN])
    source.give_up()
    assert answers == [[Outcome.COUNTED]]
    assert source.fill == 0
    assert not source.hand_over([], answers.append), "nobody would ever answer"
