"""The door: bounded queues, answers to whom they belong, and nothing read before its turn."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ameles.connectors import http_source
from ameles.connectors.http_source import Batch, Handed, HttpSource, Outcome
from ameles.service.ingest import door
from ameles.service.ingest.door import Door, SealedDoor
from ameles.service.refusals import Refused
from tests.service.ingest.answering_engine import AnsweringEngine, batch, outcome, reading


@pytest.mark.parametrize("kind", [Door, SealedDoor])
def test_everybody_gets_the_own_answer(source: HttpSource, kind: type[Door]) -> None:
    engine = AnsweringEngine(source)
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
