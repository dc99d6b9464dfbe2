"""Loads a module with another text than its file has, here and in the processes that start here.

``AMELES_MUTANT`` names a module and the file with its changed text; ``AMELES_REACHED`` names the
file to which a process adds the blocks that it entered, for the test that started it.
"""

from __future__ import annotations

import ast
import atexit
import importlib.abc
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from tests.mutation.reached import noting, reached

MUTANT = "AMELES_MUTANT"
REACHED = "AMELES_REACHED"
TEST = "PYTEST_CURRENT_TEST"  # pytest sets it


class _Loader(SourceFileLoader):
    """Compiles what it is told to; never reads or writes a cache."""

    def __init__(self, name: str, path: str, source: str | ast.Module) -> None:
        super().__init__(name, path)
        self._compiled: CodeType = compile(source, path, "exec", dont_inherit=True)

    def get_code(self, fullname: str) -> CodeType:
        return self._compiled


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, changed: dict[str, Path], *, note: bool) -> None:
        self._changed = changed
        self._note = note

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname not in self._changed and not (self._note and fullname.startswith("ameles.")):
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            return None
        file = self._changed.get(fullname, Path(spec.origin))
        text = file.read_text(encoding="utf-8")
        source = noting(fullname, text) if self._note else text
        spec.loader = _Loader(fullname, spec.origin, source)
        spec.cached = None
        return spec


def install() -> None:
    """Does what the environment asks for."""
    note, changed = REACHED in os.environ, {}
    if asked := os.environ.get(MUTANT):
        module, _, file = asked.partition("=")
        changed[module] = Path(file)
    if note or changed:
        sys.meta_path.insert(0, _Finder(changed, note=note))
    if note and TEST in os.environ:  # a process that a test started
        atexit.register(_tell, os.environ[REACHED], os.environ[TEST])


def first() -> None:
    """Goes before the finder by which pytest loads the modules whose examples it runs."""
    mine = [finder for finder in sys.meta_path if isinstance(finder, _Finder)]
    sys.meta_path[:] = [*mine, *(finder for finder in sys.meta_path if finder not in mine)]


def _tell(place: str, test: str) -> None:
    with Path(place).open("a", encoding="utf-8") as file:
        file.write(json.dumps([test.rpartition(" ")[0], reached()]) + "\n")
