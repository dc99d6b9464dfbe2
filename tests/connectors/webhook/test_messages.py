"""Messages of a webhook: what is in them, and ids that stay."""

from __future__ import annotations

import json
from typing import Any

from ameles.connectors.remote_sink import OutgoingBatch
from ameles.connectors.webhook.messages import PART, messages
from ameles.core.release import COLUMNS
from tests.connectors.records import records

LABEL, VALUE, MECHANISM = (COLUMNS.index(name) for name in ("label", "value", "mechanism"))


def made(rows: list[tuple[Any, ...]], sent: int = 0, **options: Any) -> list[OutgoingBatch]:
    return list(messages(rows, sent, **{"launch": "one", "alerts": False, **options}))


def test_a_message_is_a_step_with_its_releases_as_they_are_published() -> None:
    first, second = made(records(1, 2))
    assert (first.step, first.last, second.step, second.last) == (1, True, 2, True)
    assert json.loads(second.body) == {
        "type": "ameles.releases",
        "timestamp": "2026-01-03T00:00:00Z",
        "data": {
            "stream": "flu",
            "step": 2,
            "part": 1,
            "parts": 1,
            "releases": [dict(zip(COLUMNS, row, strict=True)) for row in records(2, 2)],
        },
    }


def test_an_id_stays_and_is_of_one_message_alone() -> None:
    once = made(records(1, 3))
    assert made(records(2, 3), sent=1) == once[1:], "also after a crash"
    assert made(records(1, 3), sent=1) == once[1:], "steps that were sent are left out"
    others = [*made(records(1, 3), launch="two"), *alerts(["above"] * 3)]
    ids = [batch.id for batch in [*once, *others]]
    assert len(set(ids)) == len(ids) == 9
    assert once[0].id == "msg_74f1ff434c9429e81c2da547a3643e0d"


def test_a_step_with_many_releases_is_cut_into_parts() -> None:
    rows = records(1, 1)[:1] * (PART + 1)
    first, second = made(rows)
    assert (first.step, first.last, second.step, second.last) == (1, False, 1, True)
    data = [json.loads(batch.body)["data"] for batch in (first, second)]
    assert [(one["part"], one["parts"], len(one["releases"])) for one in data] == [
        (1, 2, PART),
        (2, 2, 1),
    ]
    assert first.id != second.id
    assert len(made(rows[:PART])) == 1


def alerts(
    labels: list[str], mechanism: str = "WindowMonitors", sent: int = 0
) -> list[OutgoingBatch]:
    rows = [list(row) for row in records(1, len(labels)) if not row[2]]
    for row, label in zip(rows, labels, strict=True):
        row[LABEL], row[MECHANISM] = label, mechanism
    others = [row for row in records(1, len(labels)) if row[2]]
    mixed = sorted([*map(tuple, rows), *others], key=lambda row: row[3])
    return made(mixed, sent, alerts=True)


def test_alerts_are_thresholds_reached_and_the_first_step_of_a_halt() -> None:
    labels = ["below", "above", "below", "above", "halted", "halted"]
    assert [batch.step for batch in alerts(labels)] == [2, 4, 5]
    (record,) = json.loads(alerts(labels)[0].body)["data"]["releases"]
    assert (record["label"], record["key"]) == ("above", "")
    assert json.loads(alerts(labels)[0].body)["type"] == "ameles.alerts"
    assert [batch.step for batch in alerts(labels, sent=4)] == [5]
    assert alerts(labels, sent=5) == [], "it had halted before"


def test_a_label_above_of_another_measure_is_no_alert() -> None:
    assert alerts(["above"], mechanism="TreeCounter") == []
