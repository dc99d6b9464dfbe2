"""Warm start: what the server of victims does once, so that each victim starts quickly.

The server runs the program once before the first fork, in a folder that it removes, to fill the
program's caches.  It also keeps unused DuckDB databases (``tests.spare_databases``).
"""

from __future__ import annotations

import gc
import importlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ameles.core.exceptions import AmelesError
from ameles.plan.plan import read_plan
from tests.spare_databases import SpareDatabases

SPARE = 4  # databases: one for the source, and one or two for each Parquet file


class WarmStart:
    """Caches and databases for the victims of one server."""

    def __init__(self, program: Callable[[], None]) -> None:
        self._program = program
        self._known: set[str] = set()
        self._spare = SpareDatabases(SPARE)

    def prepare(self, job: dict[str, Any]) -> None:
        """Choose the mechanisms of a plan before its first victim starts; this is cached."""
        file = Path(job["folder"], job["argv"][1])
        text = file.read_text(encoding="utf-8")
        if text in self._known:
            return
        self._known.add(text)
        with suppress(AmelesError):  # what is wrong with a plan, its victim says
            plan = read_plan(file)
            _ = plan.recipes
            if "://" not in plan.store.url:  # nobody but a victim changes a server
                self._rehearse(Path(job["root"]), file)
        self._spare.fill()
        gc.collect()
        gc.freeze()

    def give_databases(self) -> None:
        """In a victim: let DuckDB hand out the databases that are already open."""
        self._spare.give()

    def _rehearse(self, root: Path, file: Path) -> None:
        here = os.getcwd()
        with tempfile.TemporaryDirectory(prefix="ameles-warm-") as name, _unheard():
            place = Path(name) / file.parent.relative_to(root.parent)
            place.mkdir(parents=True)
            shutil.copy(file, place)
            for source in (*file.parent.glob("*.csv"), *file.parent.glob("in/*.csv")):
                copied = place / source.relative_to(file.parent)
                if not source.name.startswith("out."):  # which is a sink
                    copied.parent.mkdir(exist_ok=True)
                    shutil.copy(source, copied)
            os.chdir(place)
            sys.argv = ["ameles", "run", file.name, "--yes", "--until", "2020-01-03"]
            try:
                with suppress(SystemExit):
                    self._program()
            finally:
                os.chdir(here)


@contextmanager
def _unheard() -> Iterator[None]:
    """Reads nothing and says nothing: the server talks to others there."""
    kept = [os.dup(handle) for handle in range(3)]
    nothing = os.open(os.devnull, os.O_RDWR)
    for handle in range(3):
        os.dup2(nothing, handle)
    try:
        yield
    finally:
        for handle, before in enumerate(kept):
            os.dup2(before, handle)
            os.close(before)
        os.close(nothing)


def program(name: str) -> Callable[[], None]:
    """The program, by name: it is above this package, which starts it and does not build on it."""
    main: Callable[[], None] = importlib.import_module(name).main
    return main
