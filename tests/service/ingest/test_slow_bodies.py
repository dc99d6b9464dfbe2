"""Bodies that come slowly to a sealed stream hold up nobody else."""

from __future__ import annotations

import asyncio

import pytest

from ameles.connectors.http_source import Batch, HttpSource, Outcome
from ameles.service.ingest import door
from ameles.service.ingest.door import SealedDoor
from ameles.service.refusals import Refused
from tests.service.ingest.answering_engine import AnsweringEngine, batch, reading

LIMIT = 60.0


def test_a_bad_or_slow_request_harms_no_other(
    source: HttpSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "SECONDS_TO_READ", 0.01)
    engine = AnsweringEngine(source)
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
    engine, go = AnsweringEngine(source), asyncio.Event()
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


def test_many_slow_requests_hold_up_nobody_else(
    source: HttpSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "TOGETHER", 4)
    monkeypatch.setattr(door, "SLOW", 0.05)
    engine = AnsweringEngine(source)
    engine.go.set()

    async def post() -> list[int]:
        sealed, never = SealedDoor(source), asyncio.Event()

        async def slow() -> Batch:
            await never.wait()
            raise AssertionError("it never comes whole")

        senders = ["honest", "slow", "slow", "slow"]
        tasks = [asyncio.create_task(sealed.take(slow, sender)) for sender in senders]
        await asyncio.sleep(0)
        quick = [asyncio.create_task(sealed.take(reading(2), "quick")) for _ in range(3)]
        async with asyncio.timeout(LIMIT):
            assert await asyncio.gather(*quick) == [Outcome.COUNTED] * 3
        refused = [number for number, task in enumerate(tasks) if task.done()]
        for number in refused:
            problem = tasks[number].exception()
            assert isinstance(problem, Refused)
            assert problem.status == 408
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return refused

    refused = asyncio.run(post())
    engine.end()
    assert refused == [1], "the oldest of whoever has most, and no more than needed"


@pytest.mark.parametrize("why", ["a fold", "a busy loop", "a moment"])
def test_nobody_is_refused_while_others_wait_for_something_else(
    source: HttpSource, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    monkeypatch.setattr(door, "TOGETHER", 4)
    never = asyncio.Event()

    async def slow() -> Batch:
        await never.wait()
        raise AssertionError("it never comes whole")

    async def post() -> int:
        sealed = SealedDoor(source)
        tasks = [asyncio.create_task(sealed.take(slow, "slow")) for _ in range(5)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        now = asyncio.get_running_loop().time()
        for one in sealed._begun.values():
            one.begun -= 0 if why == "a moment" else door.SLOW
        folding = asyncio.create_task(asyncio.sleep(LIMIT))
        if why == "a fold":
            sealed._folding = folding
        sealed._make_room(now - door.SLOW if why == "a busy loop" else now)
        begun = len(sealed._begun)
        for task in (*tasks, folding):
            task.cancel()
        await asyncio.gather(*tasks, folding, return_exceptions=True)
        return begun

    assert asyncio.run(post()) == 4
