"""The door of a sealed stream: nothing is read before its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from ameles.connectors.http_source import Batch, HttpSource, Outcome
from ameles.service.ingest import door
from ameles.service.ingest.door import SealedDoor
from ameles.service.refusals import Refused
from tests.service.ingest.answering_engine import AnsweringEngine, batch, outcome, reading


def test_nothing_is_read_before_the_fold_before_it_is_sealed(source: HttpSource) -> None:
    engine, read = AnsweringEngine(source), list[int]()

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


def test_at_most_so_many_are_read_at_a_time(
    source: HttpSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "TOGETHER", 2)
    engine, begun, go = AnsweringEngine(source), list[int](), asyncio.Event()
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
    engine, read, go = AnsweringEngine(source), list[str](), asyncio.Event()
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
    engine = AnsweringEngine(source)

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


def test_while_steps_wait_to_be_released_everything_is_refused_unread(source: HttpSource) -> None:
    engine, read, behind = AnsweringEngine(source), list[int](), False

    async def note() -> Batch:
        read.append(2)
        return batch(2)

    async def post() -> tuple[list[Outcome | BaseException], Outcome]:
        nonlocal behind
        sealed = SealedDoor(source, behind=lambda: behind)
        first = asyncio.create_task(sealed.take(reading(0)))
        while not engine.groups:
            await asyncio.sleep(0.001)
        waiting = asyncio.create_task(sealed.take(note))
        await asyncio.sleep(0)
        behind = True
        late = asyncio.create_task(sealed.take(note))
        await asyncio.sleep(0)
        engine.go.set()
        outcomes = await asyncio.gather(first, waiting, late, return_exceptions=True)
        behind = False
        return list(outcomes), await sealed.take(reading(4))

    (first, *others), last = asyncio.run(post())
    engine.end()
    assert (first, last, read) == (Outcome.COUNTED, Outcome.COUNTED, [])
    for one in others:
        assert isinstance(one, Refused)
        assert (one.status, one.headers) == (503, {"Retry-After": "1"})
