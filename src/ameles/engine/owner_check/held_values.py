"""Removes proposals that would change nothing: a key with the value that the plan already has."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from ameles.engine.owner_check.facts import CheckFinding
from ameles.measures.measure import Measure
from ameles.plan.format_fields import OF_CSV
from ameles.plan.plan import Plan

OR = "; or "  # between the alternatives of a proposal
_LINE = re.compile(r'\b([a-z_]+) = ("(?:[^"\\]|\\.)*"|true|false|-?[0-9.]+)')


def not_held(plan: Plan, finding: CheckFinding, release: Measure | None = None) -> CheckFinding:
    """The finding without the alternatives that the plan already has, or cannot have.

    ``release`` is the release that the finding is about.
    """
    kept = [one for one in finding.mend.split(OR) if not _held(plan, one, release)]
    return replace(finding, mend=OR.join(kept))


def _held(plan: Plan, proposal: str, release: Measure | None) -> bool:
    stream = plan.stream
    kind = stream.records
    for key, value in _lines(proposal):
        if key in OF_CSV and kind not in ("csv", None):
            return True
        sections = [stream, plan.privacy, *([] if release is None else [release])]
        for section in sections:
            if key in type(section).model_fields and _same(getattr(section, key), value):
                return True
    return False


def _lines(proposal: str) -> Iterator[tuple[str, Any]]:
    for key, value in _LINE.findall(proposal):
        try:
            yield key, tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            continue


def _same(held: Any, value: Any) -> bool:
    """Whether a value of a plan equals the value in a proposed line."""
    if isinstance(held, datetime):
        return isinstance(value, str) and _instant(value) == held
    if isinstance(held, tuple):
        return held == (value,)
    if isinstance(held, bool) or isinstance(value, bool):
        return held is value
    if isinstance(value, str):
        return held is not None and str(held) == value
    return bool(held == value)


def _instant(value: str) -> datetime | None:
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None
