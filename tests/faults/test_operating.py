"""Kills and refusing disks during backup, restore, retire and compact: some of all that
``python -m tests.faults.operating_faults`` tries."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.shim import build_shim, missing_compiler

OPERATIONS = {"back_up": 23, "put_back": 23, "put_back_anew": 41, "retire": 7, "compact": 23}


@pytest.mark.skipif(bool(missing_compiler()), reason=missing_compiler() or "none")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_is_interrupted_goes_on(operation: str, tmp_path: Path) -> None:
    each = OPERATIONS[operation]
    said = subprocess.run(
        [sys.executable, "-m", "tests.faults.operating_faults", tmp_path, operation, str(each)],
        env=os.environ | {"LD_PRELOAD": str(build_shim())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    faults, _, wrong = said.stdout.partition(" ")
    assert int(faults) >= 8
    assert wrong == "[]\n", said.stderr
