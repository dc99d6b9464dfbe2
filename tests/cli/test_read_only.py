"""Commands that only read work on a store that cannot be written; the others are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Program

READING = [
    ("status",),
    ("releases", "--last", "2"),
    ("explain", "visits", "2"),
    ("ledger",),
    ("ledger", "--export"),
    ("intrusion", "list"),
]
WRITING = [
    ("run", "--yes"),
    ("ledger", "--renew", "1", "--why", "year two", "--yes"),
    ("intrusion", "announce", "--why", "the laptop was stolen"),
]


@pytest.mark.parametrize("arguments", READING)
def test_reading_needs_no_writing(site: Path, ameles: Program, arguments: tuple[str, ...]) -> None:
    before = ameles(*arguments)
    assert before.code == 0
    (site / "flu.db").chmod(0o400)
    after = ameles(*arguments)
    assert (after.code, _timeless(after.out)) == (0, _timeless(before.out))


def _timeless(said: str) -> list[str]:
    """What was said without the moment of an export."""
    return [line for line in said.splitlines() if '"exported"' not in line]


@pytest.mark.parametrize("arguments", WRITING)
def test_writing_is_refused(site: Path, ameles: Program, arguments: tuple[str, ...]) -> None:
    (site / "flu.db").chmod(0o400)
    ended = ameles(*arguments)
    assert ended.code == 4
    assert "cannot be written: its mode is 0400" in ended.err
