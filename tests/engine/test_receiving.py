"""Posted batches: each counts once, in the step in which it arrived, also after a crash."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors import http_source
from ameles.connectors.http_source import (
    JSON,
    Batch,
    Handed,
    HttpSource,
    Outcome,
    batches_in,
    csv_form,
    position,
)
from ameles.connectors.standard_input import POSITION
from ameles.core.exceptions import BadInput, PlanError, StoreRefused
from ameles.engine.following import arrivals, batch_writer, receiving
from ameles.engine.following.batch_writer import BatchWriter
from ameles.engine.releasing import batch_ids
from ameles.engine.releasing.batch_ids import BatchIds
from ameles.plan.source import plan_source
from ameles.store import StreamRecord
from ameles.store.batches import Batches, NewBatch
from tests.engine.posted import Posting, posted_world, posting
from tests.engine.worlds import COUNT, EVENT, HEADER, USER, World, row

STEP = COUNT.replace('"visits"', '"daily"') + 'over = "step"\n'
COUNTED, CLOSED, FULL, ENDED = Outcome.COUNTED, Outcome.CLOSED, Outcome.FULL, Outcome.ENDED
SEIZED = EVENT + '\nintrusions = "every"'


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "PATIENCE", 0.005)
    monkeypatch.setattr(arrivals, "QUIET", 0.02)
    monkeypatch.setattr(batch_writer, "PATIENCE", 0.005)


def world_of(folder: Path, unit: str = EVENT, horizon: int | None = 8) -> World:
    world = posted_world(World(folder, STEP, unit=unit, horizon=horizon), timed=unit != SEIZED)
    world.text = world.text.replace('url = "s.db"', 'url = "s.db"\nvault = "../keys"')
    return world


@pytest.mark.parametrize("unit", [EVENT, USER, SEIZED], ids=["event", "user", "seized"])
def test_batches_count_in_the_step_in_which_they_arrive(tmp_path: Path, unit: str) -> None:
    world = world_of(tmp_path, unit)
    with posting(world) as posted:
        assert posted.post("a", row(1, "ada"), row(1, "bea")) is COUNTED
        assert posted.post("b", row(1, "cyd")) is COUNTED
        posted.until(2)
        assert posted.post("c", row(2, "dan")) is COUNTED
        posted.until(3)
        posted.until(5)
    assert world.values("daily") == [3, 1, 0, 0]


@pytest.mark.parametrize("unit", [EVENT, SEIZED], ids=["stored", "seized"])
class TestRetries:
    def test_a_batch_counts_once_however_often_it_is_sent(self, tmp_path: Path, unit: str) -> None:
        world = world_of(tmp_path, unit)
        with posting(world) as posted:
            assert [posted.post("a", row(1)) for _ in range(3)] == [COUNTED] * 3
            assert (
                posted.together(("a", [row(1)]), ("b", [row(1)]), ("b", [row(1)])) == [COUNTED] * 3
            )
            posted.until(2)
        assert world.values("daily") == [2]

    def test_also_after_a_new_start(self, tmp_path: Path, unit: str) -> None:
        world = world_of(tmp_path, unit)
        for _ in range(3):
            with posting(world) as posted:
                assert posted.post("a", row(1)) is COUNTED
        with posting(world) as posted:
            posted.until(2)
        assert world.values("daily") == [1]

    def test_a_closed_step_takes_nothing(self, tmp_path: Path, unit: str) -> None:
        world = world_of(tmp_path, unit)
        with posting(world) as posted:
            assert posted.post("a", row(1)) is COUNTED
            posted.until(2)
            assert posted.post("a", row(1), step=1) is CLOSED
            assert posted.post("b", row(1), step=1) is CLOSED
            assert posted.post("b", row(2), step=3) is CLOSED
            assert posted.post("b", row(2)) is COUNTED
            posted.until(3)
        assert world.values("daily") == [1, 1]

    def test_the_same_id_in_another_step_is_another_batch(self, tmp_path: Path, unit: str) -> None:
        world = world_of(tmp_path, unit)
        with posting(world) as posted:
            assert posted.post("a", row(1)) is COUNTED
            posted.until(2)
            assert posted.post("a", row(2)) is COUNTED
            posted.until(3)
        assert world.values("daily") == [1, 1]

    def test_after_the_horizon_nothing_counts(self, tmp_path: Path, unit: str) -> None:
        world = world_of(tmp_path, unit, horizon=2)
        with posting(world) as posted:
            posted.until(3)
            posted._thread.join(60)  # the stream is over
            assert not posted.source.hand_over([], lambda outcomes: None)
        assert world.values("daily") == [0, 0]


def test_a_batch_for_a_step_after_the_horizon_is_refused(tmp_path: Path) -> None:
    world = world_of(tmp_path, horizon=2)
    with posting(world) as posted:
        with posted.store.reading() as transaction:
            stream = transaction.stream("s")
        assert stream is not None
        writer = BatchWriter(world.plan, posted.store, stream, posted.source, 0)
        late = Batch(bytes(16), 3, world.plan.clock.start_of(3), JSON, b"{}\n")
        assert writer._stored([late]) == [ENDED]


def test_batches_have_forms_of_their_own(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    event = {"at": "2026-01-01T12:00:00Z", "who": "ada", "region": "north"}
    swapped = csv_form("region,at,who,age,amount,fever,more")
    with posting(world) as posted:
        for name, line, form in (
            ("a", json.dumps(event), JSON),
            ("b", "north,2026-01-01T12:00:00Z,ada,,,,extra", swapped),
            ("c", row(1), ""),
            ("d", "[1, 2]", JSON),
            ("e", "one,field", swapped),
        ):
            assert posted.post(name, line, form=form) is COUNTED
        posted.until(2)
    assert world.values("daily") == [3]


def test_events_without_a_time_count_when_they_arrive_also_after_a_long_pause(
    tmp_path: Path,
) -> None:
    world = posted_world(World(tmp_path, STEP), timed=False)
    with posting(world) as posted:
        posted.until(2)
        assert posted.post("a", row(7), row(7)) is COUNTED
    with posting(world) as posted:  # it was stopped within the second day, and starts on the fifth
        posted.until(5)
        assert posted.post("b", row(1)) is COUNTED
        posted.until(6)
    assert world.values("daily") == [0, 2, 0, 0, 1]


def test_many_batches_are_counted_before_their_step_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "AT_ONCE", 100)
    monkeypatch.setattr(receiving, "FEW", 2)
    world = world_of(tmp_path, USER)
    with posting(world) as posted:
        for number in range(9):
            assert posted.post(str(number), row(1, f"u{number}")) is COUNTED
        posted.wait(lambda: not _waiting(posted))
        assert posted.post("3", row(1, "u3")) is COUNTED  # it is still known
        assert posted.told == []
        posted.until(2)
        with posted.store.reading() as transaction:
            assert transaction._session.one("SELECT count(*) FROM batch") == 0
    assert world.values("daily") == [9]


def _waiting(posted: Posting) -> int:
    with posted.store.reading() as transaction:
        stream = transaction.stream("s")
        assert stream is not None
        return transaction.waiting_bytes(stream)


@pytest.mark.parametrize("problem", [StoreRefused("The disk is full."), ValueError("a mistake")])
def test_a_store_that_fails_for_a_while_loses_nothing_and_counts_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    world = world_of(tmp_path)
    add = Batches.add_batches

    def full(these: Batches, stream: StreamRecord, batches: Sequence[NewBatch]) -> None:
        add(these, stream, batches)
        raise problem

    with posting(world) as posted:
        monkeypatch.setattr(Batches, "add_batches", full)
        assert posted.post("a", row(1)) is Outcome.UNKNOWN
        monkeypatch.setattr(Batches, "add_batches", add)
        assert posted.post("a", row(1)) is COUNTED
        posted.until(2)
    assert world.values("daily") == [1]


def test_a_crash_between_counting_and_deleting_counts_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "AT_ONCE", 1)
    world = world_of(tmp_path)
    forget, crashes = Batches.forget_batches, list[int]()

    def crash(these: Batches, stream: StreamRecord, *, counted: int, most: int) -> bool:
        if counted:
            crashes.append(counted)
            raise StoreRefused("The power failed.")
        return forget(these, stream, counted=counted, most=most)

    monkeypatch.setattr(Batches, "forget_batches", crash)
    crashed = Posting(world)
    assert crashed.post("a", row(1)) is COUNTED
    crashed.wait(lambda: bool(crashes))
    crashed.end()
    assert str(crashed.problem) == str(StoreRefused("The power failed."))
    monkeypatch.setattr(Batches, "forget_batches", forget)
    begun = list[int]()

    class Noting(BatchWriter):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            begun.append(self.waiting)

    monkeypatch.setattr(receiving, "BatchWriter", Noting)
    with posting(world) as posted:
        assert posted.post("a", row(1)) is COUNTED
        assert posted.post("b", row(1)) is COUNTED
        posted.until(2)
        assert _waiting(posted) == 0
    assert world.values("daily") == [2]
    assert begun == [0], "what was counted does not wait"


def test_batches_that_come_together_never_go_back_by_a_step(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    with posting(world) as posted:
        end = world.plan.clock.end_of(1)
        made = [
            Batch(bytes([step] * 16), step, at, csv_form(HEADER), f"{row(1)}\n".encode())
            for step, at in ((1, end - 2), (2, end), (1, end - 1), (2, end + 1))
        ]
        outcomes, answered = list[Outcome](), threading.Event()

        def answer(given: Sequence[Outcome]) -> None:
            outcomes.extend(given)
            answered.set()

        assert posted.source.hand_over(made, answer)
        assert answered.wait(600)
    assert outcomes == [COUNTED, COUNTED, CLOSED, COUNTED]


def test_a_step_that_cannot_be_closed_ends_the_stream_and_not_its_senders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_of(tmp_path)
    close = Batches.close_intake

    def full(these: Batches, stream: StreamRecord, step: int) -> None:
        if step:
            raise StoreRefused("The disk is full.")
        close(these, stream, step)

    monkeypatch.setattr(Batches, "close_intake", full)
    failed = Posting(world)
    assert failed.post("a", row(1)) is COUNTED
    failed.until(2)
    failed.end()
    assert str(failed.problem) == str(StoreRefused("The disk is full."))
    monkeypatch.setattr(Batches, "close_intake", close)
    with posting(world) as posted:
        assert posted.post("a", row(1)) is COUNTED
        posted.until(2)
    assert world.values("daily") == [1]


def test_when_nothing_is_counted_any_more_batches_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_writer, "MOST_WAITING", 60)
    world = world_of(tmp_path)
    with posting(world) as posted:
        outcomes = [posted.post(str(number), row(1)) for number in range(3)]
        assert outcomes == [COUNTED, COUNTED, FULL]
        posted.until(2)
        assert posted.post("2", row(2)) is COUNTED
        posted.until(3)
    assert world.values("daily") == [2, 1]


def test_a_sealed_step_has_room_for_so_many_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_ids, "ROOM", 2)
    world = world_of(tmp_path, SEIZED)
    with posting(world) as posted:
        assert [posted.post(name, row(1)) for name in "aabc"] == [COUNTED, COUNTED, COUNTED, FULL]
        posted.until(2)
        assert posted.post("c", row(1)) is COUNTED
        posted.until(3)
    assert world.values("daily") == [2, 1]


def test_a_queue_that_is_full_takes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = source_of(world_of(tmp_path))
    lines = b"x" * 1000
    answers: list[Sequence[Outcome]] = []
    batch = Batch(bytes(16), 1, 0, JSON, lines)
    monkeypatch.setattr(http_source, "MOST_BYTES", 2 * len(batch) + 1)
    assert source.hand_over([batch], answers.append)
    assert source.hand_over([batch], answers.append)
    assert not source.hand_over([batch], answers.append)
    (first, _), _ = source.waiting(0)
    first.answer([COUNTED])
    monkeypatch.setattr(http_source, "MOST_BATCHES", 2)
    assert source.hand_over([batch], answers.append)
    assert not source.hand_over([Batch(bytes(16), 1, 0, JSON, b"")], answers.append)
    source.close()
    assert answers == [[COUNTED], [Outcome.UNKNOWN]]
    assert not source.hand_over([], answers.append)
    assert list(source.incoming()) == []


def source_of(world: World) -> HttpSource:
    source = plan_source(world.plan)
    assert isinstance(source, HttpSource)
    return source


def test_a_first_line_of_csv_must_have_the_columns(tmp_path: Path) -> None:
    source = source_of(world_of(tmp_path))
    assert not source.csv_refusal(HEADER)
    assert source.csv_refusal(HEADER.replace("who", "whom"))
    assert source.csv_refusal(HEADER + ",who")
    assert source.csv_header


def test_only_a_service_runs_such_a_plan(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="this command receives none") as caught:
        world_of(tmp_path).run()
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


def test_the_list_of_batches_always_has_one_size() -> None:
    known, sizes = BatchIds(), set[int]()
    for number in range(batch_ids.ROOM):
        if number % 1000 == 0:
            sizes.add(len(known.to_bytes()))
        assert not known.full
        known.add(number.to_bytes(16))
    assert known.full
    assert sizes == {len(known.to_bytes())}
    assert BatchIds.from_bytes(known.to_bytes()) == known
    known.clear()
    assert BatchIds.from_bytes(known.to_bytes()) == BatchIds()
    with pytest.raises(StoreRefused, match="no list"):
        BatchIds.from_bytes(b"short")
