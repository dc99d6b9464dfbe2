"""Kills, refusing disks and power cuts during backup, restore, retire and compact: some of all that
``python -m tests.faults.operating_faults`` tries."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.shim import build_shim, missing_compiler

EACH = {"back_up": 41, "put_back": 41, "put_back_anew": 61, "retire": 11, "compact": 31}
CUTS = 8  # a fourth of them after the end


def tried(folder: Path, *asked: str) -> list[tuple[str, int, str]]:
    """The operations, how many faults each had, and what was wrong."""
    said = subprocess.run(
        [sys.executable, "-m", "tests.faults.operating_faults", folder, *asked],
        env=os.environ | {"LD_PRELOAD": str(build_shim())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    found = [line.split(" ", 2) for line in said.stdout.splitlines()]
    return [(operation, int(faults), wrong) for operation, faults, wrong in found]


@pytest.mark.skipif(bool(missing_compiler()), reason=missing_compiler() or "none")
def test_what_is_interrupted_goes_on(tmp_path: Path) -> None:
    asked = [f"{operation}={each}" for operation, each in EACH.items()]
    *found, planted = tried(tmp_path, *asked, "back_up_in_place=41")  # a planted mistake
    assert planted[2] != "[]"
    assert [operation for operation, _, _ in found] == list(EACH)
    assert all(faults >= 8 for _, faults, _ in found)
    assert [wrong for _, _, wrong in found] == ["[]"] * len(EACH)


@pytest.mark.skipif(bool(missing_compiler()), reason=missing_compiler() or "none")
def test_a_power_cut_leaves_what_goes_on_and_what_has_ended_stays_done(tmp_path: Path) -> None:
    asked = [f"{operation}:{CUTS}" for operation in EACH]
    *found, planted = tried(tmp_path, *asked, f"back_up_unsynced:{CUTS}")  # a planted mistake
    assert planted[2] != "[]"
    assert found == [(operation, CUTS, "[]") for operation in EACH]
