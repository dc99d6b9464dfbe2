"""A source is one file and one line: two that are not in the house, run by the engine as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest

from ameles.connectors import sources
from ameles.connectors.reading import Reading
from ameles.connectors.source import BlockSource, SeekableSource, SourceRequest
from ameles.connectors.text.dialects import DIALECTS
from ameles.connectors.text.line_blocks import LinesPiece
from ameles.core.exceptions import PlanError
from ameles.engine.running.session import Session
from ameles.plan.plan import read_plan_text
from ameles.plan.problems import BadPlan
from tests.engine.worlds import COUNT, EVENT, HEADER, USER, World, row

Topic = dict[str, list[bytes]]  # the records of each partition


class TopicSource(SeekableSource[dict[str, int]]):
    """Records with offsets, in partitions, as a broker has them."""

    topics: ClassVar[dict[str, Topic]] = {}

    def __init__(self, request: SourceRequest) -> None:
        self._topic = self.topics[request.text.removeprefix("list://")]
        self._lines = DIALECTS[request.records](request.columns, request.form, raw=request.raw)

    @classmethod
    def claims(cls, text: str) -> bool:
        return text.startswith("list://")

    @classmethod
    def open(cls, request: SourceRequest) -> Self:
        return cls(request)

    def ends(self) -> dict[str, int]:
        return {part: len(records) for part, records in self._topic.items()}

    def at_launch(self) -> str:
        return json.dumps(dict.fromkeys(self._topic, 0))

    def reading(self, position: str | None, ends: dict[str, int] | None = None) -> Reading:
        start, until = json.loads(position or self.at_launch()), ends or self.ends()
        lines = [self._topic[part][start.get(part, 0) : until[part]] for part in until]
        names = self._lines.names("")
        pieces = tuple(LinesPiece(self._lines, names, (b"".join(some),)) for some in lines if some)
        return Reading(pieces, json.dumps(until))


class CalledSource(BlockSource):
    """Blocks that somebody sends and waits for, as a web server gets them."""

    blocks: ClassVar[list[bytes]] = []
    acknowledged: ClassVar[list[int]] = []

    def __init__(self, request: SourceRequest) -> None:
        self._lines = DIALECTS[request.records](request.columns, request.form)

    @classmethod
    def claims(cls, text: str) -> bool:
        return text == "called"

    @classmethod
    def open(cls, request: SourceRequest) -> Self:
        return cls(request)

    def incoming(self) -> Iterator[bytes]:
        for place, block in enumerate(self.blocks):
            assert sum(self.acknowledged) == place, "the one before is stored by now"
            yield block

    def reading(self, blocks: list[bytes]) -> Reading:
        some = tuple(block for block in blocks if block)
        pieces = (LinesPiece(self._lines, self._lines.names(""), some),) if some else ()
        return Reading(pieces, json.dumps("called"))

    def acknowledge(self, blocks: int) -> None:
        self.acknowledged.append(blocks)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "SOURCES", (TopicSource, CalledSource, *sources.SOURCES))
    monkeypatch.setattr(TopicSource, "topics", {})
    monkeypatch.setattr(CalledSource, "acknowledged", [])


def lines(*rows: str) -> list[bytes]:
    return [f"{one}\n".encode() for one in rows]


def world_of(folder: Path, source: str, *, unit: str = EVENT) -> World:
    world = World(folder, COUNT, unit=unit)
    header = json.dumps(HEADER.split(","))
    world.text = world.text.replace(
        'source = "events.csv"', f'source = "{source}"\nformat = "csv"\nheader = {header}'
    )
    return world


@pytest.mark.parametrize("unit", [EVENT, USER])
def test_a_topic_with_offsets_releases_what_a_file_does(tmp_path: Path, unit: str) -> None:
    first, later = [row(1), row(1), row(2)], [row(2), row(3), row(5)]
    file = World(tmp_path / "file", COUNT, unit=unit)
    file.write(first).run(2)
    file.append(later).run(6)

    topic: Topic = {"0": lines(*first[:2]), "1": lines(first[2])}
    TopicSource.topics["events"] = topic
    world = world_of(tmp_path / "topic", "list://events", unit=unit)
    world.run(2)
    topic["0"] += lines(*later[:1])
    topic["1"] += lines(*later[1:])
    world.run(6)
    world.run(6)  # nothing is taken twice
    assert world.values() == file.values()


def test_a_topic_needs_a_time_and_keeps_its_events(tmp_path: Path) -> None:
    text = world_of(tmp_path, "list://events").text
    with pytest.raises(BadPlan) as caught:
        read_plan_text(text.replace('time = "at"\n', ""), base=tmp_path)
    assert [problem.key for problem in caught.value.problems] == ["stream.time"]
    seizable = text.replace("[privacy]", '[privacy]\nintrusions = "one"')
    with pytest.raises(PlanError, match="keeps raw events"):
        read_plan_text(seizable, base=tmp_path)
    with pytest.raises(BadPlan) as caught:  # a plan with another source must not have a time
        read_plan_text(seizable.replace('time = "at"\n', ""), base=tmp_path)
    assert [problem.key for problem in caught.value.problems] == ["privacy.intrusions"]


def test_what_passes_is_acknowledged_when_it_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    CalledSource.blocks = [b"".join(lines(row(1), row(2))), b"".join(lines(row(2)))]
    world = world_of(tmp_path / "all", "called")
    world.run(3)
    assert CalledSource.acknowledged == [1, 1]
    assert world.values() == [1, 3, 3]

    monkeypatch.setattr(CalledSource, "acknowledged", [])
    taken = Session.take

    def fails(session: Session, reading: Reading, *rest: Any, **more: Any) -> None:
        if CalledSource.acknowledged:
            raise ConnectionError
        taken(session, reading, *rest, **more)

    monkeypatch.setattr(Session, "take", fails)
    failing = world_of(tmp_path / "failing", "called")
    with pytest.raises(ConnectionError):
        failing.run(3)
    assert CalledSource.acknowledged == [1]
