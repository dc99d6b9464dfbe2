"""The door: bounded queues, answers to whom they belong, and nothing read before its turn."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors import http_source
from ameles.connectors.http_source import JSON, Batch, Handed, HttpSource, Outcome
from ameles.plan.source import plan_source
from ameles.service.ingest import door
from ameles.service.ingest.door import Door, SealedDoor
from ameles.service.refusals import Refused
from tests.engine.posted import posted_world
from tests.engine.worlds import World


@pytest.fixture
def source(tmp_path: Path) -> HttpSource:
    opened = plan_source(posted_world(World(tmp_path)).plan)
    assert isinstance(opened, HttpSource)
    return opened


def batch(number: int) -> Batch:
    return Batch(number.to_bytes(16), number, 0, JSON, b"{}\n")


def reading(number: int) -> Callable[[], Awaitable[Batch]]:
    async def read() -> Batch:
        return batch(number)

    return read


class Engine:
    """Answers batches in a thread of its own: those of odd steps are closed."""

    def __init__(self, source: HttpSource) -> None:
        self.source = source
        self.groups: list[list[int]] = []
        self.go = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        for handed in self.source.incoming():
            self.groups.append([one.step for one in handed.batches])
            self.go.wait(60)
            handed.answer([outcome(one.step) for one in handed.batches])

    def end(self) -> None:
        self.go.set()
        self.source.close()
        self._thread.join(60)


def outcome(step: int) -> Outcome:
    return Outcome.CLOSED if step % 2 else Outcome.COUNTED


@pytest.mark.parametrize("kind", [Door, SealedDoor])
def test_everybody_gets_the_own_answer(source: HttpSource, kind: type[Door]) -> None:
    engine = Engine(source)
    engine.go.set()

    async def post_many() -> list[Outcome]:
        opened = kind(source)
        return await asyncio.gather(*(opened.take(reading(number)) for number in range(200)))

    assert asyncio.run(post_many()) == [outcome(number) for number in range(200)]
    engine.end()
    assert sorted(step for group in engine.groups for step in group) == list(range(200))


def test_a_full_queue_refuses(source: HttpSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_source, "MOST_BATCHES", 0)
    with pytest.raises(Refused) as caught:
        asyncio.run(Door(source).take(reading(1)))
    assert caught.value.status == 429
    assert caught.value.headers == {"Retry-After": "1"}
    with pytest.raises(Refused) as caught:
        asyncio.run(SealedDoor(source).take(reading(1)))
    assert caught.value.status == 429


def test_nothing_is_read_before_the_fold_before_it_is_sealed(source: HttpSource) -> None:
    engine, read = Engine(source), list[int]()

    def noting(number: int) -> Callable[[], Awaitable[Batch]]:
        async def note() -> Batch:
            read.append(number)
            return batch(number)

        return note

    async def post() -> list[Outcome]:
        sealed = SealedDoor(source)
        first = asyncio.create_task(sealed.take(noting(0)))
        while not engine.groups:
            await asyncio.sleep(0.001)
        others = [asyncio.create_task(sealed.take(noting(number))) for number in (1, 2, 3)]
        for _ in range(20):
            await asyncio.sleep(0)
        assert read == [0], "the others wait unread"
        engine.go.set()
        return await asyncio.gather(first, *others)

    assert asyncio.run(post()) == [outcome(number) for number in range(4)]
    engine.end()
    assert engine.groups == [[0], [1, 2, 3]], "those that waited are sealed together"


def test_a_bad_or_slow_request_harms_no_other(
    source: HttpSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "SECONDS_TO_READ", 0.01)
    engine = Engine(source)
    engine.go.set()

    async def broken() -> Batch:
        raise Refused(400, "The body is broken.")

    async def slow() -> Batch:
        await asyncio.sleep(60)
        return batch(9)

    async def post() -> list[Outcome | BaseException]:
        sealed = SealedDoor(source)
        reads = (reading(2), broken, slow, reading(3))
        return await asyncio.gather(*(sealed.take(read) for read in reads), return_exceptions=True)

    first, second, third, fourth = asyncio.run(post())
    engine.end()
    assert (first, fourth) == (Outcome.COUNTED, Outcome.CLOSED)
    assert isinstance(second, Refused)
    assert second.status == 400
    assert isinstance(third, Refused)
    assert third.status == 408


def test_a_slow_request_holds_up_nobody(source: HttpSource) -> None:
    engine, go = Engine(source), asyncio.Event()
    engine.go.set()

    async def slow() -> Batch:
        await go.wait()
        return batch(8)

    async def post() -> list[Outcome]:
        sealed = SealedDoor(source)
        first = asyncio.create_task(sealed.take(slow))
        with_it = asyncio.create_task(sealed.take(reading(2)))
        outcomes = [await with_it, await sealed.take(reading(4))]
        assert not first.done()
        go.set()
        return [*outcomes, await first]

    assert asyncio.run(post()) == [Outcome.COUNTED] * 3
    engine.end()
    assert engine.groups == [[2], [4], [8]]


def test_at_most_so_many_are_read_at_a_time(
    source: HttpSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "TOGETHER", 2)
    engine, begun, go = Engine(source), list[int](), asyncio.Event()
    engine.go.set()

    def slow(number: int) -> Callable[[], Awaitable[Batch]]:
        async def read() -> Batch:
            begun.append(number)
            await go.wait()
            return batch(number)

        return read

    async def post() -> list[Outcome]:
        sealed = SealedDoor(source)
        tasks = [asyncio.create_task(sealed.take(slow(number))) for number in range(5)]
        for _ in range(20):
            await asyncio.sleep(0)
        assert begun == [0, 1]
        go.set()
        return await asyncio.gather(*tasks)

    assert asyncio.run(post()) == [outcome(number) for number in range(5)]
    engine.end()
    assert sorted(begun) == list(range(5))


@pytest.mark.parametrize("first", ["broken", "gone"])
def test_those_who_wait_are_read_after_one_that_fails_or_leaves(
    source: HttpSource, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    monkeypatch.setattr(door, "TOGETHER", 1)
    engine, read, go = Engine(source), list[str](), asyncio.Event()
    engine.go.set()

    async def broken() -> Batch:
        await go.wait()
        raise Refused(400, "The body is broken.")

    async def note() -> Batch:
        read.append("gone")
        return batch(2)

    async def post() -> Outcome:
        sealed = SealedDoor(source)
        reads = [broken, note] if first == "gone" else [broken]
        others = [asyncio.create_task(sealed.take(one)) for one in reads]
        await asyncio.sleep(0)
        last = asyncio.create_task(sealed.take(reading(4)))
        await asyncio.sleep(0)
        for gone in others[1:]:
            gone.cancel()
        await asyncio.sleep(0)
        go.set()
        outcome = await asyncio.wait_for(last, 60)
        await asyncio.gather(*others, return_exceptions=True)
        return outcome

    assert asyncio.run(post()) is Outcome.COUNTED
    engine.end()
    assert not read, "nobody waits for it any more"


def test_nobody_waits_for_ever_if_a_fold_cannot_be_handed_over(
    source: HttpSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: object) -> bool:
        raise ZeroDivisionError

    monkeypatch.setattr(source, "hand_over", fail)

    async def post() -> list[Outcome | BaseException]:
        sealed = SealedDoor(source)
        tasks = [sealed.take(reading(number)) for number in range(3)]
        return await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(one) for one in asyncio.run(post())] == [ZeroDivisionError] * 3


def test_too_many_who_wait_are_refused(source: HttpSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "WAITING", 1)
    monkeypatch.setattr(door, "TOGETHER", 1)
    engine = Engine(source)

    async def post() -> list[Outcome | BaseException]:
        sealed = SealedDoor(source)
        tasks = [asyncio.create_task(sealed.take(reading(number))) for number in range(4)]
        for _ in range(20):
            await asyncio.sleep(0)
        engine.go.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    outcomes = asyncio.run(post())
    engine.end()
    assert outcomes[:2] == [Outcome.COUNTED, Outcome.CLOSED]
    refused = [one for one in outcomes if isinstance(one, Refused)]
    assert [one.status for one in refused] == [429, 429]


def test_an_answer_that_nobody_waits_for_is_dropped(source: HttpSource) -> None:
    async def post() -> None:
        opened = Door(source)
        task = asyncio.create_task(opened.take(reading(2)))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        ((handed,), _) = source.waiting(0)
        assert isinstance(handed, Handed)
        handed.answer([Outcome.COUNTED])
        await asyncio.sleep(0)

    asyncio.run(post())


def test_what_does_not_fit_is_refused_unread(
    source: HttpSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unread() -> Batch:
        raise AssertionError("it is not read")

    async def post() -> None:
        opened = Door(source)
        waiting = asyncio.create_task(opened.take(reading(2)))
        await asyncio.sleep(0)
        for place, name, most in (
            (http_source, "MOST_BATCHES", 1),
            (http_source, "MOST_BYTES", len(batch(2))),
            (door, "UNANSWERED", 1),
        ):
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(place, name, most)
                with pytest.raises(Refused) as caught:
                    await opened.take(unread)
                assert caught.value.status == 429
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert opened._unanswered == 0, "who has gone makes room"

    asyncio.run(post())


def test_many_answers_wake_the_loop_once(source: HttpSource) -> None:
    async def post() -> int:
        opened, loop = Door(source), asyncio.get_running_loop()
        tasks = [asyncio.create_task(opened.take(reading(2))) for _ in range(9)]
        await asyncio.sleep(0)
        groups, _ = source.waiting(0)
        woken, wake = list[int](), loop.call_soon_threadsafe

        def note(*given: Any) -> Any:
            woken.append(1)
            return wake(*given)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(loop, "call_soon_threadsafe", note)
            for group in groups:
                group.answer([Outcome.COUNTED])
        assert await asyncio.gather(*tasks) == [Outcome.COUNTED] * 9
        return len(woken)

    assert asyncio.run(post()) == 1


def test_an_answer_after_the_end_of_the_server_is_dropped(source: HttpSource) -> None:
    opened, tasks = Door(source), list[asyncio.Task[Outcome]]()

    async def post() -> None:
        tasks.append(asyncio.create_task(opened.take(reading(2))))
        await asyncio.sleep(0)

    asyncio.run(post())
    ((handed,), _) = source.waiting(0)
    handed.answer([Outcome.COUNTED])
    assert tasks[0].cancelled()
