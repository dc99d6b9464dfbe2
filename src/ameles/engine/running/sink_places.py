"""No sink may be the same file as another sink, the source, the store, the vault or the plan.

Existing files are compared by device and inode, so that links, hard links, ``..`` and the case of
letters make no difference; files that do not exist yet are compared by their folder and name.
Sinks may be changed after a launch, so this is checked whenever they are opened.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ameles.connectors.remote_sink import RemoteSink
from ameles.connectors.sinks import SINKS
from ameles.core.exceptions import PlanError
from ameles.plan.plan import Plan

_BESIDE = ("", ".ameles", ".new", ".ameles.new")  # files beside a sink that belong to it
_OF_STORE = ("", "-wal", "-shm", "-journal")


def check_apart(plan: Plan) -> None:
    """Refuses a plan in which a sink would overwrite something else."""
    _check_remote(plan)
    taken = _Taken()
    for what, path in _others(plan):
        taken.add(what, path)
    for section in plan.sinks:
        for kind, target in section.given.items():
            sink = SINKS[kind]
            if not sink.of_files:
                continue
            own = plan.base / target
            paths = [own.with_name(own.name + ending) for ending in _BESIDE]
            other = next(filter(None, map(taken.by, paths)), "") or taken.above(own)
            if not other and sink.of_folder:
                other = taken.below(own)
            if other:
                raise PlanError(
                    f"The sink {target!r} and {other} are in one place.",
                    why="one would be written over the other",
                    tip="a name of its own for each sink, in a folder where nothing else is read",
                )
            for path in paths:
                taken.add(f"the sink {target!r}", path)


def _check_remote(plan: Plan) -> None:
    """Refuses a remote sink that is the source, and two with one address: the store could not say
    what each has."""
    given = [pair for section in plan.sinks for pair in section.given.items()]
    for kind, target in given:
        sink = SINKS[kind]
        if not issubclass(sink, RemoteSink):
            continue
        if sink.feeds(target, plan.stream.source):
            raise PlanError(
                f"The sink {target!r} is the source of the plan.",
                why="its releases would be read as events",
                tip="a topic of its own for each",
            )
        if given.count((kind, target)) > 1:
            raise PlanError(
                f"Two sinks have the address {target!r}.",
                why="what a sink has accepted is remembered by its address",
                tip="one sink with all releases, or an address of its own for each",
            )


class _Taken:
    """Files and folders that are in use, including those that do not exist yet."""

    def __init__(self) -> None:
        self._there: dict[object, str] = {}
        self._to_come: dict[object, str] = {}
        self._named: dict[object, str] = {}
        self._around: dict[object, str] = {}
        self._inode = cache(_inode)  # all paths share folders

    def add(self, what: str, path: Path) -> None:
        inode, name = self._inode(path), self._name(path)
        if inode is None:
            self._to_come[name] = what
        else:
            self._there[inode] = what
            self._named[name] = what
        for folder in path.absolute().parents:
            self._around.setdefault(self._inode(folder), what)

    def by(self, path: Path) -> str:
        """What uses this path, now or later; the case of two existing names may differ."""
        inode, name = self._inode(path), self._name(path)
        named = self._named.get(name, "") if inode is None else ""
        return self._there.get(inode, "") or self._to_come.get(name, "") or named

    def above(self, path: Path) -> str:
        """What uses a folder that contains this path."""
        inodes = (self._inode(folder) for folder in path.absolute().parents)
        return next((self._there[inode] for inode in inodes if inode in self._there), "")

    def below(self, path: Path) -> str:
        """What is inside this path, if it is a folder."""
        inode = self._inode(path)
        return "" if inode is None else self._around.get(inode, "")

    def _name(self, path: Path) -> object:
        """A folder and name that are equal for equal files, even if the disk ignores case."""
        return self._inode(path.parent), unicodedata.normalize("NFC", path.name).casefold()


def _inode(path: Path) -> object:
    """The device and inode of a path; None if nothing is there."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _others(plan: Plan) -> Iterator[tuple[str, Path]]:
    if plan.file is not None:
        yield "the plan", plan.file
    if "://" not in plan.store.url:
        store = plan.base / plan.store.url
        for ending in _OF_STORE:
            yield "the store", store.with_name(store.name + ending)
    yield "the vault", plan.base / f"{plan.stream.name}.vault"
    for file in plan.stream.source_kind.files(plan.stream.source, plan.base):
        yield "the source", file.path
