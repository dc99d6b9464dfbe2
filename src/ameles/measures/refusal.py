"""What is wrong with a release in its plan: the key, the reason, and what to write instead."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason not to run a release as written."""

    key: str
    what: str
    why: str = ""
    tip: str = ""
