"""The options of ``ameles init`` for a file of guests, and the plan that it wrote."""

from __future__ import annotations

import io
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

HEADER = 'when,who,where it was,"a ""quoted"", name",n\n'
GIVEN = {
    "--time": "when",
    "--user": "who",
    "--max-per-step": "2",
    "--max-steps": "5",
    "--population": "guests",
    "--start": "2026-01-01",
    "--every": "1d",
    "--horizon": "30",
    "--by": "where it was",
    "--keys": "north, south",
    "--epsilon": "0.5",
}


def options(**changed: str | None) -> list[str]:
    """All options as words, some changed, some left out."""
    named = {f"--{name.replace('_', '-')}": value for name, value in changed.items()}
    words = []
    for name, value in {**GIVEN, **named}.items():
        words += [name, value] if value is not None else []
    return words


def answer(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def written() -> dict[str, Any]:
    return tomllib.loads(Path("ameles.toml").read_text(encoding="utf-8"))
