"""Whether the bounds of a launched plan are those that a private mechanism chose before.

``ameles bounds`` stores its question and its answer.  The record for registries says that bounds
were chosen privately if the launched plan has all the bounds of such an answer.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from ameles.store import QuestionRecord, StreamRecord, Transaction

ASKED = "bounds"  # what a question about bounds says that it asks


def chosen_privately(transaction: Transaction, stream: StreamRecord) -> bool:
    """Whether the stream was launched with bounds that were chosen privately and paid for."""
    document = json.loads(stream.plan)
    return any(
        record.answered is not None
        and record.answer  # else it failed
        and record.answered <= stream.launched
        and _is_about(record, stream.name)
        and all(_bound(document, label) == value for label, value in _chosen(record).items())
        for record in transaction.questions(stream.population)
    )


def _is_about(record: QuestionRecord, stream: str) -> bool:
    try:
        asked = json.loads(record.question)
        return bool(asked["asked"] == ASKED and asked["plan"]["stream"]["name"] == stream)
    except (ValueError, KeyError, TypeError):  # a question of another kind
        return False


def _chosen(record: QuestionRecord) -> dict[str, Fraction]:
    rows = json.loads(record.answer or "{}")["rows"]
    return {row["key"][0]: Fraction(row["value"]) for row in rows}


def _bound(document: dict[str, Any], label: str) -> Fraction | None:
    """A bound of a stored plan: ``max_steps``, or ``spending.upper``."""
    release, dot, name = label.rpartition(".")
    tables = [one for one in document["release"] if one["name"] == release]
    section = (tables[0] if tables else {}) if dot else document["privacy"]
    return Fraction(section[name]) if name in section else None
