"""Kills and refusing disks during backup, restore, retire and compact: some of all that
``python -m tests.faults.operating_faults`` tries."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.shim import build_shim, missing_compiler

EACH = {"back_up": 41, "put_back": 41, "put_back_anew": 61, "retire": 11, "compact": 31}


@pytest.mark.skipif(bool(missing_compiler()), reason=missing_compiler() or "none")
def test_what_is_interrupted_goes_on(tmp_path: Path) -> None:
    asked = [f"{operation}={each}" for operation, each in EACH.items()]
    asked.append("back_up_in_place=41")  # a planted mistake
    said = subprocess.run(
        [sys.executable, "-m", "tests.faults.operating_faults", tmp_path, *asked],
        env=os.environ | {"LD_PRELOAD": str(build_shim())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    *found, planted = [line.split(" ", 2) for line in said.stdout.splitlines()]
    assert planted[2] != "[]"
    assert [operation for operation, _, _ in found] == list(EACH)
    assert all(int(faults) >= 8 for _, faults, _ in found)
    assert [wrong for _, _, wrong in found] == ["[]"] * len(EACH), said.stderr
