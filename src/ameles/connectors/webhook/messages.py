"""The messages of a webhook: which releases are in them, and their ids.

A step is one message, or several if it has more than ``PART`` releases.  Its id depends on the
launch of the stream, on what is sent, on the step and on the part alone, so it is the same whenever
and however often the message is sent.

An alert is a release of the measure ``alert`` that has reached its threshold, or the first step at
which a series is halted: from then on its silence says nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from itertools import groupby

from ameles.connectors.remote_sink import OutgoingBatch
from ameles.connectors.sink import Row
from ameles.core.release import COLUMNS

PART = 1_000  # the most releases in a message
_ALARMS = "WindowMonitors"  # the mechanism of the measure alert
_RELEASE, _KEY, _STEP = (COLUMNS.index(name) for name in ("release", "key", "step"))
_LABEL, _MECHANISM = COLUMNS.index("label"), COLUMNS.index("mechanism")


def messages(
    rows: Iterable[Row], sent: int, *, launch: str, alerts: bool
) -> Iterator[OutgoingBatch]:
    """The messages of the steps after ``sent``.

    For alerts ``rows`` must also have the step ``sent``, if there is one.
    """
    kind = "alerts" if alerts else "releases"
    halted: set[tuple[str, str]] = set()
    for step, group in groupby(rows, key=lambda row: int(row[_STEP])):
        held = list(group)
        before, halted = halted, {_series(row) for row in held if row[_LABEL] == "halted"}
        if step <= sent:
            continue
        if alerts:
            held = [row for row in held if _is_alert(row, before)]
        parts = -(-len(held) // PART)
        for part in range(1, parts + 1):
            yield OutgoingBatch(
                id=_id(launch, kind, step, part),
                body=_body(kind, step, part, parts, held[(part - 1) * PART : part * PART]),
                step=step,
                last=part == parts,
            )


def _id(launch: str, kind: str, step: int, part: int) -> str:
    named = json.dumps([launch, kind, step, part]).encode()
    return f"msg_{hashlib.sha256(named).hexdigest()[:32]}"


def _series(row: Row) -> tuple[str, str]:
    return row[_RELEASE], row[_KEY]


def _is_alert(row: Row, halted: set[tuple[str, str]]) -> bool:
    """Whether a threshold was reached, or a series halts that was not in ``halted``."""
    if row[_LABEL] == "halted":
        return _series(row) not in halted
    return bool(row[_LABEL] == "above" and row[_MECHANISM] == _ALARMS)


def _body(kind: str, step: int, part: int, parts: int, rows: list[Row]) -> bytes:
    records = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    message = {
        "type": f"ameles.{kind}",
        "timestamp": records[0]["end"],
        "data": {
            "stream": records[0]["stream"],
            "step": step,
            "part": part,
            "parts": parts,
            "releases": records,
        },
    }
    text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode()
