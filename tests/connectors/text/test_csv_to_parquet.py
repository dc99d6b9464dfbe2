"""The file that a conversion writes; what it reads is tested with the command ``convert``."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

from ameles.connectors.files.named_files import NamedFile
from ameles.connectors.format import DEFAULT
from ameles.connectors.text.csv_to_parquet import Converting


def test_the_bytes_are_durable_before_they_get_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = tmp_path / "a.csv", tmp_path / "a.parquet"
    source.write_bytes(b"name,n\nx,1\n")
    synced: list[tuple[str, int]] = []
    true = os.fsync

    def recorded(handle: int) -> None:
        synced.append((Path(os.readlink(f"/proc/self/fd/{handle}")).name, target.stat().st_size))
        true(handle)

    monkeypatch.setattr(os, "fsync", recorded)
    Converting((NamedFile("a.csv", source),), DEFAULT, {"name": "text", "n": "integer"}).to(target)
    assert synced == [("whole.parquet", 0)], "the name is taken, and nothing is there yet"
    assert duckdb.execute(f"SELECT * FROM '{target}'").fetchall() == [("x", 1)]
