"""Posted batches: each counts once, in the step in which it arrived, also after a crash."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ameles.connectors.http_source import (
    JSON,
    Batch,
    Outcome,
    csv_form,
)
from ameles.engine.following import receiving
from ameles.engine.following.batch_writer import BatchWriter, body_digest
from ameles.store.batches import Batches
from tests.engine.posted import (
    SEIZED,
    STEP,
    daily_world,
    posted_world,
    posting,
)
from tests.engine.worlds import EVENT, HEADER, USER, World, row

COUNTED, CLOSED, REUSED = Outcome.COUNTED, Outcome.CLOSED, Outcome.REUSED
pytestmark = pytest.mark.usefixtures("quick_following")


@pytest.mark.parametrize("unit", [EVENT, USER, SEIZED], ids=["event", "user", "seized"])
def test_batches_count_in_the_step_in_which_they_arrive(tmp_path: Path, unit: str) -> None:
    world = daily_world(tmp_path, unit)
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
        world = daily_world(tmp_path, unit)
        with posting(world) as posted:
            assert [posted.post("a", row(1)) for _ in range(3)] == [COUNTED] * 3
            assert (
                posted.together(("a", [row(1)]), ("b", [row(1)]), ("b", [row(1)])) == [COUNTED] * 3
            )
            posted.until(2)
        assert world.values("daily") == [2]

    def test_also_after_a_new_start(self, tmp_path: Path, unit: str) -> None:
        world = daily_world(tmp_path, unit)
        for _ in range(3):
            with posting(world) as posted:
                assert posted.post("a", row(1)) is COUNTED
        with posting(world) as posted:
            posted.until(2)
        assert world.values("daily") == [1]

    def test_a_closed_step_takes_nothing(self, tmp_path: Path, unit: str) -> None:
        world = daily_world(tmp_path, unit)
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
        world = daily_world(tmp_path, unit)
        with posting(world) as posted:
            assert posted.post("a", row(1)) is COUNTED
            posted.until(2)
            assert posted.post("a", row(2)) is COUNTED
            posted.until(3)
        assert world.values("daily") == [1, 1]

    def test_after_the_horizon_nothing_counts(self, tmp_path: Path, unit: str) -> None:
        world = daily_world(tmp_path, unit, horizon=2)
        with posting(world) as posted:
            posted.until(3)
            posted._thread.join(600)  # the stream is over
            assert not posted.source.hand_over([], lambda outcomes: None)
        assert world.values("daily") == [0, 0]


@pytest.mark.parametrize("unit", [EVENT, USER], ids=["event", "user"])
class TestReusedIds:
    def test_another_body_is_refused_and_a_true_retry_is_not(
        self, tmp_path: Path, unit: str
    ) -> None:
        world = daily_world(tmp_path, unit)
        with posting(world) as posted:
            assert posted.post("a", row(1, "ada")) is COUNTED
            assert posted.post("a", row(1, "bea")) is REUSED
            assert posted.post("a") is REUSED, "an empty body is another one, too"
            assert posted.post("a", row(1, "ada")) is COUNTED
            assert posted.post("b", row(1, "bea")) is COUNTED
            posted.until(2)
        assert world.values("daily") == [2]

    def test_also_in_one_transaction(self, tmp_path: Path, unit: str) -> None:
        world = daily_world(tmp_path, unit)
        with posting(world) as posted:
            ada, bea = [row(1, "ada")], [row(1, "bea")]
            some = posted.together(("a", ada), ("a", bea), ("b", bea), ("a", ada), ("a", bea))
            assert some == [COUNTED, REUSED, COUNTED, COUNTED, REUSED]
            posted.until(2)
        assert world.values("daily") == [2]

    def test_also_after_a_new_start_and_until_the_step_closes(
        self, tmp_path: Path, unit: str
    ) -> None:
        world = daily_world(tmp_path, unit)
        with posting(world) as posted:
            assert posted.post("a", row(1, "ada")) is COUNTED
        with posting(world) as posted:
            assert posted.post("a", row(1, "bea")) is REUSED
            assert posted.post("a", row(1, "ada")) is COUNTED
            posted.until(2)
            assert posted.post("a", row(2, "bea")) is COUNTED, "the step of the first is over"
            posted.until(3)
            with posted.store.reading() as transaction:
                assert not transaction._session.one("SELECT count(*) FROM batch"), "all forgotten"
        assert world.values("daily") == [1, 1]


def test_what_is_stored_about_a_body_depends_on_the_secret_of_the_stream(tmp_path: Path) -> None:
    one = Batch(bytes(16), 1, 0, JSON, b"x")
    digests = {
        body_digest(salt, batch)
        for salt in (bytes(32), bytes([1] * 32))
        for batch in (
            one,
            replace(one, lines=b"y"),
            replace(one, form=csv_form("x")),
            replace(one, form=csv_form(""), lines=b"xx"),
            replace(one, digest=bytes([1] * 16)),
        )
    }
    assert len(digests) == 10
    assert {len(digest) for digest in digests} == {16}


def test_a_state_that_may_be_seized_keeps_nothing_about_a_body(tmp_path: Path) -> None:
    """A digest of a few events could be guessed by whoever seizes the state with its key."""
    world = daily_world(tmp_path, SEIZED)
    with posting(world) as posted:
        assert posted.post("a", row(1)) is COUNTED
        assert posted.post("a", row(1), row(1)) is COUNTED
        posted.until(2)
    assert world.values("daily") == [1]


def test_what_stores_batches_deletes_those_that_were_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = daily_world(tmp_path)
    with posting(world) as posted:
        stream = posted.record
        writer = BatchWriter(world.plan, posted.store, stream, posted.source)

        def store(number: int) -> list[Outcome]:
            at = world.plan.clock.start_of(1)
            return writer._stored([Batch(bytes([number] * 16), 1, at, JSON, b"x" * number)])

        assert store(1) == [COUNTED]
        assert (writer.waiting, posted.waiting) == (1, 1)
        writer.counted(stream, 1, 1)
        with monkeypatch.context() as patched:
            patched.setattr(Batches, "add_batches", lambda *given: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                store(2)
        assert posted.waiting == 1, "nothing of a failed transaction is kept"
        assert store(3) == [COUNTED]
        assert (writer.waiting, posted.waiting) == (3, 3)
        asked: list[object] = []
        monkeypatch.setattr(Batches, "forget_batches", lambda *given, **more: asked.append(given))
        store(4)
        writer.forget()
        assert not asked, "nothing is left to delete"


def test_batches_have_forms_of_their_own(tmp_path: Path) -> None:
    world = daily_world(tmp_path)
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
    world = daily_world(tmp_path, USER)
    with posting(world) as posted:
        for number in range(9):
            assert posted.post(str(number), row(1, f"u{number}")) is COUNTED
        posted.wait(lambda: not posted.waiting)
        assert posted.post("3", row(1, "u3")) is COUNTED  # it is still known
        assert posted.told == []
        posted.until(2)
        with posted.store.reading() as transaction:
            assert transaction._session.one("SELECT count(*) FROM batch") == 0
    assert world.values("daily") == [9]


def test_batches_that_come_together_never_go_back_by_a_step(tmp_path: Path) -> None:
    world = daily_world(tmp_path)
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
