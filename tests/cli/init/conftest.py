"""A folder with a file of guests, for every test of ``ameles init``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.init.guests import HEADER


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "guests.csv").write_text(HEADER, encoding="utf-8")
    return tmp_path
