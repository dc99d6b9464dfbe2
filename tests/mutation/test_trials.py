"""A change that a test notices is found out, and one that none can notice is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.mutation.changes import changes
from tests.mutation.hook import MUTANT
from tests.mutation.packages import TREE, files_of_tests, mirrors, modules

MODULE = "ameles.accounting.arguments"


def test_files_and_modules_are_found() -> None:
    assert MODULE in modules("accounting")
    assert "tests/accounting/test_arguments.py" in files_of_tests()
    assert mirrors("tests/accounting/test_arguments.py::test_a", MODULE)
    assert not mirrors("tests/accounting/test_search.py::test_a", MODULE)


def test_a_process_loads_the_changed_module(tmp_path: Path) -> None:
    """Also one that a test starts."""
    text = modules("accounting")[MODULE].read_text(encoding="utf-8")
    change = next(change for change in changes(MODULE, text) if change.place)
    changed = tmp_path / "changed.py"
    changed.write_text(change.apply(text) + "\nCHANGED = 1\n", encoding="utf-8")
    asked = (
        f"import {MODULE} as m; print(hasattr(m, 'CHANGED'), m.__file__.endswith('arguments.py'))"
    )
    environment = os.environ | {"PYTHONPATH": str(TREE / "tests" / "subprocesses")}
    for named, expected in ((f"{MODULE}={changed}", "True True"), ("", "False True")):
        ended = subprocess.run(
            [sys.executable, "-c", asked],
            env=environment | {MUTANT: named},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.stdout.strip() == expected, ended.stderr


def test_a_noticed_change_is_told_from_one_that_is_not(tmp_path: Path) -> None:
    """In a process of its own, which has not loaded Ameles.

    The tests that it runs need none of the fixtures that all tests share, and to load those four
    times takes a quarter of the time.
    """
    program = f"""
from pathlib import Path
from tests.mutation.changes import changes
from tests.mutation.children import preload
from tests.mutation.measured import reach
from tests.mutation.packages import modules
from tests.mutation.trials import Trials
from dataclasses import replace

preload()
place = Path({str(tmp_path)!r})
measured = reach(place / "reached", ["tests/accounting/test_arguments.py"], 1, lambda words: None)
trials = Trials(place / "results", measured, seconds=60)
text = modules("accounting")[{MODULE!r}].read_text(encoding="utf-8")
found = changes({MODULE!r}, text)
assert trials.sound(found[0])
noticed = next(change for change in found if change.kind == "check" and "False" in change.after)
same = replace(noticed, after=f"({{noticed.before}})", key="same")
trials.run([noticed, same], 2, lambda change, outcome: None)
print(trials.known(noticed).killed, trials.known(same).killed)
print(Trials(place / "results", measured, seconds=60).known(noticed).how)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=TREE,
        env=os.environ | {"PYTEST_ADDOPTS": "--noconftest"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout.splitlines() == ["True False", "a test failed"], ended.stderr
